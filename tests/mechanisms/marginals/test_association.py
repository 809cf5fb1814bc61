"""The test of independence: its formula, its level and power, the naive test's failure; and mutual information."""

import numpy as np
import pytest
from scipy import stats

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Z95, Floats
from hearsay.mechanisms.marginals.analyses.association import Association, associate
from hearsay.mechanisms.marginals.analyses.correlation import coefficient, correlation, cramers_v
from hearsay.mechanisms.marginals.analyses.dependence import interval, inward_distance, project_rows
from hearsay.mechanisms.marginals.analyses.information import measured_information, mutual_information
from hearsay.mechanisms.marginals.methods.inp_ht import InpHT
from hearsay.mechanisms.marginals.methods.marg_views import MargPS
from hearsay.mechanisms.marginals.table import Table
from tests.mechanisms.marginals.shared import Surveys, independent, make

DEVICES = 1 << 18
EIGHT = (2,) * 8
HALF_AND_THIRD = [(0.5, 0.5), (0.7, 0.3)] * 4


def with_correlation(phi: float) -> Floats:
    """Eight attributes, the first two with shares 0.5 and 0.3 and this correlation."""
    surplus = phi * np.sqrt(0.5 * 0.5 * 0.3 * 0.7)
    pair = np.outer([0.5, 0.5], [0.7, 0.3]) + surplus * np.array([[1, -1], [-1, 1]])
    return np.kron(pair.reshape(-1), independent((2,) * 6, HALF_AND_THIRD[2:]))


def rejected(surveys: Surveys, count: int, pair: tuple[int, int] = (0, 1)) -> tuple[float, float]:
    """How often the test and the naive one reject at 5%."""
    found = [associate(surveys.estimate(DEVICES).table(pair)) for _ in range(count)]
    return float(np.mean([a.p_value < 0.05 for a in found])), float(np.mean([a.naive_p_value < 0.05 for a in found]))


def test_two_binary_attributes_have_the_closed_form() -> None:
    """delta^2/V with V = v12 + theta1^2 v2 + theta2^2 v1 - v1 v2 where characters are independent."""
    mechanism = make(InpHT, EIGHT, 2, 1.1, weights="uniform", t=1)
    estimate = Surveys(mechanism, with_correlation(0.1), 3).estimate(DEVICES)
    table = estimate.table((0, 1))
    theta2, theta1, theta12 = estimate.code.to_characters((0, 1), table.value)[1:]
    signs = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    spread = signs @ table.covariance @ signs.T
    _, v2, v1, v12 = np.diag(spread)
    np.testing.assert_allclose(spread - np.diag(np.diag(spread)), 0.0, atol=1e-12)
    expected = (theta12 - theta1 * theta2) ** 2 / (v12 + theta1**2 * v2 + theta2**2 * v1 - v1 * v2)
    found = associate(table)
    assert found.statistic == pytest.approx(expected, rel=1e-9)
    assert found.degrees == 1
    assert found.p_value == pytest.approx(stats.chi2.sf(expected, 1), rel=1e-9)


@pytest.mark.parametrize("options", [{"weights": "uniform", "t": 1}, {}], ids=["t = 1", "default"])
def test_level_is_held_where_the_naive_test_does_not(options: dict) -> None:
    surveys = Surveys(make(InpHT, EIGHT, 2, 1.1, **options), independent(EIGHT, HALF_AND_THIRD), 7)
    ours, naive = rejected(surveys, 1_000)
    low, high = stats.binom.ppf([0.5e-6, 1 - 0.5e-6], 1_000, 0.05) / 1_000
    assert low <= ours <= high
    assert naive > 0.75


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"weights": "uniform", "t": 1}, {}], ids=["t = 1", "default"])
def test_level_over_five_thousand_surveys(options: dict) -> None:
    surveys = Surveys(make(InpHT, EIGHT, 2, 1.1, **options), independent(EIGHT, HALF_AND_THIRD), 8)
    ours, naive = rejected(surveys, 5_000)
    assert 0.035 <= ours <= 0.065
    assert naive > 0.85


