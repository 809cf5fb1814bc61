"""States drawn as they would be after everybody reported, without the reports where bits are many.

Given who holds what, a unary report's bits are independent, so the set bits of a cell are two binomials; so are the
signs of `metric-l1` on one axis; a level's devices are a multinomial split of each cell's. A test compares these states
with folded reports. Everything else is perturbed and folded, which is as fast.
"""

import numpy as np

from hearsay.mechanisms import Mechanism, State
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.exact.thresholds import probability
from hearsay.mechanisms.metric.l1 import MetricL1Signs
from hearsay.mechanisms.oracles.unary import UnaryEncoding
from hearsay.mechanisms.ranges.level_mechanism import LevelMechanism
from hearsay.ops.experiments.calibration.cases import Counts


def draw(mechanism: Mechanism, holders: Counts, generator: np.random.Generator) -> State:
    """The state after everybody reported once."""
    if isinstance(mechanism, UnaryEncoding):
        return _unary(mechanism, holders, generator)
    if type(mechanism) is MetricL1Signs and mechanism.anchored and len(mechanism.sizes) == 1:
        return _signs(mechanism, holders, generator)
    if isinstance(mechanism, LevelMechanism) and len(mechanism.domain.axes) == 1:
        return _levels(mechanism, holders, generator)
    cells = np.repeat(np.arange(holders.size), holders)
    random = seeded(int(generator.integers(0, 2**63)))
    return mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random))


def _unary(mechanism: UnaryEncoding, holders: Counts, generator: np.random.Generator) -> State:
    p, q, _ = mechanism.hit_chances()
    n = int(holders.sum())
    ones = generator.binomial(holders, p) + generator.binomial(n - holders, q)
    return {"ones": ones.astype(np.int64), "n": np.array([n], dtype=np.int64)}


def _signs(mechanism: MetricL1Signs, holders: Counts, generator: np.random.Generator) -> State:
    n, flip = int(holders.sum()), float(probability(mechanism.flips[0]))
    below = np.cumsum(holders)[:-1]  # signs are + from the value on
    plus = generator.binomial(below, 1 - flip) + generator.binomial(n - below, flip)
    return {"observation": np.append(2 * plus - n, n).astype(np.int64)}


def _levels(mechanism: LevelMechanism, holders: Counts, generator: np.random.Generator) -> State:
    state, levels = mechanism.empty(), mechanism.levels
    held = np.flatnonzero(holders)
    split = generator.multinomial(holders[held], levels.probabilities)
    for level, oracle in enumerate(levels.oracles, start=1):
        at = np.bincount(mechanism.node(level, held), weights=split[:, level - 1], minlength=oracle.domain.size)
        for name, array in draw(oracle, at.astype(np.int64), generator).items():
            state[f"{level}/{name}"] += array
    return state
