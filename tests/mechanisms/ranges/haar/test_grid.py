"""Haar on a grid: exact variances, what is known without noise, errors as stated, and what is refused."""

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.checks.mechanisms import estimate_is_unbiased_with_the_stated_variance
from hearsay.mechanisms.errors import QueryError, SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.ranges.haar.grid import HaarGrid
from hearsay.mechanisms.ranges.haar.grid_estimate import HaarGridEstimate
from tests.mechanisms import test_every_mechanism as laws
from tests.mechanisms.grids import (
    check_cells_are_found,
    check_ranges_are_linear_queries,
    check_reports_pass_the_wire,
    check_the_whole_is_known,
    random_ranges,
    run_many,
    skewed,
)
from tests.mechanisms.ranges.haar.test_axis import padded_weights
from tests.mechanisms.ranges.haar.test_line import least_mean

SHAPES = [[4, 8], [5, 6], [3, 5, 4], [2, 3, 2, 3]]


def haar(sizes: list[int], epsilon: float = 1.1) -> HaarGrid:
    made: Mechanism = build({"mechanism": "haar", "epsilon": epsilon, "domain": {"kind": "grid", "sizes": sizes}})
    assert isinstance(made, HaarGrid)
    return made


def estimated(mechanism: HaarGrid, cells: np.ndarray, seed: int = 1) -> HaarGridEstimate:
    result = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(seed))))
    assert isinstance(result, HaarGridEstimate)
    return result


def test_arrays_are_a_sum_and_a_count_for_every_character_of_a_tuple() -> None:
    mechanism = haar([2, 3])
    assert mechanism.tuples == [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    for name in ("sum", "count"):
        assert [mechanism.arrays[f"{number}/{name}"] for number in range(1, 6)] == [(1,), (2,), (1,), (1,), (2,)]


@pytest.mark.parametrize("law", [*laws.ON_ANY_DOMAIN, estimate_is_unbiased_with_the_stated_variance], ids=laws.name_of)
@pytest.mark.parametrize("sizes", [[5, 6], [2, 3, 5]], ids=str)
def test_every_law_holds(sizes: list[int], law: Callable[[Mechanism], None]) -> None:
    law(haar(sizes))


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_without_noise_every_cell_is_rebuilt(sizes: list[int]) -> None:
    cells = skewed(sizes, 100_000)
    check_cells_are_found(estimated(haar(sizes, epsilon=50.0), cells), cells)


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_variances_are_those_of_the_formula(sizes: list[int]) -> None:
    """The module's text written out with the whole tensor of weights, tuple by tuple."""
    mechanism, n = haar(sizes), 5_000
    state = mechanism.fold(mechanism.empty(), mechanism.perturb(skewed(sizes, n), seeded(1)))
    result = mechanism.estimate(state)
    assert isinstance(result, HaarGridEstimate)
    ends = random_ranges(sizes, 60)
    found = result.ranges(ends[:, 0], ends[:, 1])
    for (low, high), value, stderr in zip(ends, found.value, found.stderr, strict=True):
        along = []
        for axis, first, last in zip(mechanism.axes, low, high, strict=True):
            inside = np.zeros(1 << axis.height)
            inside[first : None if last == axis.size - 1 else last + 1] = 1.0
            along.append(padded_weights(axis, inside))
        weights = reduce(np.multiply.outer, along)
        share = float((weights * result.coefficients).sum())
        assert value == pytest.approx(share, abs=1e-12)
        held = np.clip(share, 0.0, 1.0)
        variance, coins = -held * (1 - held) / n, 0.0
        for number, depths in enumerate(mechanism.tuples, start=1):
            starts = [axis.starts[depth] for axis, depth in zip(mechanism.axes, depths, strict=True)]
            nodes = [axis.nodes[depth] for axis, depth in zip(mechanism.axes, depths, strict=True)]
            block = tuple(slice(start, start + count) for start, count in zip(starts, nodes, strict=True))
            w, d, n_tuple = weights[block], result.coefficients[block], int(state[f"{number}/count"].sum())
            square, c = (w**2).sum(), mechanism.correlation
            explained = least_mean((w * d).sum(), square, c, n_tuple) ** 2 if square else 0.0
            variance += (square / c**2 - explained) / n_tuple
            coins += square / c**2 / n_tuple
        assert stderr**2 == pytest.approx(max(variance, (1 - mechanism.correlation**2) * coins), abs=1e-12)


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_points_are_ranges_of_one_cell_and_the_whole_is_known(sizes: list[int]) -> None:
    result = estimated(haar(sizes), skewed(sizes, 3_000))
    cells = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
    ranges = result.ranges(cells, cells)
    np.testing.assert_allclose(ranges.value, result.estimate.reshape(-1), atol=1e-12)
    np.testing.assert_allclose(ranges.stderr, result.stderr.reshape(-1), atol=1e-12)
    check_the_whole_is_known(result)


def test_an_axis_that_is_not_cut_costs_nothing() -> None:
    """A range over all of the second axis needs the first one's margin only: the tuples with the second at its root."""
    mechanism = haar([8, 8])
    cells = skewed([8, 8], 3_000)
    state = mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(1)))
    for number, depths in enumerate(mechanism.tuples, start=1):
        if depths[1]:
            state[f"{number}/sum"][:] = 0
            state[f"{number}/count"][:] = 0
    result = mechanism.estimate(state)
    margin = result.ranges(np.array([[2, 0]]), np.array([[6, 7]]))
    assert np.isfinite(margin.stderr[0])
    assert abs(margin.value[0] - ((cells[:, 0] >= 2) & (cells[:, 0] <= 6)).mean()) <= 6 * margin.stderr[0]
    assert np.isinf(result.ranges(np.array([[2, 0]]), np.array([[6, 6]])).stderr[0])


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_ranges_are_linear_queries(sizes: list[int]) -> None:
    check_ranges_are_linear_queries(estimated(haar(sizes), skewed(sizes, 3_000)))


