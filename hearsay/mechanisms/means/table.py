"""A channel for one number: rows of integer weights over outputs, and which number every row stands for.

A number t in -1..1 is rounded at random to one of two neighbouring rows, then an output is drawn with the row's weights
out of `total`. Outputs lie at equal distances (or where `outputs` says), scaled so that the outermost rows' means are
exactly -1 and 1; every other row stands for its own exact mean. So the mean of the outputs is unbiased for every t,
whatever rounding the weights went through.

Privacy   weights of one output differ by at most e^eps between rows, checked in integers. Rounding t mixes rows.
Variance  second moment of the outputs, straight between two rows' numbers, less t^2.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf, lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.randomness import WORD, Random
from hearsay.mechanisms.exact.thresholds import exponential, log_ratio

Rows = tuple[tuple[int, ...], ...]
_FINE = 2001  # points at which variances are compared
_SMALL, _CLOSE = 0.01, 0.06  # of singular values, beside the largest; how far from t^3 an estimate may be


class VarianceLine(NamedTuple):
    """n Var as start + slope x (mean square of the outputs), between its least and most over all numbers."""

    start: float
    slope: float
    least: float
    most: float


@dataclass(frozen=True)
class Table:
    """Rows of weights, each with the same total, and the outputs in any unit."""

    rows: Rows
    outputs: tuple[Fraction, ...]

    @property
    def total(self) -> int:
        return sum(self.rows[0])

    def check(self, epsilon: float) -> None:
        """Refuse what is no channel within epsilon, or has rows that do not stand for rising numbers from -1 to 1."""
        if any(sum(row) != self.total or min(row) < 0 for row in self.rows) or not 0 < self.total <= WORD:
            raise SpecificationError(what="options.table", must="have rows of weights with the same total")
        allowed = exponential(epsilon)
        for column in zip(*self.rows, strict=True):
            if max(column) > allowed * min(column):
                raise SpecificationError(
                    what="options.table",
                    must="have weights within a factor of e^epsilon in every output",
                    ending="; without options.table it is made for this epsilon",
                )
        numbers = self.exact_numbers
        if numbers[0] != -1 or numbers[-1] != 1 or any(a >= b for a, b in pairwise(numbers)):
            raise SpecificationError(what="options.table", must="have rows whose means rise from -1 to 1")

    @cached_property
    def scale(self) -> Fraction:
        """What an output's unit is worth, so that the last row stands for 1."""
        mean = self._sums[-1] / self.total
        if mean <= 0:
            raise SpecificationError(what="options.table", must="have a last row with a mean above 0")
        return 1 / mean

    @cached_property
    def exact_numbers(self) -> list[Fraction]:
        """The number that every row stands for."""
        unit = self.scale / self.total
        return [each * unit for each in self._sums]

    @cached_property
    def _sums(self) -> list[Fraction]:
        """Of every row, the weights times the outputs: added as integers, over the outputs' common denominator."""
        common = lcm(*(output.denominator for output in self.outputs))
        whole = [int(output * common) for output in self.outputs]
        return [Fraction(sum(w * y for w, y in zip(row, whole, strict=True)), common) for row in self.rows]

    @cached_property
    def numbers(self) -> Floats:
        return np.array([float(number) for number in self.exact_numbers])

    @cached_property
    def values(self) -> Floats:
        """The number that every output stands for, on -1..1 or beyond."""
        return np.array([float(output * self.scale) for output in self.outputs])

    @cached_property
    def chances(self) -> Floats:
        """P(output | row)."""
        return np.array(self.rows, dtype=np.float64) / self.total

    def spent_epsilon(self) -> float:
        """Of the weights really drawn."""
        worst = max(Fraction(max(column), min(column)) for column in zip(*self.rows, strict=True) if min(column))
        return log_ratio(worst, Fraction(1))

    def draw(self, numbers: Floats, random: Random) -> NDArray[np.intp]:
        """An output for every number in -1..1."""
        low = np.clip(np.searchsorted(self.numbers, numbers, side="right") - 1, 0, len(self.rows) - 2)
        step = self.numbers[low + 1] - self.numbers[low]
        level = np.clip((numbers - self.numbers[low]) / step, 0.0, 1.0) * 2.0**32
        row = low + (random.lanes(32, len(numbers)) < level.astype(np.uint64))
        outputs = np.empty(len(numbers), dtype=np.intp)
        order = np.argsort(row, kind="stable")
        ends = np.searchsorted(row[order], np.arange(len(self.rows)), side="right")
        start = 0
        for number, end in enumerate(ends.tolist()):
            if end > start:
                drawn = random.below(self.total, end - start)
                outputs[order[start:end]] = np.searchsorted(self._ends[number], drawn, side="right")
                start = end
        return outputs

    @cached_property
    def _ends(self) -> list[NDArray[np.uint64]]:
        """Cumulative weights of all outputs but the last with any weight (an end at 2^64 would not fit a word)."""
        ends = []
        for row in self.rows:
            last = max(output for output, weight in enumerate(row) if weight)
            sums, so_far = [], 0
            for weight in row[:last]:
                so_far += weight
                sums.append(so_far)
            ends.append(np.array(sums, dtype=np.uint64))
        return ends

    def square_at(self, numbers: Floats) -> Floats:
        """Mean square of the output for each number."""
        return np.interp(numbers, self.numbers, self.chances @ self.values**2)

    def variance_at(self, numbers: Floats) -> Floats:
        """n Var for each number."""
        return self.square_at(numbers) - numbers**2

    def worst_variance(self) -> float:
        """The largest n Var over -1..1, exact: between two rows a straight line less a parabola."""
        squares, worst = self.chances @ self.values**2, -inf
        for segment in range(len(self.rows) - 1):
            a, b = self.numbers[segment], self.numbers[segment + 1]
            slope = (squares[segment + 1] - squares[segment]) / (b - a)
            t = min(max(slope / 2, a), b)
            worst = max(worst, float(squares[segment] + slope * (t - a) - t * t))
        return worst

    @cached_property
    def cubes(self) -> Floats | None:
        """What outputs stand for where the mean of t^3 is asked for; None where they do not show it.

        Least squares over the rows. Small singular values are left out: they would add more noise than they take bias.
        """
        cubes: Floats = np.linalg.lstsq(self.chances, self.numbers**3, rcond=_SMALL)[0].astype(np.float64)
        t = np.linspace(-1.0, 1.0, _FINE)
        off = np.interp(t, self.numbers, self.chances @ cubes) - t**3
        return cubes if np.abs(off).max() <= _CLOSE else None

    @cached_property
    def variance_line(self) -> VarianceLine | None:
        """The variance from the observed mean square, where that says how large the numbers are; else None.

        The numbers' own spread is no error: truth is the mean of those who reported.
        """
        t = np.linspace(-1.0, 1.0, _FINE)
        square, variance = self.square_at(t), self.variance_at(t)
        spread = square - square.mean()
        slope = float(spread @ variance / (spread @ spread)) if (spread @ spread) > 1e-9 * len(t) else 0.0
        start = float(variance.mean() - slope * square.mean())
        if np.abs(start + slope * square - variance).max() > 0.02 * variance.mean() + 5e-3:
            return None
        return VarianceLine(start, slope, float(variance.min()), float(variance.max()))
