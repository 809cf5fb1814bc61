"""The mechanisms that need no solver, to 60 digits: the same integers come out of them on every machine.

gm  the geometric mechanism (Ghosh et al. 2009; Kulkarni definition 22): two-sided geometric noise, what falls outside
    0..n moved to the ends. Best under L0: 2a/(1+a) (theorem 12).
em  the explicit fair mechanism (Kulkarni 6.15): the truth has the same probability y for every count. All seven
    properties; best under L0 among the fair ones (theorem 13): (n+1)/n (1-y). (6.14) gives y for even n only; for odd n
    the columns have one more term.
um  the uniform mechanism (definition 23), which says nothing.

P[output, input]; every column sums to one.
"""

from fractions import Fraction
from math import floor

import numpy as np

from hearsay.mechanisms.counts.promise import Table

_BITS = 200  # significant binary digits, about 60 decimal ones


def gm(largest: int, ratio: Fraction) -> Table:
    """Range-restricted geometric mechanism for counts 0..largest."""
    powers, distance = _powers(ratio, largest), _distances(largest)
    inner, end = (_shortened(part / (1 + ratio) * powers)[distance] for part in (1 - ratio, Fraction(1)))
    output = np.arange(largest + 1)[:, None]
    return np.where((output == 0) | (output == largest), end, inner)


def em(largest: int, ratio: Fraction) -> Table:
    """Explicit fair mechanism for counts 0..largest."""
    distance, column = _distances(largest), np.arange(largest + 1)
    room = np.minimum(column, largest - column)[None, :]  # how far the input is from the nearer end
    exponent = np.where(distance < room, distance, -(-(distance + room) // 2))
    powers = _powers(ratio, largest)
    return _shortened(powers / sum(powers[exponent[:, 0]]))[exponent]


def truth(largest: int, ratio: Fraction) -> Fraction:
    """y, the probability with which the explicit fair mechanism tells the truth."""
    y: Fraction = em(largest, ratio)[0, 0]
    return y


def um(largest: int) -> Table:
    """Uniform mechanism for counts 0..largest."""
    return np.full((largest + 1, largest + 1), Fraction(1, largest + 1), dtype=object)


def _distances(largest: int) -> Table:
    output, given = np.indices((largest + 1, largest + 1))
    return np.abs(output - given)


def _powers(a: Fraction, largest: int) -> Table:
    powers = [Fraction(1)]
    for _ in range(largest):
        powers.append(_short(powers[-1] * a))
    return np.array(powers, dtype=object)


def _shortened(numbers: Table) -> Table:
    return np.array([_short(number) for number in numbers], dtype=object)


def _short(number: Fraction) -> Fraction:
    """The number, which is above 0, to 200 significant binary digits."""
    digits = _BITS + number.denominator.bit_length() - number.numerator.bit_length()
    scale = Fraction(2) ** digits
    return floor(number * scale) / scale
