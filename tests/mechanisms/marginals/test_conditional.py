"""Conditional shares and correlations: values, and intervals that cover."""

import numpy as np
import pytest
from scipy import stats

from hearsay.mechanisms.marginals.analyses.conditional import conditional, fieller
from hearsay.mechanisms.marginals.analyses.correlation import coefficient, correlation
from hearsay.mechanisms.marginals.methods.inp_ht import InpHT
from hearsay.mechanisms.marginals.table import Table
from tests.mechanisms.marginals.shared import Surveys, make, summed, uneven


def test_shares_within_what_is_given() -> None:
    value = np.array([0.1, 0.2, 0.3, 0.25, 0.1, 0.05])
    table = Table((0, 1), (2, 3), 1000, value, np.eye(6) * 1e-6)
    np.testing.assert_allclose(conditional(table, (0,)).value, (value.reshape(2, 3) / [[0.6], [0.4]]).reshape(-1))
    np.testing.assert_allclose(conditional(table, (1,)).value, (value.reshape(2, 3) / [[0.35, 0.3, 0.35]]).reshape(-1))


def test_fieller_is_everything_where_nobody_is_left() -> None:
    one = np.ones(1)
    found = fieller(0.01 * one, 0.02 * one, 1e-3 * one, 5e-4 * one, 1e-3 * one)
    assert (found.low[0], found.high[0]) == (0.0, 1.0)
    negative = fieller(0.01 * one, -0.02 * one, 1e-5 * one, 0 * one, 1e-5 * one)
    assert np.isnan(negative.value[0])
    assert (negative.low[0], negative.high[0]) == (0.0, 1.0)


@pytest.mark.parametrize("surveys", [300, pytest.param(2_000, marks=pytest.mark.slow)])
def test_intervals_cover(surveys: int) -> None:
    """Shares of a population: its sampling is small beside the noise, so the interval for these devices covers it."""
    sizes = (2, 3, 2)
    shares = uneven(sizes, 5)
    drawn = Surveys(make(InpHT, sizes, 2, 1.1), shares, 3)
    truth = summed(shares, sizes, (1, 0)).reshape(3, 2)
    truth = (truth / truth.sum(axis=1, keepdims=True)).reshape(-1)
    found = [conditional(drawn.estimate(100_000).table((1, 0)), (0,)) for _ in range(surveys)]
    covered = np.array([(one.low <= truth) & (truth <= one.high) for one in found]).sum(axis=0)
    assert (covered >= stats.binom.ppf(1e-7, surveys, 0.94)).all()


def test_pearson_s_coefficient_is_that_of_the_values() -> None:
    generator = np.random.default_rng(3)
    one = generator.integers(0, 2, 5000)
    other = np.where(generator.random(5000) < 0.3, generator.integers(0, 2, 5000), one)
    cells = np.bincount(one * 2 + other, minlength=4) / 5000
    assert coefficient(cells, (2, 2)) == pytest.approx(np.corrcoef(one, other)[0, 1])
    table = stats.contingency.crosstab(one, other).count
    assert coefficient(cells, (2, 2)) == pytest.approx(stats.contingency.association(table, method="cramer"))
    assert coefficient(np.full(6, 1 / 6), (2, 3)) == pytest.approx(0.0)
    assert np.isnan(coefficient(np.array([0.5, 0.5, 0.0, 0.0]), (2, 2)))


def test_standard_error_of_a_correlation() -> None:
    sizes = (2, 2, 2)
    shares = uneven(sizes, 2)
    drawn = Surveys(make(InpHT, sizes, 2, 1.1), shares, 4)
    found = np.array([correlation(drawn.estimate(200_000).table((0, 1))) for _ in range(400)])
    truth = coefficient(summed(shares, sizes, (0, 1)), (2, 2))
    error = found[:, 0] - truth
    assert abs(error.mean()) < 5 * error.std() / 20
    assert error.std() == pytest.approx(found[:, 1].mean(), rel=0.2)
