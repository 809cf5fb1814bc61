"""The hierarchical mechanism: folding by level, consistency, known answers, empty levels and errors."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.errors import QueryError, SpecificationError
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import select
from hearsay.mechanisms.ranges.hierarchical.tree_variance import TreeVariance


def hierarchical(size: int, epsilon: float = 1.1, **options: Any) -> Mechanism:
    domain = {"kind": "ordinal", "size": size}
    return build({"mechanism": "hierarchical", "epsilon": epsilon, "domain": domain, "options": options})


def estimated(mechanism: Mechanism, cells: np.ndarray, seed: int = 1) -> Estimate:
    return mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(seed))))


def test_levels_hold_only_nodes_that_exist() -> None:
    arrays = hierarchical(50, fanout=4, oracle="grr").arrays
    assert [shape for name, shape in arrays.items() if name.endswith("/hist")] == [(4,), (13,), (50,)]


@pytest.mark.parametrize("oracle", ["grr", "ss", "oue", "olh", "hrr"])
def test_each_level_folds_as_its_oracle_alone(oracle: str) -> None:
    mechanism = hierarchical(20, fanout=3, oracle=oracle)
    reports = mechanism.perturb(np.arange(20).repeat(30), seeded(2))
    state = mechanism.fold(mechanism.empty(), reports)
    for index in range(len(mechanism.layout.variants)):
        alone = mechanism.fold(mechanism.empty(), select(reports, reports["level"] == index))
        for name in mechanism.arrays:
            if name.startswith(f"{index + 1}/"):
                np.testing.assert_array_equal(alone[name], state[name])
            else:
                assert not alone[name].any()
    verdict = mechanism.valid(reports)
    assert verdict is None or verdict.all()


@pytest.mark.parametrize("consistency", [True, False])
@pytest.mark.parametrize("oracle", ["grr", "ss", "oue", "olh"])
def test_without_noise_every_range_is_found(oracle: str, consistency: bool) -> None:
    mechanism = hierarchical(13, epsilon=8.0, fanout=3, oracle=oracle, consistency=consistency)
    cells = np.repeat(np.arange(13), np.arange(13) * 1_500)
    truth = np.append(0.0, np.cumsum(np.bincount(cells, minlength=13) / cells.size))
    x, y = np.triu_indices(14, k=1)
    found = estimated(mechanism, cells).ranges(x[:, None], y[:, None] - 1)
    assert (np.abs(found.value - (truth[y] - truth[x])) <= 6 * found.stderr + 1e-9).all()
    assert found.stderr.max() < 0.03


@pytest.mark.parametrize("consistency", [True, False])
@pytest.mark.parametrize("size", [13, 16])
def test_points_are_ranges_of_one_cell_and_the_whole_is_known(size: int, consistency: bool) -> None:
    mechanism = hierarchical(size, fanout=2, oracle="oue", consistency=consistency)
    result = estimated(mechanism, np.arange(size).repeat(100))
    cells = np.arange(size)
    points, ranges = result.points(cells), result.ranges(cells[:, None], cells[:, None])
    np.testing.assert_allclose(points.value, ranges.value, atol=1e-12)
    np.testing.assert_allclose(points.stderr, ranges.stderr, atol=1e-12)
    whole = result.ranges(np.array([[0]]), np.array([[size - 1]]))
    assert whole.value[0] == 1.0
    assert whole.stderr[0] < 1e-8
    assert result.cdf().value[-1] == 1.0


def test_consistent_ranges_add_up() -> None:
    result = estimated(hierarchical(30), np.arange(30).repeat(100))
    parts = result.ranges(np.array([[0], [7], [19]]), np.array([[6], [18], [29]]))
    assert parts.value.sum() == pytest.approx(1.0)
    assert result.estimate.sum() == pytest.approx(1.0)


def test_levels_without_reports_leave_their_detail_unknown() -> None:
    mechanism = hierarchical(16, fanout=4, oracle="oue")
    reports = mechanism.perturb(np.arange(16).repeat(50), seeded(3))
    top_only = mechanism.estimate(mechanism.fold(mechanism.empty(), select(reports, reports["level"] == 0)))
    assert np.isinf(top_only.stderr).all()
    aligned = top_only.ranges(np.array([[4]]), np.array([[11]]))
    assert np.isfinite(aligned.stderr[0])
    nothing = mechanism.estimate(mechanism.empty())
    np.testing.assert_allclose(nothing.estimate, 1 / 16)
    assert np.isinf(nothing.stderr).all()


@pytest.mark.parametrize("consistency", [True, False])
def test_bad_ranges_are_refused(consistency: bool) -> None:
    result = estimated(hierarchical(10, consistency=consistency), np.arange(10))
    for low, high in [(5, 3), (-1, 3), (0, 10), (10, 10)]:
        with pytest.raises(QueryError, match="range must"):
            result.ranges(np.array([[low]]), np.array([[high]]))
    with pytest.raises(QueryError, match="quantile"):
        result.quantiles(np.array([0.0]))
    assert result.ranges(np.zeros((0, 1), dtype=np.int64), np.zeros((0, 1), dtype=np.int64)).value.size == 0


def test_bad_options_are_refused() -> None:
    with pytest.raises(SpecificationError, match=r"options\.oracle must be one of"):
        hierarchical(10, oracle="laplace")
    with pytest.raises(SpecificationError, match=r"options\.fanout must be an integer"):
        hierarchical(10, fanout=1)


@pytest.mark.parametrize("consistency", [True, False])
def test_quantiles_bracket_the_truth(consistency: bool) -> None:
    generator = np.random.default_rng(5)
    cells = np.clip(generator.normal(500, 120, 40_000), 0, 999).astype(np.int64)
    result = estimated(hierarchical(1000, consistency=consistency), cells)
    ranks = np.arange(1, 10) / 10
    found = result.quantiles(ranks)
    truth = np.quantile(cells, ranks, method="inverted_cdf")
    # 1.96 standard errors either way is 95%; three bands of room make a false alarm rarer than one in a million.
    room = 2 * (found.high - found.low) + 1
    assert ((found.low - room <= truth) & (truth <= found.high + room)).all()
    assert (found.low <= found.cell).all()
    assert (found.cell <= found.high).all()
    assert (np.diff(found.cell) > 0).all()


@pytest.mark.parametrize("options", [{}, {"fanout": 1024}, {"fanout": 3}, {"fanout": 4, "consistency": False}], ids=str)
@pytest.mark.parametrize(("epsilon", "reports"), [(8.0, 100), (8.0, 1_000), (0.05, 10), (1.0, 10)])
def test_no_answer_is_certain_however_few_the_reports(options: dict[str, Any], epsilon: float, reports: int) -> None:
    mechanism = hierarchical(300, epsilon, **options)
    result = estimated(mechanism, np.random.default_rng(8).integers(0, 40, reports))
    assert result.stderr.min() > 0
    ends = np.sort(np.random.default_rng(9).integers(0, 300, (400, 2)), axis=1)
    ends = ends[ends[:, 1] - ends[:, 0] < 299]
    assert result.ranges(ends[:, :1], ends[:, 1:]).stderr.min() > 0


@pytest.mark.parametrize("size", [257, 513])
def test_the_last_cell_of_a_ragged_tree_has_the_error_of_its_range(size: int) -> None:
    mechanism = hierarchical(size, epsilon=4.0)
    result = estimated(mechanism, np.r_[np.full(40_000, 3), np.arange(40_000) % size])
    last = np.array([[size - 1]])
    assert result.ranges(last, last).stderr[0] == pytest.approx(result.stderr[-1], rel=1e-9)


@pytest.mark.parametrize("epsilon", [1.1, 8.0])
@pytest.mark.parametrize("size", [7, 64, 1000])
def test_predicted_errors_of_few_reports_are_those_of_many_scaled(size: int, epsilon: float) -> None:
    mechanism = build({"mechanism": "hierarchical", "epsilon": epsilon, "domain": {"kind": "ordinal", "size": size}})
    one, many = mechanism.predicted_stderr(1), mechanism.predicted_stderr(10**8)
    assert one == pytest.approx({name: 10**4 * error for name, error in many.items()}, rel=1e-3)


@pytest.mark.parametrize(("size", "options"), [(64, {}), (1000, {}), (5000, {"fanout": 3}), (1000, {"fanout": 8})])
def test_predictions_need_no_prefix_sums(size: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """They are computed where they are asked for, and are those of evenly filled cells."""
    mechanism = hierarchical(size, **options)
    found = mechanism.predicted_stderr(10_000)

    def dense(inference: Any, top: Any, noise: Any, reports: int, _: Any, pairs: Any) -> TreeVariance:
        return TreeVariance(inference, top, noise, reports, np.arange(size + 1) / size, pairs)

    monkeypatch.setattr("hearsay.mechanisms.ranges.hierarchical.line.EvenTreeVariance", dense)
    again = hierarchical(size, **options).predicted_stderr(10_000)
    assert found == pytest.approx(again, rel=1e-12)
