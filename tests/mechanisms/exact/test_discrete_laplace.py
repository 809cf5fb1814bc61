"""Discrete Laplace noise: exact boundaries, the right distribution, the claimed ratio for every shift."""

from fractions import Fraction
from math import cosh

import numpy as np
import pytest
from scipy import stats

from hearsay.mechanisms.exact.discrete_laplace import DiscreteLaplace, limit_for, variance
from hearsay.mechanisms.exact.randomness import WORD, Random, Words, secure, seeded


class Scripted(Random):
    """Words as told, then from a seed."""

    def __init__(self, script: list[int]) -> None:
        self._script, self._rest = list(script), seeded(1)

    def words(self, count: int) -> Words:
        told, self._script = self._script[:count], self._script[count:]
        return np.concatenate([np.array(told, dtype=np.uint64), self._rest.words(count - len(told))])


def tail(rate: Fraction, k: int) -> Fraction:
    """P(Z <= -k) from 90 terms of the exponential series in exact rational arithmetic."""

    def exponential(x: Fraction) -> Fraction:
        total, term = Fraction(1), Fraction(1)
        for index in range(1, 90):
            term = term * x / index
            total += term
        return total

    return 1 / exponential(rate) ** k / (1 + 1 / exponential(rate))


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(3, 1024), Fraction(7, 3), Fraction(5)])
def test_boundaries_are_the_exact_first_64_bits(rate: Fraction) -> None:
    noise = DiscreteLaplace(rate, 8)
    for k in range(1, 9):
        exact = tail(rate, k)
        assert int(noise._boundaries[8 - k]) == int(exact * WORD)
        assert int(noise._boundaries[7 + k]) == int((1 - exact) * WORD)


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 10), Fraction(2)])
def test_draws_follow_the_distribution(rate: Fraction) -> None:
    noise = DiscreteLaplace(rate, 12)
    count = 400_000
    for random in (seeded(5), secure()):
        drawn = noise.draw(random, count)
        expected = noise.probabilities() * count
        seen = np.bincount(drawn + 12, minlength=25)
        kept = expected > 5
        assert seen[~kept].sum() <= 60
        statistic = ((seen[kept] - expected[kept]) ** 2 / expected[kept]).sum()
        assert stats.chi2.sf(statistic, kept.sum() - 1) > 1e-6


def test_variance_is_that_of_the_lattice() -> None:
    for rate in (0.01, 0.5, 2.0):
        assert variance(np.array(rate)) == pytest.approx(1 / (cosh(rate) - 1), rel=1e-10)
    noise = DiscreteLaplace(Fraction(1, 2), 200)
    values = np.arange(-200, 201)
    assert (noise.probabilities() * values**2).sum() == pytest.approx(float(variance(np.array(0.5))), rel=1e-9)


@pytest.mark.parametrize("shift", [1, 2, 3, 7, 20])
def test_every_shift_keeps_the_ratio_after_clamping(shift: int) -> None:
    """Values 0 and `shift`, noise added, the sum clamped to -30..30+shift."""
    rate = Fraction(3, 8)
    limit = 30 + shift
    noise = DiscreteLaplace(rate, limit)
    outputs = np.arange(-30, limit + 1)

    def channel(value: int) -> np.ndarray:
        places = np.clip(value + np.arange(-limit, limit + 1), -30, limit) + 30
        return np.bincount(places, weights=noise.probabilities(), minlength=outputs.size)

    ratio = np.abs(np.log(channel(0) / channel(shift)))
    assert ratio.max() <= float(rate) * shift * (1 + 1e-9)
    assert ratio.max() == pytest.approx(float(rate) * shift, rel=1e-9)
    # The integers that are really compared keep it as well, up to the last of their 64 bits.
    masses = np.diff([0, *map(int, noise._boundaries), WORD]).astype(float)
    inner = masses[1:-1]
    np.testing.assert_allclose(np.abs(np.log(inner[1:] / inner[:-1])), float(rate), atol=1e-9)


def test_a_word_that_equals_a_boundary_takes_more_digits() -> None:
    noise = DiscreteLaplace(Fraction(1, 2), 6)
    boundary = int(noise._boundaries[3])
    finer = noise._distribution(128)[3] & (WORD - 1)
    assert noise.draw(Scripted([boundary, finer - 1]), 1)[0] == 3 - 6
    assert noise.draw(Scripted([boundary, finer + 1]), 1)[0] == 4 - 6
    finest = noise._distribution(192)[3] & (WORD - 1)
    assert noise.draw(Scripted([boundary, finer, finest - 1]), 1)[0] == 3 - 6
    assert noise.draw(Scripted([boundary, finer, finest + 1]), 1)[0] == 4 - 6


def test_tails_beyond_64_bits_are_settled_too() -> None:
    """Deep in the tail several boundaries share their first 64 bits (all zero)."""
    noise = DiscreteLaplace(Fraction(10), 8)
    assert noise._boundaries[0] == noise._boundaries[1] == 0
    third = noise._distribution(128)
    assert noise.draw(Scripted([0, third[1] + 1]), 1)[0] == 2 - 8
    assert noise.draw(Scripted([0, third[0] - 1]), 1)[0] == -8


def test_limits_keep_the_bias_small() -> None:
    for rate in (0.05, 0.5, 3.0):
        limit = limit_for(rate, 1e-9)
        a = np.exp(-rate)
        assert a ** (limit + 1) / (1 - a * a) <= 1e-9
        assert limit == 1 or a**limit / (1 - a * a) > 1e-9 * 0.999
