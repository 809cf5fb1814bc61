"""Randomness for devices: exact, integer, and by default from the operating system.

Every draw compares an unsigned integer with an exact integer threshold out of 2^64, never a float with a float. So the
probabilities in the privacy argument are those of the device.

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
_WHOLE_DIGITS_END = 58  # after six digits one byte in eight has an unsettled coin; only such bytes draw more
_WORDS_AT_ONCE = 1 << 14  # coins are drawn in parts that fit into the processor's cache


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
        # Eight bits settle all but one coin in 256; only coins whose bits equal the threshold's first eight draw more.
        first, rest = threshold >> 56, threshold & ((1 << 56) - 1)
        drawn = self.lanes(8, count)
        coins = drawn < np.uint8(first)
        if rest:
            tied = np.flatnonzero(drawn == np.uint8(first))
            coins[tied] = self.words(tied.size) >> np.uint64(8) < np.uint64(rest)
        return coins

    def below(self, bound: int, count: int) -> Words:
        """`count` uniform integers in 0..bound-1, exact by rejection (by masking if bound is a power of two)."""
        return self.narrow_below(bound, count).astype(np.uint64)

    def narrow_below(self, bound: int, count: int) -> NDArray[Any]:
        """`below` in the narrowest unsigned integers that it can draw from: less memory for small bounds."""
        if not 1 <= bound <= WORD:
            raise ValueError(f"bound must be in 1..2^64, got {bound}")
        # The narrowest words of which at most one in 16 is rejected: the cost of a draw is its random bytes.
        width = next(
            width
            for width in (8, 16, 32, 64)
            if width == 64 or (bound <= 1 << width and (1 << width) % bound <= 1 << width - 4)
        )
        drawn = self.lanes(width, count)
        if bound & (bound - 1) == 0:
            return drawn & drawn.dtype.type(bound - 1)
        largest = drawn.dtype.type((1 << width) - (1 << width) % bound - 1)
        while (rejected := np.flatnonzero(drawn > largest)).size:
            drawn[rejected] = self.lanes(width, rejected.size)
        return drawn % drawn.dtype.type(bound)

    def below_each(self, bounds: NDArray[Any]) -> NDArray[np.int64]:
        """A uniform integer below each of the bounds, which are 1..2^63, exact by rejection."""
        bound = bounds.astype(np.uint64)
        # The last 2^64 mod bound words are rejected: with them some remainders would be likelier than others.
        excess = (np.uint64(WORD - 1) % bound + np.uint64(1)) % bound
        drawn = self.words(bound.size)
        while (rejected := np.flatnonzero(drawn > np.uint64(WORD - 1) - excess)).size:
            drawn[rejected] = self.words(rejected.size)
        return (drawn % bound).astype(np.int64)

    def choose(self, thresholds: Words, count: int) -> NDArray[np.intp]:
        """`count` indices: index i is drawn if a word is in [thresholds[i-1], thresholds[i]).

        `thresholds` are the cumulative probabilities out of 2^64 of all choices but the last, which has the remainder.
        """
        return np.searchsorted(thresholds, self.words(count), side="right")

    def order(self, count: int) -> NDArray[np.intp]:
        """A random order of `count` items; all are equally likely unless two items tie (chance below count^2 / 2^97).

        The items are sorted by 32 random bits each, in two passes of a linear sort of 16 bits. Items with equal bits
        are then sorted by a whole word each.
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

        Random bits of many coins at a time are compared with the threshold's binary digits, most significant first. A
        coin is settled at the first digit from which its random bit differs. After six digits, more bits are drawn only
        for bytes with an unsettled coin, so a coin costs little more than six random bits. Padding bits are zero.
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
                remaining = np.flatnonzero(unsettled)
                active = remaining if isinstance(active, slice) else active[remaining]
                unsettled = unsettled[remaining]
                if not remaining.size:
                    break
        return words


class SecureRandom(Random):
    """The operating system's secure source: what a device uses.

    A draw for one device takes a whole word for every coin, so that its duration reveals nothing: a coin that is
    settled early, or that needs a second draw, has other odds than the rest. A batch simulates many devices, and may
    be faster.
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
    """SHAKE-256 of a secret seed: the same seed gives the same draws; without the seed they look random."""

    def __init__(self, seed: bytes) -> None:
        self._seed, self._used = seed, 0

    def words(self, count: int) -> Words:
        start, self._used = self._used, self._used + 8 * count
        octets = hashlib.shake_256(self._seed).digest(self._used)[start:]
        return np.frombuffer(bytearray(octets), dtype="<u8").astype(np.uint64)


class SeededRandom(Random):
    """A repeatable generator, for simulation and tests only: its reports are not private."""

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
