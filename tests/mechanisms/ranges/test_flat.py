"""The flat mechanism: exact range variances for every oracle, and what is known."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.errors import QueryError
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
