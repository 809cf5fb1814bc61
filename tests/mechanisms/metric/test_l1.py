"""metric-l1: signs, exact folding, queries from corners, options and refusals."""

from itertools import product

import numpy as np
import pytest

from hearsay.mechanisms import build, merge
from hearsay.mechanisms.errors import QueryError, SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import select


def survey(sizes: list[int], epsilon: float = 1.0, **options: object):
    return build(
        {"mechanism": "metric-l1", "epsilon": epsilon, "domain": {"kind": "grid", "sizes": sizes}, "options": options}
    )


def random_cells(sizes: list[int], count: int, seed: int = 2) -> np.ndarray:
    generator = np.random.default_rng(seed)
    cells = np.stack([generator.integers(0, size, count) for size in sizes], axis=1)
    return cells[:, 0] if len(sizes) == 1 else cells


def all_ranges(sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Every range of a small grid."""
    per_axis = [[(low, high) for low in range(size) for high in range(low, size)] for size in sizes]
    chosen = np.array(list(product(*per_axis)))
    return chosen[:, :, 0], chosen[:, :, 1]


@pytest.mark.parametrize("sizes", [[9], [17, 5], [4, 3, 6]])
@pytest.mark.parametrize("anchored", [True, False])
def test_signs_are_minus_before_the_value_and_plus_from_it_on(sizes: list[int], anchored: bool) -> None:
    mechanism = survey(sizes, anchored=anchored)
    cells = random_cells(sizes, 50).reshape(50, -1)
    bits = np.unpackbits(mechanism.signs.pack(cells), axis=1, count=mechanism.signs.width, bitorder="little")
    expected = [
        [int(place >= value) for size, value in zip(sizes, cell, strict=True) for place in range(size - anchored)]
        for cell in cells
    ]
    np.testing.assert_array_equal(bits, expected)
    assert mechanism.layout.single.vector.length == sum(size - anchored for size in sizes)


@pytest.mark.parametrize("sizes", [[300], [20, 3], [2, 2, 2, 2], [3, 40, 2]])
@pytest.mark.parametrize("anchored", [True, False])
def test_fold_is_the_exact_sum_of_outer_products(sizes: list[int], anchored: bool) -> None:
    mechanism = survey(sizes, anchored=anchored)
    reports = mechanism.perturb(random_cells(sizes, 400), seeded(3))
    expected = np.zeros(sizes, dtype=np.int64)
    width, lengths = mechanism.signs.width, mechanism.signs.lengths
    for row in np.unpackbits(reports["bits"], axis=1, count=width, bitorder="little"):
        factors = []
        for axis, size in enumerate(sizes):
            start = sum(lengths[:axis])
            signs = 2 * row[start : start + lengths[axis]].astype(np.int64) - 1
            factors.append(signs if len(signs) == size else np.append(signs, 1))
        outer = factors[0]
        for factor in factors[1:]:
            outer = np.multiply.outer(outer, factor)
        expected += outer
    state = mechanism.fold(mechanism.empty(), reports)
    np.testing.assert_array_equal(state["observation"], expected)
    assert mechanism.reports(state) == 400


def test_folding_many_batches_of_one_large_grid_is_exact() -> None:
    mechanism = survey([40, 50])
    reports = mechanism.perturb(random_cells([40, 50], 150_000), seeded(8))
    whole = mechanism.fold(mechanism.empty(), reports)
    parts = mechanism.empty()
    for part in np.array_split(np.arange(150_000), 11):
        merge(parts, mechanism.fold(mechanism.empty(), select(reports, part)))
    np.testing.assert_array_equal(whole["observation"], parts["observation"])


@pytest.mark.parametrize("options", [{}, {"anchored": False}, {"anchored": False, "dummy": True}])
def test_a_range_is_the_sum_of_its_cells(options: dict) -> None:
    mechanism = survey([4, 2, 3], **options)
    estimate = mechanism.estimate(
        mechanism.fold(mechanism.empty(), mechanism.perturb(random_cells([4, 2, 3], 500), seeded(5)))
    )
    low, high = all_ranges((4, 2, 3))
    value, stderr, *_ = estimate.ranges(low, high)
    for query in range(len(low)):
        box = tuple(slice(a, b + 1) for a, b in zip(low[query], high[query], strict=True))
        assert value[query] == pytest.approx(estimate.estimate[box].sum(), abs=1e-12)
        if (low[query] == high[query]).all():
            assert stderr[query] == pytest.approx(estimate.stderr[tuple(low[query])], rel=1e-12)


def test_anchored_totals_are_exact() -> None:
    mechanism = survey([5, 6])
    reports = mechanism.perturb(random_cells([5, 6], 100), seeded(1))
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), reports))
    value, stderr, *_ = estimate.ranges(np.array([[0, 0]]), np.array([[4, 5]]))
    assert value[0] == pytest.approx(1.0, abs=1e-12)
    assert stderr[0] == 0.0
    assert estimate.estimate.sum() == pytest.approx(1.0, abs=1e-12)


def test_of_no_reports_nothing_is_known_but_the_whole() -> None:
    mechanism = survey([5, 6])
    estimate = mechanism.estimate(mechanism.empty())
    assert np.isfinite(estimate.estimate).all()
    assert np.isinf(estimate.stderr).all()
    found = estimate.ranges(np.array([[0, 0], [1, 0]]), np.array([[4, 5], [2, 5]]))
    assert found.stderr.tolist() == [0.0, np.inf]


def test_quantiles_and_cdf_on_one_axis() -> None:
    mechanism = build({"mechanism": "metric-l1", "epsilon": 2.0, "domain": {"kind": "ordinal", "size": 100}})
    cells = np.clip(np.random.default_rng(1).normal(40, 10, 200_000).astype(int), 0, 99)
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(2))))
    truth = np.bincount(cells, minlength=100).cumsum() / cells.size
    value, stderr, *_ = estimate.cdf()
    assert (np.abs(value - truth) <= 6 * stderr + 1e-12).all()
    found = estimate.quantiles(np.array([0.25, 0.5, 0.9]))
    np.testing.assert_allclose(found.cell, np.searchsorted(truth, [0.25, 0.5, 0.9]), atol=1)
    assert (found.low <= found.cell).all()
    assert (found.cell <= found.high).all()


def test_epsilon_is_per_unit_on_continuous_axes() -> None:
    axes = [{"name": "age", "low": 0, "high": 100, "bins": 50}, {"name": "floor", "size": 4}]
    mechanism = build({"mechanism": "metric-l1", "epsilon": 0.5, "domain": {"kind": "grid", "axes": axes}})
    np.testing.assert_allclose(mechanism.epsilon_per_cell, [1.0, 0.5], rtol=1e-14)
    assert mechanism.spent_epsilon <= 0.5
    assert "per bin" in mechanism.guarantee.words()
    assert mechanism.guarantee.table()["epsilon_per_cell"] == [1.0, 0.5]
    bound = mechanism.guarantee.matrix(mechanism.domain)
    assert bound[0, 4] == pytest.approx(1.0)  # one bin of two years
    assert bound[0, 1] == pytest.approx(0.5)  # one floor


def test_unequal_coins_keep_the_guarantee_and_the_channel() -> None:
    axes = [{"name": "a", "low": 0, "high": 3, "bins": 2}, {"name": "b", "size": 3}]
    mechanism = build({"mechanism": "metric-l1", "epsilon": 0.7, "domain": {"kind": "grid", "axes": axes}})
    channel = mechanism.channel()
    bound = mechanism.guarantee.matrix(mechanism.domain)
    ratio = np.log(channel[:, None, :] / channel[None, :, :]).max(axis=2)
    assert (ratio <= bound + 1e-9).all()
    np.testing.assert_allclose(ratio, bound, rtol=1e-9)
    reports = mechanism.perturb(np.tile([[1, 0]], (100_000, 1)), seeded(9))
    seen = np.bincount(reports["bits"][:, 0], minlength=8) / 100_000
    np.testing.assert_allclose(seen, channel[3], atol=6 * 0.5 / np.sqrt(100_000))


@pytest.mark.parametrize(("p", "shrink"), [(1, 1.0), (2, 2**-0.5), ("inf", 0.5)])
def test_lp_distances_shrink_epsilon(p: object, shrink: float) -> None:
    mechanism = survey([3, 3], epsilon=1.2, p=p)
    np.testing.assert_allclose(mechanism.epsilon_per_cell, 1.2 * shrink, rtol=1e-14)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": {"dummy": True}}, "options.dummy"),
        ({"options": {"p": 0.5}}, "options.p"),
        ({"options": {"weight": 1}}, "unknown key"),
        ({"domain": {"kind": "grid", "sizes": [300, 300, 300]}}, "206 MiB"),
        ({"domain": {"kind": "ordinal", "low": 0, "high": 1e9, "bins": 2}}, "per cell"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(change: dict, message: str) -> None:
    table = {"mechanism": "metric-l1", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 4}, **change}
    with pytest.raises(SpecificationError, match=message) as caught:
        build(table)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("low", "high"), [([[1, 1]], [[0, 2]]), ([[0, 0]], [[4, 3]]), ([[-1, 0]], [[1, 1]])])
def test_ranges_outside_the_grid_are_refused(low: list, high: list) -> None:
    mechanism = survey([4, 4])
    with pytest.raises(QueryError):
        mechanism.estimate(mechanism.empty()).ranges(np.array(low), np.array(high))


def test_bands_of_the_literal_form_know_that_all_prefixes_share_the_last_sign() -> None:
    """A fit that takes the mean of many prefixes does not take the last sign's noise away: 66% held before."""
    domain = {"kind": "ordinal", "size": 100}
    mechanism = build({"mechanism": "metric-l1", "epsilon": 0.3, "domain": domain, "options": {"anchored": False}})
    values, random, runs, held = np.zeros(5, dtype=np.int64), seeded(5), 200, 0
    for _ in range(runs):
        found = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(values, random)))
        held += int(found.quantiles(np.array([0.98])).low[0] == 0)
    assert held > 0.93 * runs