CASES = [([9, 12], 1.1), ([8, 16], 2.5), ([4, 5, 6], 1.1)]


@pytest.mark.parametrize(("sizes", "epsilon"), CASES, ids=str)
def test_ranges_are_unbiased_with_the_stated_errors(sizes: list[int], epsilon: float) -> None:
    bias, ratio, covered = run_many(haar(sizes, epsilon), 200)
    assert bias < 6
    assert 0.85 < ratio < 1.15
    assert 0.93 < covered < 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "epsilon"), CASES, ids=str)
def test_variance_is_within_five_percent_and_intervals_cover(sizes: list[int], epsilon: float) -> None:
    bias, ratio, covered = run_many(haar(sizes, epsilon), 4_000)
    assert bias < 6
    assert 0.95 < ratio < 1.05
    assert 0.94 < covered < 0.96


def test_the_prediction_is_what_evenly_filled_cells_get() -> None:
    mechanism, n = haar([6, 8]), 48_000
    cells = np.stack(np.unravel_index(np.arange(n) % 48, (6, 8)), axis=1)
    result, predicted = estimated(mechanism, cells), mechanism.predicted_stderr(n)
    assert predicted["point"] == pytest.approx(result.stderr[3, 4], rel=0.05)
    ends = random_ranges([6, 8], 2_000)
    stderr = result.ranges(ends[:, 0], ends[:, 1]).stderr
    assert predicted["range"] == pytest.approx(np.sqrt((stderr**2).mean()), rel=0.05)


def test_one_report_of_every_kind_is_folded_into_its_own_place() -> None:
    mechanism = haar([3, 4])
    state = mechanism.fold(mechanism.empty(), mechanism.layout.enumerate())
    for number, K in enumerate(mechanism.nodes, start=1):
        assert (state[f"{number}/sum"] == 0).all()
        assert state[f"{number}/count"].tolist() == [2] * K


def test_no_reports_give_infinite_errors_and_no_warning() -> None:
    mechanism = haar([3, 4])
    result = mechanism.estimate(mechanism.empty())
    assert result.reports == 0
    assert np.isinf(result.stderr).all()
    assert np.isfinite(result.estimate).all()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([8], "domain must have at least two axes for haar on a grid, got 1"),
        ([4] * 7, "domain must have at most 1024 tuples of levels for haar, got 2186"),
        ([2049, 2048], "at most 4194304 cells, each axis padded to a power of two, for haar, got 8388608"),
    ],
)
def test_what_it_cannot_do_is_refused(sizes: list[int], message: str) -> None:
    with pytest.raises(SpecificationError, match=message) as caught:
        haar(sizes)
    assert "\n" not in str(caught.value)


def test_bad_ranges_are_refused() -> None:
    result = estimated(haar([4, 5]), skewed([4, 5], 100))
    for low, high in [([0, 3], [1, 2]), ([0, 0], [4, 1]), ([-1, 0], [1, 1])]:
        with pytest.raises(QueryError, match="range along axis"):
            result.ranges(np.array([low]), np.array([high]))


def test_reports_of_more_than_256_tuples_pass_the_wire() -> None:
    mechanism = build({"mechanism": "haar", "epsilon": 2.0, "domain": {"kind": "grid", "sizes": [64, 64, 64]}})
    assert len(mechanism.layout.variants) > 256
    cells = np.random.default_rng(5).integers(0, 64, (3_000, 3))
    reports = mechanism.perturb(cells, seeded(6))
    assert reports["level"].max() > 255
    check_reports_pass_the_wire(mechanism, reports)
