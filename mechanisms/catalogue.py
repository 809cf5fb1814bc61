"""Every mechanism that ships with hearsay; importing this registers them."""

from mechanisms import (
    block_hr,
    grr,
    haar,
    hadamard_response,
    hierarchical,
    highlow_hr,
    linear_hashing,
    metric_l1,
    subset_selection,
    unary,
)

__all__ = [
    "block_hr",
    "grr",
    "haar",
    "hadamard_response",
    "hierarchical",
    "highlow_hr",
    "linear_hashing",
    "metric_l1",
    "subset_selection",
    "unary",
]
