"""The flat mechanism: exact range variances for every oracle, and what is known."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.errors import QueryError, SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.ranges.flat import FlatEstimate
from hearsay.mechanisms.ranges.level_noise import LevelNoise


def flat(size: int, epsilon: float = 1.1, **options: Any) -> Mechanism:
    domain = {"kind": "ordinal", "size": size}
    return build({"mechanism": "flat", "epsilon": epsilon, "domain": domain, "options": options})


def estimated(mechanism: Mechanism, cells: np.ndarray) -> FlatEstimate:
    result = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(1))))
    assert isinstance(result, FlatEstimate)
    return result


@pytest.mark.parametrize("oracle", ["grr", "ss", "sue", "oue", "olh", "hrr"])
def test_range_variance_is_that_of_the_oracle(oracle: str) -> None:
    """Against `Moments.weighted`, where the oracle averages a score (few reports: no own counts)."""
    mechanism = flat(8, oracle=oracle)
    result = estimated(mechanism, np.arange(8))
    shares = np.full(8, 1 / 8)
    even = FlatEstimate(
        result.domain, 8, shares, shares, np.append(0.0, np.cumsum(shares)), result.noise._replace(pairs=0.0), ()
    )
    weights = np.array([0, 0, 1, 1, 1, 0, 0, 0], dtype=float)
    expected = mechanism.oracle.moments.weighted(weights, shares) / 8  # type: ignore[attr-defined]
    _, variance = even.answer(np.array([2]), np.array([5]))
    assert variance[0] == pytest.approx(expected, rel=1e-9)


def test_pairs_of_a_range_are_exact() -> None:
    generator = np.random.default_rng(2)
    mechanism = flat(16, oracle="hrr")
    shares = generator.dirichlet(np.full(16, 0.4))
    noise = LevelNoise(1.0, a=1e-15, b=0.0, c=0.0, d=0.0, mean=0.0, pairs=1e6)
    pairs = mechanism._pairs(shares, noise)  # type: ignore[attr-defined]
    even = FlatEstimate(mechanism.domain, 10, shares, shares, np.append(0.0, np.cumsum(shares)), noise, pairs)
    together = np.array([(shares * shares[np.arange(16) ^ x]).sum() for x in range(16)])
    x, y = np.triu_indices(17, k=1)
    found = even._paired(x, y, (y - x).astype(float))
    for low, high, value in zip(x, y, found, strict=True):
        inside = np.arange(low, high)
        assert value == pytest.approx(together[inside[:, None] ^ inside[None, :]].sum(), abs=1e-9), (low, high)


def test_the_whole_is_known_and_points_are_ranges() -> None:
    result = estimated(flat(10, oracle="oue"), np.arange(10).repeat(200))
    whole = result.ranges(np.array([[0]]), np.array([[9]]))
    assert (whole.value[0], whole.stderr[0]) == (1.0, 0.0)
    assert result.cdf().value[-1] == 1.0
    cells = np.arange(10)
    points, ranges = result.points(cells), result.ranges(cells[:, None], cells[:, None])
    np.testing.assert_allclose(points.value, ranges.value, atol=1e-12)
    np.testing.assert_allclose(points.stderr, ranges.stderr, rtol=1e-9)


def test_no_reports_and_bad_ranges() -> None:
    mechanism = flat(10)
    result = mechanism.estimate(mechanism.empty())
    assert np.isinf(result.stderr).all()
    with pytest.raises(QueryError, match="range must"):
        result.ranges(np.array([[3]]), np.array([[2]]))


@pytest.mark.parametrize("size", [64, 1_000, 1 << 16])
def test_where_olh_has_too_few_buckets_the_best_number_is_spelled_out(size: int) -> None:
    """With olh alone the variance at epsilon 8 was 3.4 times that of oue."""
    for epsilon in (0.2, 0.7, 1.1, 1.5, 3.0, 5.0, 6.0, 6.5, 7.0, 8.0, 9.0, 10.0):
        mechanism, e = flat(size, epsilon), np.exp(epsilon)
        oue = 4 * e / (e - 1) ** 2 + 1 / size
        assert mechanism.predicted_stderr(1)["point"] ** 2 <= (1.03 if epsilon > 6 else 1.08) * oue
        named = mechanism.canonical_options()
        assert flat(size, epsilon, **named).canonical_options() == named
        assert named["oracle"] == "olh" or epsilon > 6


def test_a_survey_that_says_olh_means_what_it_always_meant() -> None:
    mechanism = flat(1 << 16, 8.0, oracle="olh")
    assert mechanism.canonical_options() == {"oracle": "olh"}
    assert mechanism.layout.single.scalars[1].bound == 256
    assert set(mechanism.arrays) == {"sum", "count"}
    assert flat(1 << 16, 8.0).canonical_options() == {"oracle": "olh-11"}


@pytest.mark.parametrize(("size", "epsilon", "reports"), [(1_000, 8.0, 3_000), (1_000, 7.0, 15_000), (12, 0.7, 3_000)])
def test_numbered_hashes_are_unbiased_with_the_stated_errors(size: int, epsilon: float, reports: int) -> None:
    mechanism = flat(size, epsilon, **({"oracle": "olh-3-3"} if epsilon < 1 else {}))
    assert mechanism.canonical_options()["oracle"] != "olh"
    cells = np.minimum((np.random.default_rng(3).random(reports) ** 2 * size).astype(np.int64), size - 1)
    low, high = np.array([[0], [size // 10], [size // 3]]), np.array([[0], [size // 2], [size // 3 + 1]])
    truth = np.array([((cells >= first) & (cells <= last)).mean() for (first,), (last,) in zip(low, high, strict=True)])
    random, z = seeded(5), []
    for _ in range(150):
        found = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random)))
        seen = found.ranges(low, high)  # type: ignore[attr-defined]
        z.append((seen.value - truth) / seen.stderr)
    scores = np.array(z)
    assert np.abs(scores.mean(axis=0)).max() < 6 / np.sqrt(len(z))
    assert 0.55 < (scores**2).mean() < 1.45


@pytest.mark.parametrize("oracle", ["olh-0", "olh-99", "olh-3-5", "olh-3-", "oue-3", "hash", 3])
def test_an_oracle_that_is_none_is_refused(oracle: Any) -> None:
    with pytest.raises(SpecificationError, match="options"):
        flat(16, oracle=oracle)


def test_a_band_holds_where_the_rank_is_just_below_a_long_empty_stretch() -> None:
    """Errors add up along the stretch, and the upper limit of some cell there is too low: 83% held, 97.5% do now."""
    mechanism = flat(1023, 2.0)
    values, runs, held = np.repeat([1, 1021], [270, 30]), 400, 0
    random = seeded(3)
    for _ in range(runs):
        found: Any = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(values, random)))
        band = found.quantiles(np.array([0.898]))
        held += int(band.low[0] <= 1 <= band.high[0])
    assert held > 0.93 * runs


def test_what_own_counts_explain_is_not_taken_for_noise() -> None:
    """Everybody in one cell, hardly a coin flipped: intervals were 55 times as wide as the error."""
    mechanism, runs, n = flat(64, 10.0, oracle="hrr"), 40, 3_000
    low, high = np.array([[0], [10], [21]]), np.array([[30], [50], [21]])
    random, found = seeded(5), []
    for _ in range(runs):
        state = mechanism.fold(mechanism.empty(), mechanism.perturb(np.full(n, 21), random))
        found.append(mechanism.estimate(state).ranges(low, high))  # type: ignore[attr-defined]
    ends = [one.ends() for one in found]
    assert np.mean([(below <= 1) & (above >= 1) for below, above in ends]) > 0.95
    assert np.mean([above - below for below, above in ends]) < 2 * 1.96 * 4 / n  # four reports