@pytest.mark.slow
def test_power_is_that_of_the_normal_limit() -> None:
    mechanism = make(InpHT, EIGHT, 2, 1.1, weights="uniform", t=1)
    for phi, expected in ((0.05, 0.42), (0.1, 0.94)):
        power, _ = rejected(Surveys(mechanism, with_correlation(phi), 9), 2_000)
        assert power == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("surveys", [300, pytest.param(3_000, marks=pytest.mark.slow)])
def test_tables_of_many_cells_hold_their_level(surveys: int) -> None:
    sizes = (5, 7)
    shares = independent(sizes, [(0.3, 0.25, 0.2, 0.15, 0.1), (0.3, 0.2, 0.15, 0.12, 0.1, 0.08, 0.05)])
    drawn = Surveys(make(InpHT, sizes, 2, 1.1), shares, 4)
    found = [associate(drawn.estimate(200_000).table((0, 1))) for _ in range(surveys)]
    assert {one.degrees for one in found} == {24}
    level = float(np.mean([one.p_value < 0.05 for one in found]))
    low, high = stats.binom.ppf([0.5e-6, 1 - 0.5e-6], surveys, 0.054) / surveys
    assert low <= level <= high


def test_weak_main_effects_are_simulated() -> None:
    surveys = Surveys(make(MargPS, (2,) * 4, 2, 0.3), independent((2,) * 4, HALF_AND_THIRD[:4]), 5)
    found = [associate(surveys.estimate(400).table((0, 1))) for _ in range(40)]
    assert all(one.simulated for one in found)
    assert np.mean([one.p_value < 0.05 for one in found]) < 0.3


def test_tests_need_two_attributes() -> None:
    table = Table((0,), (2,), 100, np.array([0.4, 0.6]), np.eye(2) / 1e4)
    with pytest.raises(QueryError, match="two attributes"):
        associate(table)


def test_mutual_information_of_known_tables() -> None:
    even = np.full((2, 2), 0.25)
    same = np.array([[0.5, 0.0], [0.0, 0.5]])
    np.testing.assert_allclose(mutual_information(np.stack([even, same])), [0.0, np.log(2)], atol=1e-15)


def test_rows_are_projected_as_vectors_are() -> None:
    from hearsay.mechanisms.estimates.postprocess import project

    rows = np.random.default_rng(1).normal(0.2, 0.4, (50, 6))
    np.testing.assert_allclose(project_rows(rows), [project(row) for row in rows], atol=1e-14)


