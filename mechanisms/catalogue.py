"""Every mechanism that ships with hearsay; importing this registers them."""

from mechanisms import (
    linear_hashing,
    metric_l1,
)

__all__ = [
    "linear_hashing",
    "metric_l1",
]
