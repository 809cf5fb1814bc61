"""Randomness for devices: exact, integer, and by default from the operating system.

Every draw compares unsigned integers with an exact integer threshold out of 2^64; no float is ever compared with a
float, so the probabilities that the privacy argument uses are the probabilities that the device spends.

`secure()` is what a device uses. `seeded(n)` repeats itself and is only for simulation and tests.
"""

import hashlib
import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = 1 << 64
Words = NDArray[np.uint64]
_TOP_BIT_FIRST = range(63, -1, -1)
_WHOLE_DIGITS_END = 58  # after six digits one byte in eight has an unsettled coin: only these go on
_WORDS_AT_ONCE = 1 << 14  # a draw of many coins stays in the processor's cache


class Random(ABC):
    """A source of independent uniform 64-bit words, and the exact draws made from them."""

    @abstractmethod
    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit words."""

    def lanes(self, width: int, count: int) -> NDArray[Any]:
        """`count` independent uniform integers of 8, 16, 32 or 64 bits, cut from words."""
        per_word = 64 // width
        return self.words(-(-count // per_word)).view(f"u{width // 8}")[:count]

    def bernoulli(self, threshold: int, count: int) -> NDArray[np.bool_]:
        """`count` coins that are true with probability exactly `threshold` / 2^64."""
        if not 0 <= threshold <= WORD:
            raise ValueError(f"threshold must be in 0..2^64, got {threshold}")
        if threshold == WORD:
            return np.ones(count, dtype=bool)
        # Eight bits settle all but one coin in 256; only a tie with the threshold's first digits needs the others.
        first, rest = threshold >> 56, threshold & ((1 << 56) - 1)
        drawn = self.lanes(8, count)
        coins = drawn < np.uint8(first)
        if rest:
            tied = np.flatnonzero(drawn == np.uint8(first))
            coins[tied] = self.words(tied.size) >> np.uint64(8) < np.uint64(rest)
        return coins

    def below(self, bound: int, count: int) -> Words:
        """`count` uniform integers in 0..bound-1, exact by rejection (by masking where bound is a power of two)."""
        return self.narrow_below(bound, count).astype(np.uint64)

    def narrow_below(self, bound: int, count: int) -> NDArray[Any]:
        """The same, in the narrowest unsigned integers that they can be drawn from: less memory for small bounds."""
        if not 1 <= bound <= WORD:
            raise ValueError(f"bound must be in 1..2^64, got {bound}")
        # The narrowest words that refuse at most one draw in 16: random bytes are what a draw costs.
        width = next(
            width
            for width in (8, 16, 32, 64)
            if width == 64 or (bound <= 1 << width and (1 << width) % bound <= 1 << width - 4)
        )
        drawn = self.lanes(width, count)
        if bound & (bound - 1) == 0:
            return drawn & drawn.dtype.type(bound - 1)
        largest = drawn.dtype.type((1 << width) - (1 << width) % bound - 1)
        while (refused := np.flatnonzero(drawn > largest)).size:
            drawn[refused] = self.lanes(width, refused.size)
        return drawn % drawn.dtype.type(bound)

    def below_each(self, bounds: NDArray[Any]) -> NDArray[np.int64]:
        """A uniform integer below each of the bounds, which are 1..2^63, exact by rejection."""
        bound = bounds.astype(np.uint64)
        # 2^64 mod bound values at the top of a word's range would come once too often.
        excess = (np.uint64(WORD - 1) % bound + np.uint64(1)) % bound
        drawn = self.words(bound.size)
        while (refused := np.flatnonzero(drawn > np.uint64(WORD - 1) - excess)).size:
            drawn[refused] = self.words(refused.size)
        return (drawn % bound).astype(np.int64)

    def choose(self, thresholds: Words, count: int) -> NDArray[np.intp]:
        """`count` indices i, with i drawn when a word falls in [thresholds[i-1], thresholds[i]).

        `thresholds` are the cumulative probabilities out of 2^64 of all choices but the last, which takes the rest.
        """
        return np.searchsorted(thresholds, self.words(count), side="right")

    def order(self, count: int) -> NDArray[np.intp]:
        """A random order of `count` things; all are equally likely, but for a chance below count^2 / 2^97 of a tie.

        The things are sorted by 32 random bits each, in two passes of a linear sort of 16 bits. The few with equal bits
        are sorted among themselves by a whole word each.
        """
        drawn = self.lanes(16, 2 * count)
        low, high = drawn[:count], drawn[count:]
        order = np.argsort(low, kind="stable")
        order = order[np.argsort(high[order], kind="stable")]
        low, high = low[order], high[order]
        tied = np.flatnonzero((high[1:] == high[:-1]) & (low[1:] == low[:-1]))
        if tied.size:
            tied = np.union1d(tied, tied + 1)
            order[tied] = order[tied[np.lexsort((self.words(tied.size), low[tied], high[tied]))]]
        return order

    def bits(self, threshold: int, rows: int, width: int) -> NDArray[np.uint8]:
        """Packed coins: `rows` x `width` bits, little-endian in each byte, each set with probability threshold / 2^64.

        Many coins at a time are compared with the threshold's binary digits, most significant first: a coin is settled
        at the first digit where its random bit differs. After a few digits only bytes with an unsettled coin go on, so
        that a coin costs little more than six random bits. Padding bits are zero.
        """
        if not 0 <= threshold <= WORD:
            raise ValueError(f"threshold must be in 0..2^64, got {threshold}")
        row_bytes = (width + 7) // 8
        count = (rows * row_bytes + 7) // 8
        packed = np.full(count, WORD - 1, dtype=np.uint64)
        if threshold < WORD:
            for start in range(0, count, _WORDS_AT_ONCE):
                part = packed[start : start + _WORDS_AT_ONCE]
                part[:] = self._coin_words(threshold, part.size)
        table = packed.view(np.uint8)[: rows * row_bytes].reshape(rows, row_bytes)
        if width % 8:
            table[:, -1] &= np.uint8((1 << width % 8) - 1)
        return table

    def _coin_words(self, threshold: int, count: int) -> Words:
        words = np.zeros(count, dtype=np.uint64)
        coins, unsettled = words.view(np.uint8), np.full(8 * count, 255, dtype=np.uint8)
        active: NDArray[np.intp] | slice = slice(None)
        for digit in _TOP_BIT_FIRST:
            if threshold & ((1 << (digit + 1)) - 1) == 0:
                break  # the remaining digits are zero: no random number can be smaller
            drawn = self.lanes(8, unsettled.size)
            if threshold >> digit & 1:
                coins[active] |= unsettled & ~drawn
                unsettled &= drawn
            else:
                unsettled &= ~drawn
            if digit <= _WHOLE_DIGITS_END:
                left = np.flatnonzero(unsettled)
                active = left if isinstance(active, slice) else active[left]
                unsettled = unsettled[left]
                if not left.size:
                    break
        return words


class SecureRandom(Random):
    """The operating system's secure source: what a device uses.

    A device draws for itself alone. Its coins each take a whole word, so that the time tells nothing about them: coins
    that are settled early, or that need a second draw, have other odds than the rest. Batches stand for many devices.
    """

    def words(self, count: int) -> Words:
        return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)

    def bernoulli(self, threshold: int, count: int) -> NDArray[np.bool_]:
        return self._whole_coins(threshold, count) if count == 1 else super().bernoulli(threshold, count)

    def bits(self, threshold: int, rows: int, width: int) -> NDArray[np.uint8]:
        if rows != 1:
            return super().bits(threshold, rows, width)
        parts = [
            np.packbits(self._whole_coins(threshold, min(_WORDS_AT_ONCE, width - start)), bitorder="little")
            for start in range(0, width, _WORDS_AT_ONCE)
        ]
        return np.concatenate(parts)[None, :]

    def _whole_coins(self, threshold: int, count: int) -> NDArray[np.bool_]:
        if not 0 <= threshold <= WORD:
            raise ValueError(f"threshold must be in 0..2^64, got {threshold}")
        return np.ones(count, dtype=bool) if threshold == WORD else self.words(count) < np.uint64(threshold)


class DerivedRandom(SecureRandom):
    """SHAKE-256 of a secret: the same draws again for the same seed, and as good as random to whoever lacks it."""

    def __init__(self, seed: bytes) -> None:
        self._seed, self._used = seed, 0

    def words(self, count: int) -> Words:
        start, self._used = self._used, self._used + 8 * count
        octets = hashlib.shake_256(self._seed).digest(self._used)[start:]
        return np.frombuffer(bytearray(octets), dtype="<u8").astype(np.uint64)


class SeededRandom(Random):
    """A repeatable generator, for simulation and tests only: it protects nobody."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.SFC64(seed))

    def words(self, count: int) -> Words:
        return self._generator.integers(0, WORD, size=count, dtype=np.uint64, endpoint=False)


def secure() -> SecureRandom:
    """The operating system's secure source."""
    return SecureRandom()


def seeded(seed: int) -> SeededRandom:
    """A repeatable source for simulation and tests; a real device must never use it."""
    return SeededRandom(seed)
