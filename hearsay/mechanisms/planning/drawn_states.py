"""States drawn as they would be after everybody reported, without the reports where bits are many.

Given who holds what, a unary report's bits are independent, so the set bits of a cell are two binomials; so are the
signs of `metric-l1` on one axis; a level's devices are a multinomial split of each cell's; `pckv-ue` has a multinomial
for every key, given the sampled pairs. A test compares these states with folded reports. Everything else is perturbed
and folded, which is as fast.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Mechanism, State, merge
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.exact.thresholds import probability
from hearsay.mechanisms.key_value.padding import padded_signs, sample_padded
from hearsay.mechanisms.key_value.pairs import Pairs
from hearsay.mechanisms.key_value.pckv_ue import PckvUE
from hearsay.mechanisms.marginals.methods.whole_table import InpRR
from hearsay.mechanisms.metric.l1 import MetricL1Signs
from hearsay.mechanisms.oracles.unary import UnaryEncoding
from hearsay.mechanisms.ranges.level_mechanism import LevelMechanism

Counts = NDArray[np.int64]


def draw(mechanism: Mechanism, holders: Counts, generator: np.random.Generator) -> State:
    """The state after everybody reported once."""
    if isinstance(mechanism, UnaryEncoding):
        return _unary(mechanism, holders, generator)
    if _on_one_axis(mechanism) and isinstance(mechanism, MetricL1Signs):
        return _signs(mechanism, holders, generator)
    if _on_one_axis(mechanism) and isinstance(mechanism, LevelMechanism):
        return _levels(mechanism, holders, generator)
    return _reported(mechanism, np.repeat(np.arange(holders.size), holders), generator)


def draw_values(mechanism: Mechanism, values: Any, generator: np.random.Generator) -> State:
    """The same, from what everybody holds."""
    if isinstance(mechanism.domain, Cells) and _by_counts(mechanism):
        return draw(
            mechanism, np.bincount(mechanism.domain.flatten(values), minlength=mechanism.domain.size), generator
        )
    if isinstance(mechanism, InpRR):
        cells = np.ravel_multi_index(tuple(mechanism.domain.check(values).T), mechanism.domain.shape)
        return draw(mechanism.oracle, np.bincount(cells, minlength=mechanism.domain.size), generator)
    if isinstance(mechanism, PckvUE) and mechanism.dimensions == 1 and mechanism.signs == 2:
        return _symbols(mechanism, values, generator)
    return _reported(mechanism, values, generator)


def play(mechanism: Mechanism, values: Any, generator: np.random.Generator) -> tuple[Mechanism, State]:
    """The state after all rounds, and the mechanism as it stands in the last one, which can read it.

    Where a device takes part in one round only, the rounds get equal parts of the devices; else everybody is in each.
    """
    state, history = mechanism.empty(), list[dict[str, Any]]()
    for number in range(1, mechanism.rounds + 1):
        asked = mechanism.in_round(history)
        part = slice(len(values) * (number - 1) // mechanism.rounds, len(values) * number // mechanism.rounds)
        split = mechanism.rounds > 1 and mechanism.one_round_each
        merge(state, draw_values(asked, values[part] if split else values, generator))
        public = asked.next_round(state) if number < mechanism.rounds else None
        if public is None:
            break
        history.append(public)
    return asked, state


def _by_counts(mechanism: Mechanism) -> bool:
    """Whether states are drawn from how many hold each cell, at a cost that does not grow with the devices."""
    return isinstance(mechanism, UnaryEncoding) or _on_one_axis(mechanism)


def _on_one_axis(mechanism: Mechanism) -> bool:
    if type(mechanism) is MetricL1Signs:
        return mechanism.anchored and len(mechanism.sizes) == 1
    return isinstance(mechanism, LevelMechanism) and len(mechanism.domain.axes) == 1


def _reported(mechanism: Mechanism, values: Any, generator: np.random.Generator) -> State:
    random = seeded(int(generator.integers(0, 2**63)))
    return mechanism.fold(mechanism.empty(), mechanism.perturb(values, random))


def _symbols(mechanism: PckvUE, pairs: Pairs, generator: np.random.Generator) -> State:
    """Every device samples its pair; given these, the symbols of different keys are independent."""
    random, n = seeded(int(generator.integers(0, 2**63))), len(pairs)
    key, pair = sample_padded(pairs, mechanism.length, mechanism.domain.size, random)
    plus = padded_signs(pairs, pair, 0, random).astype(np.int64)
    sampled = np.bincount(2 * key + plus, minlength=2 * mechanism.all_keys).reshape(-1, 2)
    a, b, p = mechanism.chances()
    true, false = a * p, a * (1 - p)
    of_minus = generator.multinomial(sampled[:, 0], [true, false, 1 - a])
    of_plus = generator.multinomial(sampled[:, 1], [false, true, 1 - a])
    noise = generator.multinomial(n - sampled.sum(axis=1), [b / 2, b / 2, 1 - b])
    counts = (of_minus + of_plus + noise)[:, None, :2]
    return {"counts": counts.astype(np.int64), "reports": np.array([n], dtype=np.int64)}


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
    occupied = np.flatnonzero(holders)
    split = generator.multinomial(holders[occupied], levels.probabilities)
    for level, oracle in enumerate(levels.oracles, start=1):
        at = np.bincount(mechanism.node(level, occupied), weights=split[:, level - 1], minlength=oracle.domain.size)
        for name, array in draw(oracle, at.astype(np.int64), generator).items():
            state[f"{level}/{name}"] += array
    return state
