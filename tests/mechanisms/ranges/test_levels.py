"""Level sampling: reports reach the arrays of their own level, in one pass over a batch."""

from fractions import Fraction

import numpy as np
import pytest

from hearsay.mechanisms.base import State
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import Reports, length_of, select
from hearsay.mechanisms.oracles.grr import GRR
from hearsay.mechanisms.oracles.linear_hashing import OLH
from hearsay.mechanisms.oracles.subset_selection import SubsetSelection
from hearsay.mechanisms.oracles.unary import OUE
from hearsay.mechanisms.ranges.levels import SampledLevels, cumulative_thresholds

COUNT = 3_000


def levels(*oracles: object) -> SampledLevels:
    return SampledLevels(oracles, cumulative_thresholds([Fraction(1)] * len(oracles)))  # type: ignore[arg-type]


MIXED = levels(GRR.over(2, 1.0), OUE.over(5, 1.0), OLH.over(16, 1.0), SubsetSelection.over(9, 1.0), OUE.over(33, 1.0))
NARROW = levels(GRR.over(2, 1.0), OLH.over(16, 1.0), OLH.over(16, 1.0), GRR.over(7, 1.0))


def reports_of(sampled: SampledLevels, count: int = COUNT) -> Reports:
    sizes = [oracle.domain.size for oracle in sampled.oracles]
    cells = np.random.default_rng(1).integers(0, 1 << 20, size=count)
    return sampled.perturb(cells, lambda level, inside: inside % sizes[level - 1], seeded(2))


def one_level_at_a_time(sampled: SampledLevels, reports: Reports) -> State:
    """What folding must give, written down without any grouping."""
    state: State = {}
    for index, oracle in enumerate(sampled.oracles):
        part = select(reports, reports["level"] == index)
        variant = oracle.layout.single
        columns = variant.unpack(part["symbol"].astype(np.uint64)) if variant.scalars else {}
        if variant.vector is not None:
            columns["bits"] = part["bits"][:, : variant.vector.width]
        folded = oracle.fold(oracle.empty(), columns) if length_of(part) else oracle.empty()
        state |= {f"{index + 1}/{name}": array for name, array in folded.items()}
    return state


@pytest.mark.parametrize("sampled", [MIXED, NARROW])
@pytest.mark.parametrize("only", [None, [0], [1, 3]])
def test_reports_are_folded_into_their_level(sampled: SampledLevels, only: list[int] | None) -> None:
    reports = reports_of(sampled)
    if only is not None:
        reports = select(reports, np.isin(reports["level"], only))
    state = {name: np.zeros(shape, dtype=np.int64) for name, shape in sampled.arrays.items()}
    assert sampled.fold(state, reports) is state
    expected = one_level_at_a_time(sampled, reports)
    assert state.keys() == expected.keys()
    assert all(np.array_equal(state[name], array) for name, array in expected.items())
    assert sum(sampled.counts(state)) == length_of(reports)


def test_an_empty_batch_adds_nothing() -> None:
    state = {name: np.zeros(shape, dtype=np.int64) for name, shape in MIXED.arrays.items()}
    MIXED.fold(state, reports_of(MIXED, 0))
    assert not any(array.any() for array in state.values())


def test_levels_are_drawn_evenly_and_a_single_device_reports_once() -> None:
    counts = np.bincount(reports_of(MIXED)["level"], minlength=5)
    assert (np.abs(counts - COUNT / 5) < 6 * np.sqrt(COUNT / 5)).all()
    assert length_of(reports_of(MIXED, 1)) == 1


def test_only_levels_that_can_tell_are_asked_which_reports_are_possible() -> None:
    assert NARROW.valid(reports_of(NARROW)) is None
    reports = reports_of(MIXED)
    verdict = MIXED.valid(reports)
    assert verdict is not None
    assert verdict.all()
    subsets = np.flatnonzero(reports["level"] == 3)
    reports["bits"][subsets[::2], 0] ^= 1  # one cell more or less than a subset has
    reports["bits"][reports["level"] == 1, 0] ^= 1  # any bits are possible here
    verdict = MIXED.valid(reports)
    assert verdict is not None
    assert np.array_equal(np.flatnonzero(~verdict), subsets[::2])


def test_equal_oracles_are_one_object() -> None:
    assert NARROW.oracles[1] is NARROW.oracles[2]
    assert NARROW.oracles[0] is not NARROW.oracles[3]
    assert [oracle.domain.size for oracle in NARROW.oracles] == [2, 16, 16, 7]
