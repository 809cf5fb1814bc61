"""Every mechanism that ships with hearsay; importing this registers them."""

from mechanisms import (
    grr,
    linear_hashing,
    metric_l1,
    subset_selection,
    unary,
)

__all__ = [
    "grr",
    "linear_hashing",
    "metric_l1",
    "subset_selection",
    "unary",
]