@pytest.mark.parametrize("surveys", [120, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("phi", [0.0, 0.05, 0.1, 0.3, 0.6])
def test_interval_of_information_covers(phi: float, surveys: int) -> None:
    drawn = Surveys(make(InpHT, EIGHT, 2, 1.1), with_correlation(phi), 6)
    true = float(mutual_information(with_correlation(phi).reshape(4, 64).sum(axis=1).reshape(2, 2)))
    found = [measured_information(drawn.estimate(DEVICES).table((0, 1))) for _ in range(surveys)]
    covered = int(sum(one.low - 1e-12 <= true <= one.high + 1e-12 for one in found))
    assert covered >= stats.binom.ppf(1e-6, surveys, 0.91)
    if surveys >= 1_000:
        assert covered >= 0.9 * surveys


def diagonal(sizes: tuple[int, int], strength: float) -> Floats:
    """Even shares, mixed with as much of a table that has everybody on its diagonal."""
    least = min(sizes)
    alike = np.zeros(sizes)
    alike[range(least), range(least)] = 1 / least
    return ((1 - strength) / np.prod(sizes) + strength * alike).reshape(-1)


@pytest.mark.parametrize("surveys", [40, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("sizes", "strength"), [((3, 4), 0.0), ((3, 4), 0.05), ((5, 6), 0.1), ((5, 6), 0.3)])
def test_intervals_of_larger_tables_cover(sizes: tuple[int, int], strength: float, surveys: int) -> None:
    """Noise makes measures of dependence look larger than they are, the more so the more cells there are."""
    shares = diagonal(sizes, strength)
    drawn = Surveys(make(InpHT, sizes, 2, 1.1), shares, 3)
    true = float(mutual_information(shares.reshape(sizes))), coefficient(shares, sizes)
    covered = np.zeros(2)
    for _ in range(surveys):
        table = drawn.estimate(20_000).table((0, 1))
        for place, found in enumerate((measured_information(table), correlation(table))):
            covered[place] += found.low - 1e-12 <= true[place] <= found.high
            assert 0 <= found.low <= found.value <= found.high
    assert (covered >= stats.binom.ppf(1e-6, surveys, 0.93)).all()
    if surveys >= 400:
        assert (covered >= 0.9 * surveys).all()


def test_the_distance_towards_independence_is_that_of_a_normal_error_for_two_binary_attributes() -> None:
    def test(statistic: float, degrees: int) -> Association:
        return Association(statistic, degrees, float(stats.chi2.sf(statistic, degrees)), 0.0, 1.0, simulated=False)

    for statistic in (5.0, 100.0, 1e6):
        assert inward_distance(test(statistic, 1)) == pytest.approx(1.96, abs=1e-3)
    assert inward_distance(test(3.0, 4)) == np.inf  # all the way
    assert inward_distance(test(899.9, 12)) == pytest.approx(inward_distance(test(900.1, 12)), rel=1e-2)


def test_a_coefficient_stays_where_coefficients_are() -> None:
    few = Surveys(make(InpHT, (2, 2), 2, 1.1), np.array([0.4, 0.1, 0.1, 0.4]), 3)
    for _ in range(50):
        found = correlation(few.estimate(60).table((0, 1)))
        assert np.isnan(found.value) or -1 <= found.low <= found.high <= 1


def test_the_standard_error_of_cramers_v_is_at_most_what_its_interval_says() -> None:
    rare = np.array([0.3, 0.3, -0.01, 0.2, 0.2, 0.01])  # hardly anybody has the last value: V divides by its share
    value, stderr, low, high = correlation(Table((0, 1), (2, 3), 10_000, rare, 0.0004 * np.eye(6)))
    assert (low, high) == (0.0, pytest.approx(0.2505, abs=0.001))
    assert Z95 * stderr <= max(value - low, high - value)
    common = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.2])  # first order says less, and is kept
    value, stderr, low, high = correlation(Table((0, 1), (2, 3), 10_000, common, 0.0004 * np.eye(6)))
    assert stderr == pytest.approx((high - low) / (2 * Z95), rel=0.2)
    assert stderr < max(value - low, high - value) / Z95


def test_cramers_v_of_known_tables() -> None:
    tables = np.stack([np.full((2, 3), 1 / 6), np.array([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]])])
    np.testing.assert_allclose(cramers_v(tables), [0.0, 1.0], atol=1e-12)
    assert np.isnan(coefficient(np.array([0.5, 0.5, 0.0, 0.0, 0.0, 0.0]), (2, 3)))


def test_the_interval_is_the_same_whatever_eigenvectors_a_processor_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table((0, 1), (2, 3), 10_000, np.array([0.4, 0.05, 0.05, 0.05, 0.05, 0.4]), 0.001 * np.eye(6))
    value, test = float(mutual_information(table.value.reshape(2, 3))), associate(table)
    once = interval(table, mutual_information, value, test)
    turned, _ = np.linalg.qr(np.random.default_rng(5).standard_normal((6, 6)))
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: (np.diag(matrix), turned))
    assert interval(table, mutual_information, value, test) == pytest.approx(once, rel=1e-9)
