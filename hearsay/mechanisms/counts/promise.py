"""What a matrix of probabilities promises to counts that differ little, checked in integers.

P[output, input] keeps a ratio a = exp(-epsilon), 0 < a < 1, between two inputs where P[y, j] >= a P[y, k] and
P[y, k] >= a P[y, j] for every output y. Neighbouring counts keep it under differential privacy (Kulkarni definition
20); counts up to `within` apart under (k, epsilon) limited precision (definition 13); all counts under local privacy
(6.8). The ratio is a fraction, rounded up: whatever keeps it spends no more than epsilon.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.exact.thresholds import exponential

# P[output, input]: probabilities as floats or fractions, or integers out of 2^64 (Python's, which do not overflow).
Table = NDArray[Any]
_DIGITS = 128  # binary digits of the ratio; an integer out of 2^64 times the ratio is exact


def ratio_of(epsilon: float) -> Fraction:
    """exp(-epsilon), rounded up to a multiple of 2^-128."""
    return upward(1 / exponential(epsilon))


def upward(ratio: Fraction) -> Fraction:
    """The ratio as a multiple of 2^-128 that is not below it."""
    return Fraction(_ceiling(ratio.numerator << _DIGITS, ratio.denominator), 1 << _DIGITS)


@dataclass(frozen=True)
class Promise:
    """The ratio a, and how far apart inputs may be that keep it; `local`: any two."""

    ratio: Fraction
    within: int = 1
    local: bool = False

    def reach(self, largest: int) -> int:
        """How far apart inputs among 0..largest may be that keep the ratio."""
        return largest if self.local else min(self.within, largest)

    def raised(self, whole: Table) -> Table:
        """The least integers that are not below the given ones and keep the promise.

        Forwards, every entry rises to what the entries before it in its row demand; then backwards. A demand that
        arrives by a detour is never above the direct one, so one pass each way is enough.
        """
        reach, result = self.reach(whole.shape[1] - 1), whole.copy()
        if self.local:
            return np.maximum(result, self._demand(result.max(axis=1, keepdims=True)))
        for column in range(1, result.shape[1]):
            before = result[:, max(column - reach, 0) : column].max(axis=1)
            result[:, column] = np.maximum(result[:, column], self._demand(before))
        for column in range(result.shape[1] - 2, -1, -1):
            after = result[:, column + 1 : column + 1 + reach].max(axis=1)
            result[:, column] = np.maximum(result[:, column], self._demand(after))
        return result

    def kept(self, whole: Table) -> bool:
        """Whether integers keep the promise, in exact arithmetic, for every pair that it covers."""
        a, one = self.ratio.numerator, self.ratio.denominator
        if self.local:
            return bool((one * whole.min(axis=1) >= a * whole.max(axis=1)).all())
        return all(
            bool((one * left >= a * right).all() and (one * right >= a * left).all())
            for apart in range(1, self.reach(whole.shape[1] - 1) + 1)
            for left, right in ((whole[:, :-apart], whole[:, apart:]),)
        )

    def _demand(self, entries: Table) -> Table:
        return _ceiling(self.ratio.numerator * entries, self.ratio.denominator)


def _ceiling(numerator: Any, denominator: Any) -> Any:
    return -(-numerator // denominator)
