"""The Haar mechanism: its exact variances, what is known without noise, and its errors."""

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.hadamard import walsh_hadamard
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.ranges.haar.estimate import HaarEstimate, HaarLevel


def haar(size: int, epsilon: float = 1.1) -> Mechanism:
    return build({"mechanism": "haar", "epsilon": epsilon, "domain": {"kind": "ordinal", "size": size}})


def folded(mechanism: Mechanism, cells: np.ndarray, seed: int = 1) -> dict:
    return mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(seed)))


def test_arrays_are_named_by_level_from_fine_to_coarse() -> None:
    assert haar(8).arrays == {
        "1/sum": (4,), "1/count": (4,), "2/sum": (2,), "2/count": (2,), "3/sum": (1,), "3/count": (1,),
    }  # fmt: skip


def test_without_noise_every_cell_is_rebuilt() -> None:
    mechanism = haar(16, epsilon=50.0)
    cells = np.repeat(np.arange(16), np.arange(16) * 2_000)
    result = mechanism.estimate(folded(mechanism, cells))
    np.testing.assert_allclose(result.estimate, np.bincount(cells, minlength=16) / cells.size, atol=0.01)


@pytest.mark.parametrize(("size", "reports"), [(16, 40_000), (16, 200), (11, 40_000)])
def test_variances_are_those_of_the_formula(size: int, reports: int) -> None:
    """The variance of docs/explanation/ranges.md with the whole transform of the coefficients, for both norms."""
    mechanism = haar(size)
    cells = np.minimum(np.random.default_rng(2).geometric(0.3, reports) - 1, size - 1)
    state = folded(mechanism, cells)
    result = mechanism.estimate(state)
    assert isinstance(result, HaarEstimate)
    x, y = np.triu_indices(size + 1, k=1)
    value, variance = result.answer(x, y)
    for low, high, share, found in zip(x, y, value, variance, strict=True):
        inside = np.zeros(16)
        inside[low : 16 if high == size else high] = 1.0
        held = np.clip(share, 0.0, 1.0)
        expected = -held * (1 - held) / reports
        for height, level in enumerate(result.levels, start=1):
            halves = inside.reshape(-1, 2, 1 << (height - 1)).sum(axis=2)
            coefficient = (halves[:, 0] - halves[:, 1]) / (1 << height)
            expected += level_variance(mechanism, coefficient, level, int(state[f"{height}/count"].sum()))
        assert found == pytest.approx(expected, abs=1e-12), (low, high)


def level_variance(mechanism: Mechanism, coefficient: np.ndarray, level: HaarLevel, n: int) -> float:
    K, c = coefficient.size, mechanism.correlation  # type: ignore[attr-defined]
    if n < 20 * K:
        assert level.explained is None
        square = (coefficient**2).sum()
        return (square / c**2 - least_mean(float(coefficient @ level.differences), square, c, n) ** 2) / n
    assert level.explained is not None
    w, once_more = walsh_hadamard(coefficient) / K, 1 + K / n
    theta_squared = walsh_hadamard(level.explained) * n / once_more
    return K * once_more / n * ((w**2).sum() / c**2 - (w**2 * theta_squared).sum())


def least_mean(mean: float, square: float, c: float, n: int) -> float:
    """The least m >= 0 with (|mean| - m)^2 <= 1.96^2 (square/c^2 - m^2)/n: what an estimate may be said to explain."""
    k = 1.96**2 / n
    low, _ = sorted(np.roots([1 + k, -2 * min(abs(mean), np.sqrt(square)), mean**2 - k * square / c**2]).real)
    return max(low, 0.0)


def test_what_reaches_the_end_of_a_padded_domain_is_known() -> None:
    mechanism = haar(11)
    result = mechanism.estimate(folded(mechanism, np.arange(11).repeat(50)))
    whole = result.ranges(np.array([[0]]), np.array([[10]]))
    assert whole.value[0] == 1.0
    assert whole.stderr[0] == 0.0
    suffix, prefix = result.ranges(np.array([[4]]), np.array([[10]])), result.prefixes(np.array([3]))
    assert suffix.value[0] == pytest.approx(1 - prefix.value[0])
    assert suffix.stderr[0] == pytest.approx(prefix.stderr[0])
    assert result.cdf().value[-1] == 1.0


@pytest.mark.parametrize("size", [8, 11])
def test_points_are_ranges_of_one_cell(size: int) -> None:
    mechanism = haar(size)
    result = mechanism.estimate(folded(mechanism, np.arange(size).repeat(300)))
    cells = np.arange(size)
    points, ranges = result.points(cells), result.ranges(cells[:, None], cells[:, None])
    np.testing.assert_allclose(points.value, ranges.value, atol=1e-12)
    np.testing.assert_allclose(points.stderr, ranges.stderr, atol=1e-12)


def test_no_reports_give_infinite_errors_and_no_warning() -> None:
    mechanism = haar(8)
    result = mechanism.estimate(mechanism.empty())
    assert result.reports == 0
    assert np.isinf(result.stderr).all()
    assert np.isfinite(result.estimate).all()


def test_bad_ranges_are_refused() -> None:
    mechanism = haar(8)
    result = mechanism.estimate(mechanism.empty())
    for low, high in [(5, 3), (-1, 3), (0, 8), (8, 8)]:
        with pytest.raises(QueryError, match="range must"):
            result.ranges(np.array([[low]]), np.array([[high]]))
    with pytest.raises(QueryError, match="quantile"):
        result.quantiles(np.array([0.5, 1.0]))


def test_one_report_of_every_kind_is_folded_into_its_own_place() -> None:
    mechanism = haar(16)
    state = mechanism.fold(mechanism.empty(), mechanism.layout.enumerate())
    for name, array in state.items():
        assert (array == (2 if name.endswith("count") else 0)).all(), name
