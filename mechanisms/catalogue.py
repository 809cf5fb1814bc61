"""Every mechanism that ships with hearsay; importing this registers them."""

from mechanisms import linear_hashing

__all__ = ["linear_hashing"]
