"""Laplace noise on the integers, drawn exactly: P(Z = k) = (1-a)/(1+a) a^|k| with a = e^-rate.

Privacy   Shifting Z by one changes every probability by at most e^rate; clamping the shifted value to public limits is
          post-processing. Floating-point Laplace noise leaks through its rounding (Mironov 2012); this has none.
Drawing   By inversion on the digits of a uniform number: its first 64 bits are compared with the first 64 bits of the
          distribution function. Only if all of them agree (never, in practice), more digits of both are compared,
          as many as needed. So the result has exactly the stated distribution, and a draw costs one random word.
Variance  1/(cosh rate - 1).
"""

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, expm1, floor, log

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.exact.decimals import exponential_of
from hearsay.mechanisms.exact.randomness import Random, Words

_WORD_BITS = 64
_SPARE_BITS = 128  # computed beyond those compared; if rounding errors could reach the compared ones, more are computed


def variance(rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/(cosh rate - 1), without cancellation for small rates."""
    return 0.5 / np.sinh(0.5 * rate) ** 2


def limit_for(rate: float, bias: float) -> int:
    """The least M for which replacing noise above M by M lowers the mean by at most `bias`.

    It lowers the mean by E[max(Z - M, 0)] = a^(M+1)/(1 - a^2).
    """
    return max(1, ceil(-log(bias * -expm1(-2 * rate)) / rate) - 1)


@dataclass(frozen=True)
class DiscreteLaplace:
    """Noise Z of the given rate, clamped to -limit..limit."""

    rate: Fraction
    limit: int

    def draw(self, random: Random, count: int) -> NDArray[np.int64]:
        """`count` independent values."""
        words = random.words(count)
        below = np.searchsorted(self._boundaries, words, side="right")
        undecided = np.flatnonzero((below > 0) & (self._boundaries[below - 1] == words))
        for index in undecided:
            below[index] = self._settle(int(words[index]), random)
        return below.astype(np.int64) - self.limit

    @cached_property
    def _boundaries(self) -> Words:
        return np.array(self._distribution(_WORD_BITS), dtype=np.uint64)

    def _settle(self, word: int, random: Random) -> int:
        """How many boundaries a uniform number exceeds if its first 64 bits, `word`, equal those of a boundary."""
        number, bits = word, _WORD_BITS
        while True:
            number, bits = number << _WORD_BITS | int(random.words(1)[0]), bits + _WORD_BITS
            boundaries = self._distribution(bits)
            below = bisect_right(boundaries, number)
            if below == 0 or boundaries[below - 1] != number:
                return below

    def _distribution(self, bits: int) -> list[int]:
        """floor(2^bits P(Z <= k)) for k = -limit..limit-1, exactly."""
        spare = _SPARE_BITS
        while True:
            one = 1 << bits + spare
            a = floor(exponential_of(-self.rate, (bits + spare) // 3) * one)  # a digit is more than 3 bits
            tail = one * one // (one + a)
            error = 1 << spare // 2  # a bound, far above the rounding errors of `limit` products
            low, high = [], []
            for _ in range(self.limit):
                tail = tail * a // one  # P(Z <= -k), and by symmetry P(Z >= k), out of `one`
                low.append(max(0, tail - error) >> spare)
                high.append(tail + error >> spare)
            if low == high:
                return [*reversed(low), *((1 << bits) - 1 - value for value in low)]
            spare += _SPARE_BITS

    def probabilities(self) -> NDArray[np.float64]:
        """P(k) for k = -limit..limit after clamping: each end includes its tail."""
        a = exp(-float(self.rate))
        masses = (1 - a) / (1 + a) * a ** np.abs(np.arange(-self.limit, self.limit + 1)).astype(np.float64)
        masses[[0, -1]] = a**self.limit / (1 + a)
        return masses
