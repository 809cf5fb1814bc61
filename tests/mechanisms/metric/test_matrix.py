"""The matrix mechanism: strategies, exact covariances, scales given and optimised, refusals."""

from pathlib import Path

import numpy as np
import pytest

from hearsay.collector.survey.survey import load
from hearsay.mechanisms import build
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.discrete_laplace import variance
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import select
from hearsay.mechanisms.metric.noise_rates import violation


def survey(epsilon: float = 1.0, domain: dict | None = None, **options: object):
    return build(
        {
            "mechanism": "matrix",
            "epsilon": epsilon,
            "domain": domain or {"kind": "ordinal", "size": 6},
            "options": options,
        }
    )


def test_prefix_sends_no_constant_row_and_gives_ranges_as_the_paper_says() -> None:
    mechanism = survey(0.8)
    assert mechanism.layout.single.vector.length == 5
    np.testing.assert_allclose(mechanism.rates, 0.8, rtol=1e-9)
    estimate = mechanism.estimate({**mechanism.empty(), "n": np.ones(1, dtype=np.int64)})
    low, high = np.array([[0], [2], [3], [0]]), np.array([[2], [4], [5], [5]])
    noise = float(variance(np.array(0.8)))
    np.testing.assert_allclose(estimate.ranges(low, high).stderr ** 2, [noise, 2 * noise, noise, 0], atol=1e-9)


def test_ranges_hold_their_error_bars() -> None:
    mechanism = survey(1.2, {"kind": "ordinal", "size": 8})
    cells = np.minimum(np.random.default_rng(1).geometric(0.3, 500) - 1, 7)
    low, high = np.array([[0], [2], [1], [5]]), np.array([[3], [2], [6], [7]])
    truth = np.array([((cells >= a) & (cells <= b)).mean() for a, b in zip(low[:, 0], high[:, 0], strict=True)])
    runs = 2_000
    many = mechanism.perturb(np.tile(cells, runs), seeded(2))
    errors, stderrs = [], []
    for run in range(runs):
        part = select(many, slice(run * 500, (run + 1) * 500))
        value, stderr, *_ = mechanism.estimate(mechanism.fold(mechanism.empty(), part)).ranges(low, high)
        errors.append(value - truth)
        stderrs.append(stderr)
    squared, claimed = (np.array(errors) ** 2).mean(axis=0), (np.array(stderrs) ** 2).mean(axis=0)
    np.testing.assert_allclose(squared / claimed, 1, atol=0.16)
    covered = (np.abs(errors) <= 1.96 * np.array(stderrs)).mean(axis=0)
    assert ((covered > 0.92) & (covered < 0.975)).all()


def test_rational_rows_live_on_the_integers() -> None:
    mechanism = survey(
        2.0, {"kind": "categorical", "size": 3}, strategy=[[0.5, 0, 0.25], [0, 1, 0.75], [3, 3, 3]], metric="ldp"
    )
    assert mechanism.strategy.reported.tolist() == [[2, 0, 1], [0, 4, 3]]
    assert mechanism.strategy.knows_total


def test_more_rows_than_cells_are_combined_by_least_squares() -> None:
    rows = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0], [1, 1, 1, 1]]
    domain = {"kind": "ordinal", "size": 4}
    more = survey(2.0, domain, strategy=rows, metric="ldp")
    matrix, offset = more._rebuild
    for cell in range(4):
        shares = matrix @ more.strategy.reported[:, cell] + offset
        np.testing.assert_allclose(shares, np.eye(4)[cell], atol=1e-9)
    assert violation(more.numerators, more.strategy.reported, 2.0, more.distances) is None


def test_workload_of_ranges_changes_the_scales() -> None:
    domain = {"kind": "categorical", "size": 6, "sensitive": [0]}
    cells, ranges = (
        survey(1.0, domain, strategy="identity", metric="sensitive", workload=work) for work in ("cells", "ranges")
    )
    assert (ranges.gram() * ranges.covariance).sum() < 0.999 * (ranges.gram() * cells.covariance).sum()
    assert np.trace(cells.covariance) < 0.999 * np.trace(ranges.covariance)


def test_given_scales_are_kept_and_canonical_scales_give_the_same_noise() -> None:
    mechanism = survey(1.0, scales=[1.5, 2, 1, 1.25, 3, 0])
    np.testing.assert_allclose(mechanism.rates, [1 / 1.5, 0.5, 1, 0.8, 1 / 3], rtol=1e-11)
    optimised = survey(0.37, {"kind": "grid", "sizes": [3, 3]}, strategy="identity", metric="l2")
    again = type(optimised).create(0.37, optimised.domain, optimised.canonical_options())
    np.testing.assert_array_equal(again.numerators, optimised.numerators)


def test_reports_beyond_a_row_s_own_limits_are_recognised() -> None:
    mechanism = survey(1.0, scales=[1.5, 2, 1, 1.25, 3, 0])
    reports = mechanism.perturb(np.zeros(20, dtype=int), seeded(1))
    assert mechanism.valid(reports).all()
    forged = {"values": reports["values"].copy()}
    forged["values"][3] = mechanism.layout.single.vector.bound - 1
    assert mechanism.valid(forged).tolist() == [row != 3 for row in range(20)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1]]}, "row space"),
        ({"scales": [1, 1, 0, 1, 1, 0]}, r"options.scales\[3\] must be > 0"),
        ({"scales": [1, 1, 0.5, 1, 1, 0]}, "would differ by 2, above the 1 allowed"),
        ({"scales": [1, 1]}, "6 entries"),
        ({"scales": [1, 1, -1, 1, 1, 0]}, r"options.scales\[3\]"),
        ({"strategy": [[1, 2]]}, "6 numbers"),
        ({"strategy": [[1, 2, 3, "x", 5, 6]]}, "finite numbers"),
        ({"strategy": [[0.1234567891, 2, 3, 4, 5, 6]]}, "common fraction"),
        ({"strategy": "suffix"}, "options.strategy"),
        ({"metric": "sensitive"}, "domain.sensitive"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(options: dict, message: str) -> None:
    with pytest.raises(SpecificationError, match=message) as caught:
        survey(**options)
    assert "\n" not in str(caught.value)


def test_strategy_and_metric_may_stand_in_files(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1, 0, 0\n1, 1, 0\n1, 1, 1\n")
    (tmp_path / "distances.csv").write_text("0, 1, 2\n1, 0, 1\n2, 1, 0\n")
    (tmp_path / "survey.toml").write_text(
        'name = "files"\nmechanism = "matrix"\nepsilon = 1.0\n[domain]\nkind = "ordinal"\nsize = 3\n'
        '[options]\nstrategy = "rows.csv"\nmetric = "distances.csv"\n'
    )
    given = load(tmp_path / "survey.toml").mechanism
    built_in = survey(1.0, {"kind": "ordinal", "size": 3})
    np.testing.assert_array_equal(given.numerators, built_in.numerators)
    np.testing.assert_allclose(given.covariance, built_in.covariance, atol=1e-12)


def test_axes_are_needed_one_by_one() -> None:
    grid = {"kind": "grid", "sizes": [2, 3]}
    with pytest.raises(SpecificationError, match="one axis"):
        survey(1.0, grid)
    with pytest.raises(SpecificationError, match="one axis"):
        survey(1.0, grid, strategy="identity", workload="ranges")
