"""Draws are exact, and the secure source is what one gets without naming the seeded one."""

import itertools
import os
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hearsay.mechanisms.exact.randomness import WORD, Random, SecureRandom, SeededRandom, Words, secure, seeded

ONE_IN_A_MILLION = stats.norm.isf(0.5e-6)


class Scripted(Random):
    """Words given in advance, to look at the very edge of a threshold."""

    def __init__(self, *words: int) -> None:
        self._left = list(words)

    def words(self, count: int) -> Words:
        taken, self._left = self._left[:count], self._left[count:]
        return np.array(taken, dtype=np.uint64)


def test_a_coin_is_settled_by_its_first_eight_bits_and_a_tie_by_the_other_fifty_six() -> None:
    threshold = (5 << 56) + 7
    assert Scripted(4).bernoulli(threshold, 1)[0]
    assert not Scripted(6).bernoulli(threshold, 1)[0]
    assert Scripted(5, 6 << 8 | 0xFF).bernoulli(threshold, 1)[0]
    assert not Scripted(5, 7 << 8).bernoulli(threshold, 1)[0]
    assert not Scripted(5).bernoulli(5 << 56, 1)[0]


@pytest.mark.parametrize(("threshold", "certain"), [(0, False), (WORD, True)])
def test_certain_coins(threshold: int, certain: bool) -> None:
    assert (seeded(1).bernoulli(threshold, 1000) == certain).all()
    bits = np.unpackbits(seeded(1).bits(threshold, 9, 13), axis=1, bitorder="little")
    assert (bits[:, :13] == certain).all()
    assert not bits[:, 13:].any()


@pytest.mark.parametrize("wrong", [-1, WORD + 1])
def test_impossible_thresholds_are_refused(wrong: int) -> None:
    with pytest.raises(ValueError, match="threshold must be in"):
        seeded(1).bernoulli(wrong, 1)
    with pytest.raises(ValueError, match="threshold must be in"):
        seeded(1).bits(wrong, 1, 1)
    with pytest.raises(ValueError, match="bound must be in"):
        seeded(1).below(0, 1)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 1000), Fraction(3, 10), Fraction(999, 1000)])
@pytest.mark.parametrize("source", [seeded(5), secure()], ids=["seeded", "secure"])
def test_coins_come_up_as_often_as_their_threshold_says(source: Random, share: Fraction) -> None:
    count, threshold = 1 << 20, int(share * WORD)
    spread = ONE_IN_A_MILLION * np.sqrt(count * float(share * (1 - share)))
    assert abs(source.bernoulli(threshold, count).sum() - count * float(share)) < spread
    packed = source.bits(threshold, 1 << 10, 1 << 10)
    assert abs(np.bitwise_count(packed).sum(dtype=np.int64) - count * float(share)) < spread


def test_packed_coins_are_independent_of_their_neighbours_in_both_directions() -> None:
    share = 0.3
    bits = np.unpackbits(seeded(8).bits(int(share * WORD), 1024, 1024), axis=1, bitorder="little").astype(bool)
    for pairs in (bits[:, 1:] & bits[:, :-1], bits[1:] & bits[:-1], bits[:, 64:] & bits[:, :-64]):
        spread = ONE_IN_A_MILLION * np.sqrt(pairs.size * share**2)
        assert abs(pairs.sum() - pairs.size * share**2) < 2 * spread


