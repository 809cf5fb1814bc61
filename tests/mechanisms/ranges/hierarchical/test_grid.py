"""Hierarchical on a grid: unbiased weights, least squares along an axis, exact errors, and what is refused."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.errors import QueryError, SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.ranges.hierarchical.axis_weights import prefix_weights
from hearsay.mechanisms.ranges.hierarchical.grid_estimate import GridEstimate
from hearsay.mechanisms.ranges.hierarchical.tree import Tree
from tests.mechanisms.grids import run_many, skewed
from tests.mechanisms.ranges.hierarchical.test_tree import node_matrix


def grid(sizes: list[int], epsilon: float = 1.1, **options: Any) -> Mechanism:
    domain, options = {"kind": "grid", "sizes": sizes}, {"levels": "uniform", **options}
    return build({"mechanism": "hierarchical", "epsilon": epsilon, "domain": domain, "options": options})


def estimated(mechanism: Mechanism, cells: np.ndarray, seed: int = 1) -> GridEstimate:
    result = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(seed))))
    assert isinstance(result, GridEstimate)
    return result


@pytest.mark.parametrize(("size", "fanout"), [(8, 2), (16, 4), (11, 3), (5, 2), (2, 4)])
def test_axis_weights_are_those_of_least_squares(size: int, fanout: int) -> None:
    tree = Tree.regular(size, fanout)
    design = np.concatenate([node_matrix(tree, level) for level in range(tree.height + 1)])
    prefixes = np.tri(size + 1, size, -1)
    expected = prefixes @ np.linalg.pinv(design)
    np.testing.assert_allclose(np.concatenate(prefix_weights(tree), axis=1), expected, atol=1e-9)


SHAPES = [[5, 6], [5, 3, 4], [2, 3, 2, 3]]


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_a_cell_is_found_without_noise(sizes: list[int]) -> None:
    mechanism = grid(sizes, epsilon=9.0, fanout=2)
    cells = skewed(sizes, 60_000)
    result = estimated(mechanism, cells)
    truth = np.zeros(sizes)
    np.add.at(truth, tuple(cells.T), 1 / len(cells))
    assert (np.abs(result.estimate - truth) <= 6 * result.stderr + 1e-9).all()
    assert result.stderr.max() < 0.02


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_points_are_ranges_of_one_cell_and_the_whole_is_known(sizes: list[int]) -> None:
    result = estimated(grid(sizes, fanout=2), skewed(sizes, 3_000))
    cells = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
    ranges = result.ranges(cells, cells)
    np.testing.assert_allclose(ranges.value, result.estimate.reshape(-1), atol=1e-12)
    np.testing.assert_allclose(ranges.stderr, result.stderr.reshape(-1), atol=1e-12)
    whole = result.ranges(np.zeros((1, len(sizes)), dtype=int), np.array([sizes]) - 1)
    assert (whole.value[0], whole.stderr[0]) == (1.0, 0.0)


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_ranges_are_linear_queries(sizes: list[int]) -> None:
    result = estimated(grid(sizes, fanout=2), skewed(sizes, 3_000))
    low, high = np.array([sizes]) // 3, np.array([sizes]) - 1
    query = np.zeros(sizes)
    query[tuple(slice(first, last + 1) for first, last in zip(low[0], high[0], strict=True))] = 1.0
    one, other = result.ranges(low, high), result.sums(query.reshape(1, -1))
    assert one.value[0] == pytest.approx(other.value[0])
    assert one.stderr[0] == pytest.approx(other.stderr[0], rel=0.01)  # they clip negative shares differently


def test_many_ranges_at_once_are_the_same_as_one_at_a_time() -> None:
    sizes = [6, 40, 40]
    result = estimated(grid(sizes), skewed(sizes, 3_000))
    ends = np.sort(np.random.default_rng(6).integers(0, sizes, (1_000, 2, 3)), axis=1)
    together = result.ranges(ends[:, 0], ends[:, 1])
    for query in (0, 499, 999):  # a thousand are answered in two parts
        alone = result.ranges(ends[query : query + 1, 0], ends[query : query + 1, 1])
        assert together.value[query] == pytest.approx(alone.value[0], abs=1e-12)
        assert together.stderr[query] == pytest.approx(alone.stderr[0], abs=1e-12)


@pytest.mark.parametrize("sizes", [[9, 12], [4, 5, 9]], ids=str)
def test_ranges_are_unbiased_with_the_stated_errors(sizes: list[int]) -> None:
    bias, ratio, covered = run_many(grid(sizes, fanout=3), 150)
    assert bias < 6
    assert 0.85 < ratio < 1.15
    assert 0.93 < covered < 0.97


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[9, 12], [4, 5, 9]], ids=str)
def test_variance_is_within_five_percent_and_intervals_cover(sizes: list[int]) -> None:
    bias, ratio, covered = run_many(grid(sizes, fanout=3), 3_000)
    assert bias < 6
    assert 0.95 < ratio < 1.05
    assert 0.94 < covered < 0.96


@pytest.mark.parametrize(
    ("sizes", "options", "message"),
    [
        ([4], {}, "at least two axes for hierarchical on a grid, got 1"),
        ([4, 5_000], {}, "at most 2048 cells along an axis for hierarchical, got 5000"),
        ([64, 64, 64], {"fanout": 2}, "at most 256 tuples of levels for hierarchical, got 342"),
        ([2] * 9, {}, "at most 256 tuples of levels for hierarchical, got 511"),
        ([256, 256, 256], {}, "at most 16777216 boxes on all tuples of levels for hierarchical, got 39651821"),
        ([4, 4], {"consistency": False}, r"options\.consistency must be true"),
        ([4, 4], {"levels": "optimised", "fanout": 2}, r"options\.levels must be"),
    ],
)
def test_what_it_cannot_do_is_refused(sizes: list[int], options: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError, match=message) as caught:
        grid(sizes, **options)
    assert "\n" not in str(caught.value)


def test_the_largest_grid_of_two_axes_is_allowed() -> None:
    assert len(grid([2048, 2048], fanout=2, oracle="olh").levels.oracles) == 143  # type: ignore[attr-defined]


def test_bad_ranges_are_refused() -> None:
    result = estimated(grid([4, 5]), skewed([4, 5], 100))
    for low, high in [([0, 3], [1, 2]), ([0, 0], [4, 1]), ([-1, 0], [1, 1])]:
        with pytest.raises(QueryError, match="range along axis"):
            result.ranges(np.array([low]), np.array([high]))
    with pytest.raises(QueryError, match=r"ranges must have shape \(queries, 2\) at both ends"):
        result.ranges(np.array([[0, 0, 0]]), np.array([[1, 1, 1]]))


@pytest.mark.parametrize("people", [30, 300])
def test_sums_of_few_reports_hold(people: int) -> None:
    """Uniform levels: 11 to 76% of linear queries held, and standard errors were 0."""
    mechanism, runs = grid([5, 2], 10.0, levels="uniform"), 200
    cells = np.stack(np.unravel_index(np.arange(people) % 7, (5, 2)), axis=1)
    generator = np.random.default_rng(4)
    queries = np.stack([np.eye(10)[3], np.eye(10)[9], generator.normal(size=10)])
    true = queries @ np.bincount(np.ravel_multi_index(tuple(cells.T), (5, 2)), minlength=10) / people
    found = [estimated(mechanism, cells, seed).sums(queries) for seed in range(runs)]
    assert min(float(one.stderr.min()) for one in found) > 1e-4
    held = np.array([(low <= true + 1e-12) & (true <= high + 1e-12) for low, high in (one.ends() for one in found)])
    assert (held.mean(axis=0) > 0.93 - 5 * np.sqrt(0.93 * 0.07 / runs)).all()
