"""Equal bins of a real interval: where each begins, and which one a number falls into.

Bins are half open, the last one closed: a number on the edge of two bins is in the one that begins there. Edges are
meant as the decimals of the survey's file: with 34.0..42.0 in 80 bins one is 35.3, which neither 34 + 13 * 0.1 nor
(35.3 - 34) / 0.1 says in binary fractions. They are therefore computed as ratios of integers and rounded once, so that
a number that was read from "35.3" equals its edge; what is within a billionth of a bin of an edge counts as on it.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm, ulp

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.errors import NotPortable

EDGE_SLACK = 1e-9  # in bins: 34 + 13 * 0.1 is on the edge 35.3, whatever binary fractions make of it
_EXACT_INTEGERS = 1 << 53  # doubles hold all integers up to here, and their ratio is rounded once
_ROUNDINGS = 4  # a position in bins takes three roundings


@dataclass(frozen=True)
class Bins:
    """`size` equal bins of low..high."""

    low: float
    high: float
    size: int

    @property
    def width(self) -> float:
        return (self.high - self.low) / self.size

    @property
    def distinct(self) -> bool:
        """Whether all edges are different as doubles."""
        return 4 * ulp(max(abs(self.low), abs(self.high))) < self.width < float("inf")

    @cached_property
    def _ratio(self) -> tuple[int, int, int]:
        """Integers (start, step, scale): bin k begins at (start + step k) / scale."""
        low, high = Fraction(repr(self.low)), Fraction(repr(self.high))
        common = lcm(low.denominator, high.denominator)
        least, largest = int(low * common), int(high * common)
        parts = least * self.size, largest - least, common * self.size
        shared = gcd(*parts)
        start, step, scale = (part // shared for part in parts)
        return start, step, scale

    @property
    def _is_exact(self) -> bool:
        """Whether all integers that an edge is made of are exact as doubles."""
        start, step, scale = self._ratio
        return max(abs(start), abs(start + step * self.size), step * self.size, scale) <= _EXACT_INTEGERS

    def portable(self) -> dict[str, int]:
        """The integers of the edges, for devices in any language: bin k begins at (start + step k) / scale."""
        if not self._is_exact:
            raise NotPortable("the bins' edges need integers above 2^53; give low and high with fewer digits")
        return dict(zip(("start", "step", "scale"), self._ratio, strict=True))

    def begins(self, bins: Indices) -> NDArray[np.float64]:
        """Where bins begin; bin `size` is the upper end of all."""
        start, step, scale = self._ratio
        if self._is_exact:
            return (start + step * bins) / np.float64(scale)
        distinct, inverse = np.unique(bins, return_inverse=True)
        edges = [(start + step * number) / scale for number in distinct.tolist()]  # Python rounds a ratio once
        return np.array(edges, dtype=np.float64)[inverse.reshape(bins.shape)]

    def begin(self, index: float) -> float:
        """Where one bin begins, or a place inside of it."""
        if index == int(index):
            return float(self.begins(np.array([int(index)], dtype=np.int64))[0])
        return self.low + index * self.width

    def outside(self, numbers: NDArray[np.float64], precision: type[np.floating] = np.float64) -> NDArray[np.bool_]:
        """Which numbers lie outside all bins; NaN does."""
        slack = EDGE_SLACK * self.width
        least, largest = float(precision(self.low)), float(precision(self.high))
        return ~((numbers >= least - slack) & (numbers <= largest + slack))

    def find(
        self, numbers: NDArray[np.float64], precision: type[np.floating] = np.float64
    ) -> tuple[Indices, NDArray[np.bool_]]:
        """The bin that begins at or before each number inside, and whether the number is on that edge.

        The upper end of all is on the edge of a bin `size`, which no value falls into. Numbers that came in a shorter
        `precision` are compared with edges rounded to it.
        """
        position = (numbers - self.low) / self.width
        nearest = np.rint(position)
        largest = max(abs(self.low), abs(self.high))
        unsure = EDGE_SLACK + _ROUNDINGS * float(np.finfo(precision).eps) * largest / self.width
        close = np.flatnonzero(np.abs(position - nearest) <= min(unsure, 0.5))
        bins, on_edge = np.floor(position).astype(np.int64), np.zeros(numbers.shape, dtype=bool)
        edges = nearest[close].astype(np.int64)
        beyond = numbers[close] - self.begins(edges).astype(precision).astype(np.float64)
        slack = EDGE_SLACK * self.width
        bins[close] = edges - (beyond < -slack)
        on_edge[close] = np.abs(beyond) <= slack
        return np.clip(bins, 0, self.size), on_edge
