"""Probabilities as integers out of 2^64 that keep their promise exactly, whatever a solver or a rounding left over.

A linear program's solution is private up to the solver's tolerance only: in one row it has zeros beside entries above
zero, and ratios beyond a. The repair scales every column by 1 - kappa and rounds it up, raises entries until every pair
of inputs keeps the ratio, and spreads what the column then lacks to 2^64 evenly over the rows. That remainder is nearly
the same in all columns, so it keeps the ratio too; where it does not, kappa is doubled. Outputs that are never given
stay so. No probability changes by more than a few times kappa, which is 1e-8 at most for epsilon from 0.01 on.
"""

from fractions import Fraction

import numpy as np

from hearsay.mechanisms.counts.promise import Promise, Table
from hearsay.mechanisms.errors import MechanismError
from hearsay.mechanisms.exact.randomness import WORD

NEVER = 1e-9  # an output whose probability stays below this for every input is taken for never given
_DIGITS = 128
_FIRST, _LAST = 16, 54  # kappa from 2^16/2^64 to 2^54/2^64, about 0.001


class NotRepaired(MechanismError):
    """No integers near the probabilities keep the promise."""


def to_integers(matrix: Table, promise: Promise) -> Table:
    """Integers out of 2^64, column by column, that keep the promise."""
    exact = _scaled(matrix)
    live = matrix.astype(np.float64).max(axis=1) > NEVER
    for doublings in range(_FIRST, _LAST + 1):
        whole = np.full(matrix.shape, 0, dtype=object)
        kept = exact[live] * (WORD - (1 << doublings))
        whole[live] = promise.raised(np.maximum(-(-kept // (1 << _DIGITS)), 1))
        lacking = WORD - whole.sum(axis=0)
        if (lacking > 0).all():
            _spread(whole, lacking, np.flatnonzero(live))
            if promise.kept(whole):
                return whole
    raise NotRepaired(f"no integers within {2.0 ** (_LAST - 64):.2g} of the probabilities keep the promise")


def uniform(largest: int) -> Table:
    """The uniform mechanism: every input has the very same integers, so that nothing is told at all."""
    column = [WORD // (largest + 1)] * (largest + 1)
    column[largest // 2] += WORD - sum(column)
    return np.array([[weight] * (largest + 1) for weight in column], dtype=object)


def to_shares(whole: Table) -> Table:
    """Integers out of 2^64 as probabilities."""
    return (whole / WORD).astype(np.float64)


def _scaled(matrix: Table) -> Table:
    return np.array([[int(max(Fraction(entry), Fraction(0)) * (1 << _DIGITS)) for entry in row] for row in matrix],
                    dtype=object)  # fmt: skip


def _spread(whole: Table, lacking: Table, live: Table) -> None:
    """Give every column what it lacks: the same to each live row, the few units left to the one nearest the truth."""
    each, rest = lacking // live.size, lacking % live.size
    whole[live] += each[None, :]
    for column, units in enumerate(rest):
        whole[live[np.argmin(np.abs(live - column))], column] += units
