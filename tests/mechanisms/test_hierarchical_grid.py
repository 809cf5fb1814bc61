"""Hierarchical on a grid: unbiased weights, least squares along an axis, exact errors, and what is refused."""

from typing import Any

import numpy as np
import pytest

from mechanisms import Mechanism, build
from mechanisms.axis_weights import prefix_weights
from mechanisms.errors import QueryError, SpecificationError
from mechanisms.grid_result import GridEstimate
from mechanisms.randomness import seeded
from mechanisms.tree import Tree
from tests.mechanisms.test_tree import node_matrix


def grid(sizes: list[int], epsilon: float = 1.1, **options: Any) -> Mechanism:
    domain = {"kind": "grid", "sizes": sizes}
    return build({"mechanism": "hierarchical", "epsilon": epsilon, "domain": domain, "options": options})


def estimated(mechanism: Mechanism, cells: np.ndarray, seed: int = 1) -> GridEstimate:
    result = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(seed))))
    assert isinstance(result, GridEstimate)
    return result


def skewed(sizes: list[int], count: int) -> np.ndarray:
    generator = np.random.default_rng(3)
    cells = np.stack([generator.integers(0, size, count) for size in sizes], axis=1)
    cells[: count // 2] = [1, sizes[1] // 2]
    return cells


@pytest.mark.parametrize(("size", "fanout"), [(8, 2), (16, 4), (11, 3), (5, 2), (2, 4)])
def test_axis_weights_are_those_of_least_squares(size: int, fanout: int) -> None:
    tree = Tree.regular(size, fanout)
    design = np.concatenate([node_matrix(tree, level) for level in range(tree.height + 1)])
    prefixes = np.tri(size + 1, size, -1)
    expected = prefixes @ np.linalg.pinv(design)
    np.testing.assert_allclose(np.concatenate(prefix_weights(tree), axis=1), expected, atol=1e-9)


def test_a_cell_is_found_without_noise() -> None:
    mechanism = grid([5, 6], epsilon=9.0, fanout=2)
    cells = skewed([5, 6], 60_000)
    result = estimated(mechanism, cells)
    truth = np.zeros((5, 6))
    np.add.at(truth, tuple(cells.T), 1 / len(cells))
    assert (np.abs(result.estimate - truth) <= 6 * result.stderr + 1e-9).all()
    assert result.stderr.max() < 0.02


def test_points_are_ranges_of_one_cell_and_the_whole_is_known() -> None:
    result = estimated(grid([5, 6], fanout=2), skewed([5, 6], 3_000))
    cells = np.stack(np.unravel_index(np.arange(30), (5, 6)), axis=1)
    ranges = result.ranges(cells, cells)
    np.testing.assert_allclose(ranges.value, result.estimate.reshape(-1), atol=1e-12)
    np.testing.assert_allclose(ranges.stderr, result.stderr.reshape(-1), atol=1e-12)
    whole = result.ranges(np.array([[0, 0]]), np.array([[4, 5]]))
    assert (whole.value[0], whole.stderr[0]) == (1.0, 0.0)


def test_ranges_are_linear_queries() -> None:
    result = estimated(grid([5, 6], fanout=2), skewed([5, 6], 3_000))
    query = np.zeros((5, 6))
    query[1:4, 2:6] = 1.0
    one, other = result.ranges(np.array([[1, 2]]), np.array([[3, 5]])), result.linear(query.reshape(1, -1))
    assert one.value[0] == pytest.approx(other.value[0])
    assert one.stderr[0] == pytest.approx(other.stderr[0], rel=0.01)  # they clip negative shares differently


def run_many(runs: int) -> tuple[float, float, float]:
    sizes, n = [9, 12], 4_000
    mechanism, random = grid(sizes, fanout=3), seeded(4)
    cells = skewed(sizes, n)
    counts = np.zeros(sizes)
    np.add.at(counts, tuple(cells.T), 1 / n)
    before = np.zeros((10, 13))
    before[1:, 1:] = counts.cumsum(axis=0).cumsum(axis=1)
    ends = np.sort(np.random.default_rng(6).integers(0, sizes, (150, 2, 2)), axis=1)
    low, high = ends[:, 0], ends[:, 1]
    x, y = low.T, high.T + 1
    truth = before[y[0], y[1]] - before[x[0], y[1]] - before[y[0], x[1]] + before[x[0], x[1]]
    errors, stderrs = np.empty((runs, 150)), np.empty((runs, 150))
    for run in range(runs):
        state = mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random))
        value, stderrs[run] = mechanism.estimate(state).ranges(low, high)
        errors[run] = value - truth
    bias = np.abs(errors.mean(axis=0)) / (stderrs.mean(axis=0) / np.sqrt(runs))
    ratio = (errors**2).mean() / (stderrs**2).mean()
    return float(bias.max()), float(ratio), float((np.abs(errors) <= 1.96 * stderrs).mean())


def test_ranges_are_unbiased_with_the_stated_errors() -> None:
    bias, ratio, covered = run_many(150)
    assert bias < 6
    assert 0.85 < ratio < 1.15
    assert 0.93 < covered < 0.97


@pytest.mark.slow
def test_variance_is_within_five_percent_and_intervals_cover() -> None:
    bias, ratio, covered = run_many(3_000)
    assert bias < 6
    assert 0.95 < ratio < 1.05
    assert 0.94 < covered < 0.96


@pytest.mark.parametrize(
    ("sizes", "options", "message"),
    [
        ([4, 4, 4], {}, "two axes"),
        ([4], {}, "two axes"),
        ([4, 5_000], {}, "at most 2048 cells along an axis"),
        ([4, 4], {"consistency": False}, r"options\.consistency must be true"),
        ([4, 4], {"levels": "optimised"}, r"options\.levels must be"),
    ],
)
def test_what_it_cannot_do_is_refused(sizes: list[int], options: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        grid(sizes, **options)


def test_bad_ranges_are_refused() -> None:
    result = estimated(grid([4, 5]), skewed([4, 5], 100))
    for low, high in [([0, 3], [1, 2]), ([0, 0], [4, 1]), ([-1, 0], [1, 1])]:
        with pytest.raises(QueryError, match="range along axis"):
            result.ranges(np.array([low]), np.array([high]))
