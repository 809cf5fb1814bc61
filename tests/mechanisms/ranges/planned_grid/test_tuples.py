"""Sweeps over tuples against whole matrices: the estimate, every weight, and the variance of ranges, cells and sums."""

import numpy as np
import pytest

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.ranges.level_noise import level_shares
from hearsay.mechanisms.ranges.planned_grid import variance as variance_module
from hearsay.mechanisms.ranges.planned_grid.estimate import PlannedGridEstimate
from hearsay.mechanisms.ranges.planned_grid.grid import PlannedGrid
from tests.mechanisms.grids import skewed
from tests.mechanisms.ranges.planned_grid.dense import dense_slope, first_leaves, least_squares, owners, variance
from tests.mechanisms.ranges.planned_grid.test_grid import grid

SHAPES = [[4, 8], [5, 6], [7, 9], [3, 5, 4], [2, 3, 2, 3]]
LISTED = ["1x4 grr 300", "8x2 hrr 1000", "4x1 oue 96", "8x8 olh 2700"]


def played(mechanism: PlannedGrid, people: int = 4_000) -> tuple[PlannedGridEstimate, dict[str, np.ndarray]]:
    sizes = list(mechanism.domain.shape)
    state = mechanism.fold(mechanism.empty(), mechanism.perturb(skewed(sizes, people), seeded(1)))
    result = mechanism.estimate(state)
    assert isinstance(result, PlannedGridEstimate)
    return result, state


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_the_estimate_is_that_of_least_squares_with_a_known_total(sizes: list[int]) -> None:
    mechanism = grid(sizes)
    result, state = played(mechanism)
    inference = result.uncertainty.inference
    leaves = np.full(int(inference.leaves), 1 / inference.leaves)
    for number, (oracle, weights) in enumerate(
        zip(mechanism.levels.oracles, least_squares(inference), strict=True), start=1
    ):
        leaves += weights @ level_shares(oracle, mechanism.levels.state(state, number), own_counts=False)
    np.testing.assert_allclose(owners(mechanism.axes) @ leaves, result.estimate.reshape(-1), atol=1e-10)


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_variances_are_those_of_the_whole_matrices(sizes: list[int]) -> None:
    result, _ = played(grid(sizes))
    assert_exact(result, sizes)


def test_variances_of_listed_tuples_are_exact_too() -> None:
    """With few tuples, oracles whose moments all differ, and an axis whose levels are not all asked."""
    sizes = [7, 6]
    result, _ = played(grid(sizes, levels=LISTED))
    assert_exact(result, sizes)


def test_on_many_axes_ranges_are_answered_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = played(grid([5, 6]))
    monkeypatch.setattr(variance_module, "_MOST_ENTRIES", 0)
    assert_exact(result, [5, 6])


def assert_exact(result: PlannedGridEstimate, sizes: list[int]) -> None:
    uncertainty = result.uncertainty
    axes, held = uncertainty.axes, uncertainty.shares
    assert held is not None
    assert held.min() >= 0
    assert held.sum() == pytest.approx(1.0)
    of_cells, shares = owners(axes), first_leaves(axes) @ held.reshape(-1)
    cells = uncertainty.cells().reshape(-1)
    generator = np.random.default_rng(2)
    ends = np.sort(generator.integers(0, sizes, (12, 2, len(sizes))), axis=1)
    leaf_ends = [(axis.edges[ends[:, 0, n]], axis.edges[ends[:, 1, n] + 1]) for n, axis in enumerate(axes)]
    ranges, slopes = uncertainty.ranges(leaf_ends)
    for (low, high), found, slope in zip(ends, ranges, slopes, strict=True):
        query = np.zeros(sizes)
        query[tuple(slice(first, last + 1) for first, last in zip(low, high, strict=True))] = 1.0
        expected = variance(uncertainty.inference, query.reshape(-1) @ of_cells, shares)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)
        assert slope == pytest.approx(dense_slope(uncertainty.inference, query.reshape(-1) @ of_cells), rel=1e-9)
        assert uncertainty.linear(query) == pytest.approx((expected, slope), rel=1e-9, abs=1e-15)
    for cell in generator.choice(cells.size, 8, replace=False):
        expected = variance(uncertainty.inference, of_cells[cell], shares)
        assert cells[cell] == pytest.approx(expected, rel=1e-9)
    query = generator.normal(size=sizes)
    expected = variance(uncertainty.inference, query.reshape(-1) @ of_cells, shares)
    assert uncertainty.linear(query)[0] == pytest.approx(expected, rel=1e-9)
