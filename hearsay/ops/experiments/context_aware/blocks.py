"""One run of a block survey for the experiments: real device code, real fold, real estimate."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.exact.randomness import seeded

EPSILON = 1.0
_AT_ONCE = 1 << 20


def plain(size: int) -> Mechanism:
    """Hadamard response without blocks, the paper's plain local differential privacy."""
    return build({"mechanism": "hr", "epsilon": EPSILON, "domain": {"kind": "categorical", "size": size}})


def in_blocks(size: int, blocks: Any) -> Mechanism:
    """Hadamard response within blocks: a block size, or lists of cells."""
    domain = {"kind": "categorical", "size": size, "blocks": blocks}
    return build({"mechanism": "block-hr", "epsilon": EPSILON, "domain": domain})


def total_variation(one: Floats, other: Floats) -> float:
    """Half of the sum of the differences."""
    return float(np.abs(one - other).sum() / 2)


def errors(mechanism: Mechanism, cells: NDArray[np.int64], truth: Floats, seed: int) -> tuple[float, float]:
    """Total variation error of the unbiased shares and of their projection on the simplex."""
    random, state = seeded(seed), mechanism.empty()
    for start in range(0, len(cells), _AT_ONCE):
        mechanism.fold(state, mechanism.perturb(cells[start : start + _AT_ONCE], random))
    shares = mechanism.estimate(state).arrays()["estimate"]
    return total_variation(shares, truth), total_variation(project(shares), truth)
