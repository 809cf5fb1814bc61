"""Bounds of the paper and advice on bins."""

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.metric.bounds import (
    advised_bins,
    cell_bound,
    range_bound,
    range_error,
    rank_bound,
    weighted_range_bound,
)


def test_bounds_in_the_setting_of_the_documentation() -> None:
    c = np.tanh(0.5)
    assert range_bound(c, 2, 1) == pytest.approx(10.46, abs=0.01)
    assert range_bound(c, 2, 2) == pytest.approx(5.23, abs=0.01)
    assert cell_bound(c, 2) == range_bound(c, 2, 2)
    assert weighted_range_bound(c, 1, 1, 3.0, private=False) == pytest.approx(9 * range_bound(c, 1, 1))
    assert weighted_range_bound(c, 1, 1, 3.0, private=True) == pytest.approx(9 * range_bound(c, 2, 2))


def test_quantiles_miss_their_rank_by_less_than_the_bound() -> None:
    mechanism = build({"mechanism": "metric-l1", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 256}})
    cells = np.clip(np.random.default_rng(2).normal(100, 30, 2_000).astype(int), 0, 255)
    cumulative = np.bincount(cells, minlength=256).cumsum() / cells.size
    bound = rank_bound(mechanism.correlations[0], 256, cells.size, delta=0.05)
    assert rank_bound(mechanism.correlations[0], 256, cells.size, anchored=False) == pytest.approx(2 * bound)
    ranks, misses = np.array([0.1, 0.5, 0.9]), 0
    for run in range(40):
        state = mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(run)))
        found = mechanism.estimate(state).quantiles(ranks).cell
        above = np.where(found > 0, cumulative[found - 1], 0.0)
        error = np.maximum(0, np.maximum(above - ranks, ranks - cumulative[found]))
        misses += int((error > bound).any())
    assert misses == 0  # the bound is far from tight


@pytest.mark.parametrize(
    ("epsilon", "length", "reports"), [(0.05, 100.0, 10_000), (1.0, 24.0, 1_000_000), (0.01, 5, 100)]
)
def test_advised_bins_have_the_least_error(epsilon: float, length: float, reports: int) -> None:
    best = advised_bins(epsilon, length, reports)
    errors = [range_error(epsilon, length, bins, reports) for bins in range(2, 4 * best + 10)]
    assert int(np.argmin(errors)) + 2 == best


def test_estimation_and_truncation_make_up_the_error() -> None:
    """Random ranges in continuous units on evenly spread values, against the formula."""
    bins, reports, epsilon = 8, 3_000, 0.2
    mechanism = build(
        {
            "mechanism": "metric-l1",
            "epsilon": epsilon,
            "domain": {"kind": "ordinal", "low": 0, "high": 40, "bins": bins},
        }
    )
    generator, squared = np.random.default_rng(5), []
    for run in range(300):
        values = generator.random(reports) * 40
        reported = mechanism.perturb(mechanism.domain.read({"value": values}), seeded(run))
        estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), reported))
        low, high = np.sort(7.5 + generator.random((40, 2)) * 25, axis=1).T  # ends that stay off the axis' own ends
        first, last = np.rint(low / 5).astype(int), np.rint(high / 5).astype(int) - 1
        kept = first <= last
        value = estimate.ranges(first[kept, None], last[kept, None]).value
        truth = [((values >= a) & (values < b)).mean() for a, b in zip(low[kept], high[kept], strict=True)]
        squared.append(((value - truth) ** 2).mean())
    assert np.sqrt(np.mean(squared)) == pytest.approx(range_error(epsilon, 40, bins, reports), rel=0.1)
