"""Every mechanism that ships with hearsay; importing this registers them."""

from hearsay.mechanisms.context_aware import binary, block_hr, highlow_hr
from hearsay.mechanisms.context_aware import channel as channel_mechanism
from hearsay.mechanisms.metric import l1 as metric_l1
from hearsay.mechanisms.metric import laplace_histogram, matrix
from hearsay.mechanisms.metric import weighted as weighted_signs
from hearsay.mechanisms.oracles import (
    count_mean_sketch,
    grr,
    hadamard_response,
    linear_hashing,
    rappor,
    shist,
    subset_selection,
    unary,
)
from hearsay.mechanisms.ranges import flat
from hearsay.mechanisms.ranges.haar import line as haar
from hearsay.mechanisms.ranges.hierarchical import line as hierarchical

__all__ = [
    "binary",
    "block_hr",
    "channel_mechanism",
    "count_mean_sketch",
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
    "rappor",
    "shist",
    "subset_selection",
    "unary",
    "weighted_signs",
]
