"""The mechanisms that need no solver, to 60 digits: the same integers come out of them on every machine.

gm  the geometric mechanism (Ghosh et al. 2009; Kulkarni definition 22): two-sided geometric noise, what falls outside
    0..n moved to the ends. Best under L0: 2a/(1+a) (theorem 12).
em  the explicit fair mechanism (Kulkarni 6.15): the truth has the same probability y for every count. All seven
    properties; best under L0 among the fair ones (theorem 13): (n+1)/n (1-y). (6.14) gives y for even n only; for odd n
    the columns have one more term.
um  the uniform mechanism (definition 23), which says nothing.

P[output, input]; every column sums to one.
"""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from hearsay.mechanisms.counts.promise import Table

_CONTEXT = Context(prec=60)


def gm(largest: int, ratio: Fraction) -> Table:
    """Range-restricted geometric mechanism for counts 0..largest."""
    with localcontext(_CONTEXT):
        a = _decimal(ratio)
        row = np.full(largest + 1, (1 - a) / (1 + a), dtype=object)
        row[0] = row[-1] = 1 / (1 + a)
        return row[:, None] * _powers(a, largest)[_distances(largest)]


def em(largest: int, ratio: Fraction) -> Table:
    """Explicit fair mechanism for counts 0..largest."""
    distance, column = _distances(largest), np.arange(largest + 1)
    room = np.minimum(column, largest - column)[None, :]  # how far the input is from the nearer end
    exponent = np.where(distance < room, distance, -(-(distance + room) // 2))
    with localcontext(_CONTEXT):
        a = _decimal(ratio)
        powers = _powers(a, largest)
        return (1 / sum(powers[exponent[:, 0]])) * powers[exponent]


def truth(largest: int, ratio: Fraction) -> Decimal:
    """y, the probability with which the explicit fair mechanism tells the truth."""
    y: Decimal = em(largest, ratio)[0, 0]
    return y


def um(largest: int) -> Table:
    """Uniform mechanism for counts 0..largest."""
    with localcontext(_CONTEXT):
        return np.full((largest + 1, largest + 1), 1 / Decimal(largest + 1), dtype=object)


def _distances(largest: int) -> Table:
    output, given = np.indices((largest + 1, largest + 1))
    return np.abs(output - given)


def _powers(a: Decimal, largest: int) -> Table:
    return np.array([a**power for power in range(largest + 1)], dtype=object)


def _decimal(ratio: Fraction) -> Decimal:
    return Decimal(ratio.numerator) / Decimal(ratio.denominator)
