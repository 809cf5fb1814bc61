"""Rows of probabilities as integers out of 2^64, exactly rounded, and mixed with their average row where asked.

A million entries take a second, because numbers are integers over powers of two, not fractions. The average of many
rows, each divided by its own sum, has a denominator of thousands of digits. So it is kept in units of 2^-192 together
with a bound on the error, and computed as a fraction only for an entry whose rounding depends on that error.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

from hearsay.mechanisms.exact.randomness import WORD

Weights = tuple[tuple[int, ...], ...]
_WORD_BITS = 64
_FIXED_BITS = 192


class Mixtures:
    """Rows of non-negative numbers. Each row divided by its sum is a distribution."""

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        self._rows = [_integers(row) for row in rows]
        self._sums = [sum(row) for row in self._rows]

    def weights(self, digits: int | None = None) -> Weights:
        """(1 - part) row + part average with part = 2^-digits; without `digits` the rows themselves.

        Every entry is rounded down, and the remainder of a row is added to its largest entry.
        """
        result = []
        for number, (row, total) in enumerate(zip(self._rows, self._sums, strict=True)):
            if digits is None:
                weights = [(entry << _WORD_BITS) // total for entry in row]
            else:
                weights = self._mixed(number, digits)
            weights[weights.index(max(weights))] += WORD - sum(weights)
            result.append(tuple(weights))
        return tuple(result)

    def _mixed(self, number: int, digits: int) -> list[int]:
        """One mixed row, rounded down. Before rounding, an entry is at least `least` and at most `least` + `error`."""
        count, main = len(self._rows), (1 << digits) - 1
        divisor = count << _FIXED_BITS + digits - _WORD_BITS
        fixed, cut = self._fixed[number]
        weights = []
        for column, (entry, is_cut) in enumerate(zip(fixed, cut, strict=True)):
            column_sum, column_cuts = self._columns[column]
            least = main * entry * count + column_sum
            error = main * is_cut * count + column_cuts
            weight = least // divisor
            if (least + error) // divisor != weight:
                weight = self._in_full(number, column, digits)
            weights.append(weight)
        return weights

    @cached_property
    def _fixed(self) -> list[tuple[list[int], list[bool]]]:
        """Entries over their row's sum in units of 2^-192, rounded down; and whether rounding changed them."""
        rows = []
        for row, total in zip(self._rows, self._sums, strict=True):
            divided = [divmod(entry << _FIXED_BITS, total) for entry in row]
            rows.append(([quotient for quotient, _ in divided], [rest != 0 for _, rest in divided]))
        return rows

    @cached_property
    def _columns(self) -> list[tuple[int, int]]:
        """The sum of every column in the same units, and how many of its entries rounding changed."""
        sums = [sum(column) for column in zip(*(fixed for fixed, _ in self._fixed), strict=True)]
        cuts = [sum(column) for column in zip(*(cut for _, cut in self._fixed), strict=True)]
        return list(zip(sums, cuts, strict=True))

    def _in_full(self, number: int, column: int, digits: int) -> int:
        part = Fraction(1, 1 << digits)
        shares = (Fraction(row[column], total) for row, total in zip(self._rows, self._sums, strict=True))
        average = sum(shares, Fraction(0)) / len(self._rows)
        own = Fraction(self._rows[number][column], self._sums[number])
        return int(((1 - part) * own + part * average) * WORD)


def _integers(row: Sequence[float]) -> list[int]:
    """The floats of a row, multiplied by the power of two that makes all of them integers."""
    ratios = [float(entry).as_integer_ratio() for entry in row]
    bits = max(below.bit_length() for _, below in ratios)
    return [above << bits - below.bit_length() for above, below in ratios]