def test_packed_coins_have_zero_padding() -> None:
    assert (seeded(2).bits(WORD // 2, 500, 11)[:, 1] < 8).all()


@pytest.mark.parametrize(
    "bound", [1, 2, 3, 255, 256, 257, 1000, 65_536, (1 << 24) - 1, (1 << 40) + 7, (1 << 63) + 1, WORD - 1, WORD]
)
def test_integers_below_a_bound_are_uniform(bound: int) -> None:
    count = 200_000
    drawn = seeded(bound % 1000).below(bound, count)
    assert drawn.dtype == np.uint64
    assert int(drawn.max()) < bound
    groups = min(bound, 50)
    edges = [Fraction(bound * group, groups) for group in range(groups + 1)]
    expected = np.array([-(-high // 1) - -(-low // 1) for low, high in itertools.pairwise(edges)], dtype=float)
    firsts = np.array([int(-(-edge // 1)) for edge in edges[1:-1]], dtype=np.uint64)
    seen = np.bincount(np.searchsorted(firsts, drawn, side="right"), minlength=groups)
    expected *= count / bound
    assert stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), max(groups - 1, 1)) > 1e-6


def test_refused_draws_are_drawn_again() -> None:
    # Three does not divide 2^8: the value 255 is refused, the next word is asked.
    assert Scripted(0xFF, 0x04).below(3, 1)[0] == 1


def test_integers_below_bounds_of_their_own_are_uniform() -> None:
    bounds = np.tile([1, 2, 3, 7, 1000], 40_000)
    drawn = seeded(3).below_each(bounds)
    assert (drawn < bounds).all()
    for bound in (2, 3, 7):
        counts = np.bincount(drawn[bounds == bound], minlength=bound)
        expected = 40_000 / bound
        assert (np.abs(counts - expected) < 6 * np.sqrt(expected)).all()


def test_draws_that_would_come_too_often_are_drawn_again_below_each_bound() -> None:
    bound = 3 << 61  # 2^64 holds it twice, and two thirds of it more
    last = 2 * bound - 1
    assert Scripted(last, last + 1, WORD - 1, bound + 5).below_each(np.array([bound, bound])).tolist() == [bound - 1, 5]
    assert Scripted(WORD - 1).below_each(np.array([8])).tolist() == [7]  # a power of two refuses nothing


def test_choices_follow_their_cumulative_thresholds() -> None:
    shares = np.array([0.1, 0.0, 0.65, 0.25])
    thresholds = np.array([int(share * WORD) for share in np.cumsum(shares)[:-1]], dtype=np.uint64)
    seen = np.bincount(seeded(3).choose(thresholds, 100_000), minlength=4)
    assert seen[1] == 0
    expected = shares[[0, 2, 3]] * 100_000
    assert stats.chi2.sf(((seen[[0, 2, 3]] - expected) ** 2 / expected).sum(), 2) > 1e-6
    edge = Scripted(int(thresholds[0]) - 1, int(thresholds[0]))
    assert edge.choose(thresholds, 2).tolist() == [0, 2]


class Coarse(SeededRandom):
    """Short random numbers that are 0 or 1: most things tie, and words must settle their order."""

    def lanes(self, width: int, count: int) -> Words:
        return super().lanes(width, count) & np.uint16(1)


@pytest.mark.parametrize("source", [seeded(3), secure(), Coarse(4)], ids=["seeded", "secure", "ties"])
def test_every_order_is_as_likely(source: Random) -> None:
    """A chi-square of the 24 orders of four things; 23 degrees of freedom, above 80 less than once in 10^7 runs."""
    draws = 12_000
    counts = dict.fromkeys(itertools.permutations(range(4)), 0)
    for _ in range(draws):
        counts[tuple(source.order(4).tolist())] += 1
    assert sum((count - draws / 24) ** 2 / (draws / 24) for count in counts.values()) < 80


@pytest.mark.parametrize("count", [0, 1, 2, 100_000])
def test_an_order_has_everything_once(count: int) -> None:
    assert (np.sort(seeded(1).order(count)) == np.arange(count)).all()


def test_the_secure_source_asks_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(count: int) -> bytes:
        asked.append(count)
        return bytes(range(count))

    monkeypatch.setattr(os, "urandom", answer)
    source = secure()
    assert isinstance(source, SecureRandom)
    assert not isinstance(source, SeededRandom)
    assert source.words(2).view(np.uint8).tolist() == list(range(16))
    assert asked == [16]


def test_only_the_seeded_source_repeats_itself() -> None:
    np.testing.assert_array_equal(seeded(4).words(10), seeded(4).words(10))
    assert (seeded(4).words(10) != seeded(5).words(10)).all()
    assert (secure().words(10) != secure().words(10)).all()
