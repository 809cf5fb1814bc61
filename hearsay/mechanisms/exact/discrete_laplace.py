"""Laplace noise on the integers, drawn exactly: P(Z = k) = (1-a)/(1+a) a^|k| with a = e^-rate.

Privacy   Shifting Z by one changes every probability by at most e^rate; clamping the shifted value to public limits is
          post-processing. Floating-point Laplace noise leaks through its rounding (Mironov 2012); this has none.
Drawing   By inversion on the digits of a uniform number: its first 64 bits are compared with the first 64 bits of the
          distribution function. Only where all of them agree (never, in practice) are more digits of both taken, as
          many as it needs; so the result has exactly the stated distribution, for one random word per draw.
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
_SPARE_BITS = 128  # beyond those compared; half of them must not matter, or more are taken


def variance(rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/(cosh rate - 1), without cancellation for small rates."""
    return 0.5 / np.sinh(0.5 * rate) ** 2


def limit_for(rate: float, bias: float) -> int:
    """The least bound M for which cutting values above M lowers the mean by at most `bias`.

    The mean of (Z - M)+ is a^(M+1)/(1 - a^2).
    """
    return max(1, ceil(-log(bias * -expm1(-2 * rate)) / rate) - 1)


@dataclass(frozen=True)
class DiscreteLaplace:
    """Noise of the given rate; what lies beyond -limit..limit is drawn as -limit or limit."""

    rate: Fraction
    limit: int

    def draw(self, random: Random, count: int) -> NDArray[np.int64]:
        """`count` independent values."""
        words = random.words(count)
        below = np.searchsorted(self._boundaries, words, side="right")
        undecided = np.flatnonzero((below > 0) & (self._boundaries[below - 1] == words))
        for number in undecided:
            below[number] = self._settle(int(words[number]), random)
        return below.astype(np.int64) - self.limit

    @cached_property
    def _boundaries(self) -> Words:
        return np.array(self._distribution(_WORD_BITS), dtype=np.uint64)

    def _settle(self, word: int, random: Random) -> int:
        """How many boundaries lie below a uniform number that starts with the same 64 bits as at least one of them."""
        number, bits = word, _WORD_BITS
        while True:
            number, bits = number << _WORD_BITS | int(random.words(1)[0]), bits + _WORD_BITS
            boundaries = self._distribution(bits)
            at = bisect_right(boundaries, number)
            if at == 0 or boundaries[at - 1] != number:
                return at

    def _distribution(self, bits: int) -> list[int]:
        """floor(2^bits P(Z <= k)) for k = -limit..limit-1, exactly."""
        spare = _SPARE_BITS
        while True:
            one = 1 << bits + spare
            a = floor(exponential_of(-self.rate, (bits + spare) // 3) * one)  # a digit is more than 3 bits
            tail = one * one // (one + a)
            doubt = 1 << spare // 2  # far above the rounding errors of `limit` products
            low, high = [], []
            for _ in range(self.limit):
                tail = tail * a // one  # P(Z <= -k), and by symmetry P(Z >= k), out of `one`
                low.append(max(0, tail - doubt) >> spare)
                high.append(tail + doubt >> spare)
            if low == high:
                return [*reversed(low), *((1 << bits) - 1 - value for value in low)]
            spare += _SPARE_BITS

    def probabilities(self) -> NDArray[np.float64]:
        """P(Z = k) for k = -limit..limit, the ends holding their tails."""
        a = exp(-float(self.rate))
        masses = (1 - a) / (1 + a) * a ** np.abs(np.arange(-self.limit, self.limit + 1)).astype(np.float64)
        masses[[0, -1]] = a**self.limit / (1 + a)
        return masses
