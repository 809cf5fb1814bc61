"""Strategies of the matrix mechanism: the numbers that devices report, and how cells are estimated from them.

A strategy A has one row per reported number and one column per value; a device with value x reports column x plus
noise. Rows of rational numbers are scaled to integers without a common factor, so that the noise can be on the integers
too. A row with the same number for all values is public: it is not reported, but it determines the total (Xiang et al.
3.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, isfinite, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.linear import spans
from hearsay.mechanisms.options import Option

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LARGEST_DENOMINATOR = 10**6
LARGEST_ENTRY = 1 << 20
MAXIMUM_ROWS = 1024
_FULL_RANK = 1e-9  # relative to the largest singular value


@dataclass(frozen=True)
class Strategy:
    """Integer rows, and the factor by which each row was multiplied."""

    rows: Integers
    factors: tuple[Fraction, ...]

    @classmethod
    def of(cls, given: str | Sequence[Sequence[float]], cells: int) -> "Strategy":
        """A built-in strategy by name, or one given by its rows."""
        if given == "identity":
            return cls(np.eye(cells, dtype=np.int64), (Fraction(1),) * cells)
        if given == "prefix":
            return cls(np.tril(np.ones((cells, cells), dtype=np.int64)), (Fraction(1),) * cells)
        scaled = [_integers(row, number, cells) for number, row in enumerate(given, start=1)]
        return cls(np.array([row for row, _ in scaled], dtype=np.int64), tuple(factor for _, factor in scaled))

    @cached_property
    def noisy(self) -> NDArray[np.intp]:
        """The indices of the rows that differ between values, which are reported with noise."""
        return np.flatnonzero((self.rows != self.rows[:, :1]).any(axis=1))

    @cached_property
    def knows_total(self) -> bool:
        """Whether the strategy has a constant row, so that the shares sum to one exactly."""
        constant = np.setdiff1d(np.arange(len(self.rows)), self.noisy)
        return bool((self.rows[constant, 0] != 0).any())

    @cached_property
    def reported(self) -> Integers:
        return self.rows[self.noisy]

    def rebuild(self, variances: Floats) -> tuple[Floats, Floats]:
        """X and offset such that shares = X reported + offset, by least squares weighted by the rows' noise variances.

        If the total is known, the last share is one minus the others.
        """
        rows = self.reported.astype(np.float64)
        cells = rows.shape[1]
        basis, origin = np.eye(cells), np.zeros(cells)
        if self.knows_total:
            basis = np.vstack([np.eye(cells - 1), -np.ones((1, cells - 1))])
            origin[-1] = 1.0
        scale = 1 / np.sqrt(variances)
        inverse = np.linalg.pinv(scale[:, None] * (rows @ basis), rcond=_FULL_RANK) * scale
        matrix = basis @ inverse
        return matrix, origin - matrix @ (rows @ origin)

    @cached_property
    def hidden(self) -> Floats | None:
        """The projection onto the null space of the rows; None if the rows determine every cell."""
        rows = self.reported.astype(np.float64)
        if self.knows_total:
            rows = np.vstack([rows, np.ones((1, rows.shape[1]))])
        cells = rows.shape[1]
        if rows.size and int(np.linalg.matrix_rank(rows, rtol=_FULL_RANK)) == cells:
            return None
        return np.eye(cells) - np.linalg.pinv(rows, rcond=_FULL_RANK) @ rows

    def check_spans(self, workload: Floats) -> None:
        """Refuse a strategy whose row space does not contain every row of the workload."""
        if self.hidden is None:
            return
        known = spans(self.hidden, workload)
        if not known.all():
            cells = len(self.hidden)
            raise SpecificationError(
                what="options.strategy",
                must="determine the workload",
                ending=f": its row {int(np.argmin(known)) + 1} is not in the strategy's row space, which has dimension "
                f"{cells - round(float(np.trace(self.hidden)))} of {cells}",
            )


def _integers(row: Any, number: int, cells: int) -> tuple[list[int], Fraction]:
    """A row of rationals as integers without a common factor, and the factor by which it was multiplied."""
    where = f"options.strategy[{number}]"
    if not isinstance(row, list | tuple) or len(row) != cells:
        raise SpecificationError(what=where, expected=f"a list of {cells} numbers")
    try:
        exact = [Fraction(repr(entry)) if isinstance(entry, float) else Fraction(entry) for entry in row]
    except (TypeError, ValueError):
        raise SpecificationError(what=where, must="hold finite numbers only") from None
    denominator = lcm(*(entry.denominator for entry in exact))
    integers = [int(entry * denominator) for entry in exact]
    divisor = gcd(*integers) or 1
    if denominator > LARGEST_DENOMINATOR or max(map(abs, integers)) // divisor > LARGEST_ENTRY:
        raise SpecificationError(
            what=where,
            expected=f"multiples of a common fraction: denominators up to {LARGEST_DENOMINATOR}, "
            f"entries up to {LARGEST_ENTRY} of it",
        )
    return [entry // divisor for entry in integers], Fraction(denominator, divisor)


def _check_strategy(value: Any) -> Any:
    if value in ("identity", "prefix"):
        return value
    if isinstance(value, list | tuple) and 0 < len(value) <= MAXIMUM_ROWS:
        return [list(row) if isinstance(row, list | tuple) else row for row in value]
    raise SpecificationError(
        what="options.strategy", expected=f"identity, prefix or a list of at most {MAXIMUM_ROWS} rows"
    )


def _check_workload(value: Any) -> Any:
    if value in ("cells", "ranges"):
        return value
    if not isinstance(value, list | tuple) or not 0 < len(value) <= MAXIMUM_ROWS:
        raise SpecificationError(
            what="options.workload", expected=f"cells, ranges or a list of at most {MAXIMUM_ROWS} rows"
        )
    for number, row in enumerate(value, start=1):
        if not isinstance(row, list | tuple) or not all(map(_is_coefficient, row)) or not any(row):
            raise SpecificationError(
                what=f"options.workload[{number}]",
                expected=f"a list of numbers from -{LARGEST_ENTRY} to {LARGEST_ENTRY}, not all of them 0",
            )
    return [[float(entry) for entry in row] for row in value]


def _is_coefficient(entry: Any) -> bool:
    return isinstance(entry, int | float) and not isinstance(entry, bool) and abs(entry) <= LARGEST_ENTRY


def _check_scales(value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise SpecificationError(
            what="options.scales", expected="a list of numbers, one per row", got=type(value).__name__
        )
    for number, scale in enumerate(value, start=1):
        if not isinstance(scale, int | float) or isinstance(scale, bool) or not isfinite(scale) or scale < 0:
            raise SpecificationError(
                what=f"options.scales[{number}]", expected="a finite number of at least 0", got=repr(scale)
            )
    return [float(scale) for scale in value]


STRATEGY = Option(
    "strategy",
    "prefix",
    _check_strategy,
    "rows that devices report: identity, prefix, a list of rows or a CSV file",
)
WORKLOAD = Option(
    "workload",
    "cells",
    _check_workload,
    "the queries whose total squared error is minimised: cells, ranges, a list of rows or a CSV file",
)
SCALES = Option("scales", None, _check_scales, "Laplace scale of each row of the strategy; optimised where absent")
