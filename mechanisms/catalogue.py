"""Every mechanism that ships with hearsay; importing this registers them."""

from mechanisms import (
    binary,
    block_hr,
    channel_mechanism,
    flat,
    grr,
    haar,
    hadamard_response,
    hierarchical,
    highlow_hr,
    laplace_histogram,
    linear_hashing,
    matrix,
    metric_l1,
    subset_selection,
    unary,
    weighted_signs,
)

__all__ = [
    "binary",
    "block_hr",
    "channel_mechanism",
    "flat",
    "grr",
    "haar",
    "hadamard_response",
    "hierarchical",
    "highlow_hr",
    "laplace_histogram",
    "linear_hashing",
    "matrix",
    "metric_l1",
    "subset_selection",
    "unary",
    "weighted_signs",
]
