"""Local hashing with any share of the buckets: its variance against oue's, its law, its two states."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.oracles.covering_hashing import CoveringOLH
from hearsay.mechanisms.oracles.linear_hashing import OLH
from hearsay.mechanisms.oracles.oracle import oracle_over

BOUND = stats.norm.isf(0.5e-6)


def hashing(size: int, epsilon: float, **options: Any) -> CoveringOLH:
    domain = {"kind": "categorical", "size": size}
    made = build({"mechanism": "olh", "epsilon": epsilon, "domain": domain, "options": options})
    assert isinstance(made, CoveringOLH)
    return made


@pytest.mark.parametrize("size", [2, 3, 5, 7, 16, 17, 100, 255, 257, 1000, 5000, 1 << 16, 1 << 20, 1 << 28])
def test_the_variance_is_never_more_than_three_per_cent_above_oue_s(size: int) -> None:
    """Also at those epsilons where two powers of two are equally good, which is where they are worst."""
    worst = [np.log(np.sqrt((2.0**t - 1) * (2.0 ** (t + 1) - 1))) for t in range(1, 14)]
    for epsilon in [*np.arange(0.2, 10.01, 0.1), *worst]:
        mechanism = hashing(size, float(epsilon))
        e, shares = np.exp(epsilon), np.array([0.0, 1 / size])
        oue = 4 * e / (e - 1) ** 2 + shares
        assert (mechanism.moments.variance(shares) <= 1.03 * oue).all(), epsilon


def test_the_plain_form_is_kept_where_it_is_good_and_wherever_it_is_a_part() -> None:
    assert hashing(1000, 1.1).canonical_options() == {"t": 2, "variant": "hashing"}
    assert hashing(1000, 1.5).named > 1
    assert "named" not in hashing(1000, 8.0, t=8).canonical_options()
    assert type(oracle_over("olh", 1000, 8.0)) is OLH
    plain = OLH.over(1000, 1.1)
    made, cells = hashing(1000, 1.1), np.arange(5000) % 1000
    for name, column in plain.perturb(cells, seeded(1)).items():
        np.testing.assert_array_equal(made.perturb(cells, seeded(1))[name], column)


CASES = [
    (20, 0.5, {"t": 3, "named": 3}),
    (20, 1.5, {"t": 4, "named": 3}),
    (700, 1.5, {}),
    (2000, 6.5, {}),
    (600, 6.0, {"t": 9, "named": 2}),
]


@pytest.mark.parametrize(("size", "epsilon", "options"), CASES)
def test_points_and_sums_have_the_variance_that_moments_say(size: int, epsilon: float, options: dict[str, Any]) -> None:
    mechanism = hashing(size, epsilon, **options)
    runs, n = 300, 400
    random, cells = seeded(4), np.arange(n) % 3
    weights = np.zeros(size)
    weights[[0, 1, 4]] = 1.0, 2.0, -1.0
    f = np.bincount(cells, minlength=size) / n
    found = []
    for _ in range(runs):
        state = mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random))
        shares = mechanism.shares(state, own_counts=False)
        found.append([shares[0], shares[5], weights @ shares])
    points = mechanism.moments.variance(f)
    expected = np.array([points[0], points[5], mechanism.moments.weighted(weights, f)]) / n
    truth = np.array([f[0], f[5], weights @ f])
    assert (np.abs(np.mean(found, axis=0) - truth) < BOUND * np.sqrt(expected / runs)).all()
    ratio = np.var(found, axis=0, ddof=1) / expected
    assert (np.abs(ratio - 1) < 6 * np.sqrt(2 / runs)).all()  # a little more than normal noise needs: scores are skewed


def test_named_values_are_those_whose_bucket_is_named() -> None:
    mechanism = hashing(1500, 6.0, t=9, named=3)
    assert mechanism.counts_values
    reports = mechanism.perturb(np.arange(40), seeded(2))
    named = mechanism.fold(mechanism.empty(), reports)["named"]
    expected = np.zeros(mechanism.characters, dtype=np.int64)
    values = np.arange(mechanism.characters, dtype=np.uint32)
    for vector, bucket in zip(reports["vector"], reports["bucket"], strict=True):
        hashed = mechanism.hashed(np.full(values.size, vector + 1, dtype=np.uint32), values)
        expected += (hashed ^ bucket) < 3
    np.testing.assert_array_equal(named, expected)


@pytest.mark.parametrize(
    ("size", "epsilon", "options"),
    [(6, 0.5, {"t": 3, "named": 3}), (13, 1.5, {"t": 4, "named": 3}), (5, 1.0, {"t": 3, "named": 2})],
)
def test_the_channel_spends_no_more_than_epsilon_and_is_the_one_drawn_from(
    size: int, epsilon: float, options: dict[str, Any]
) -> None:
    mechanism = hashing(size, epsilon, **options)
    channel = mechanism.channel()
    np.testing.assert_allclose(channel.sum(axis=1), 1.0)
    assert np.log((channel.max(axis=0) / channel.min(axis=0)).max()) <= epsilon
    assert mechanism.spent_epsilon == pytest.approx(epsilon, abs=1e-12)
    draws = 100_000
    reports = mechanism.perturb(np.full(draws, 2), seeded(3))
    number = reports["vector"].astype(np.int64) * mechanism.buckets + reports["bucket"]
    counts = np.bincount(number, minlength=channel.shape[1])
    assert stats.chisquare(counts, draws * channel[2]).pvalue > 1e-6


def test_intervals_hold() -> None:
    """Own counts too: with 20,000 reports of 20 cells every character is seen often."""
    mechanism, n, runs = hashing(20, 0.5, t=3, named=3), 20_000, 60
    assert mechanism.named > 1
    cells = np.minimum(np.arange(n) % 40, 19)
    truth, random, inside = np.bincount(cells, minlength=20) / n, seeded(5), 0
    for _ in range(runs):
        found = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random)))
        inside += int((np.abs(found.estimate - truth) < 1.96 * np.asarray(found.stderr)).sum())
    assert abs(inside / (20 * runs) - 0.95) < BOUND * np.sqrt(0.95 * 0.05 / (20 * runs)) * 1.5


@pytest.mark.parametrize(
    "options", [{"named": 2}, {"t": 2, "named": 3}, {"t": 9, "variant": "coefficients"}, {"t": 16}]
)
def test_what_a_survey_may_not_say(options: dict[str, Any]) -> None:
    with pytest.raises(Exception, match="options"):
        hashing(1000, 1.0, **options)
