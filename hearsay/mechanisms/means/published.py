"""The published channels for one number: Duchi's two points, the piecewise mechanism, and their mixture.

Duchi      outputs +-(e+1)/(e-1); n Var = ((e+1)/(e-1))^2 - t^2.                     Duchi, Jordan and Wainwright 2013
Piecewise  M points at equal distances; a window of w of them has weight H each, the others L, H/L <= e. The windows are
           the rows; their means lie at equal distances, so nothing is lost by the lattice but 0.15% at M = 256.
           n Var = t^2/(E-1) + (E+3)/(3(E-1)^2), E = e^(eps/2).                                      Wang et al. 2019
Hybrid     piecewise with probability 1 - e^(-eps/2) above eps 0.61, else Duchi. Here as one table: every window's row,
           then Duchi's two points with the chances that the window's number gives them.
"""

from fractions import Fraction
from math import ceil, exp, floor

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import WORD
from hearsay.mechanisms.exact.thresholds import exponential
from hearsay.mechanisms.means.table import Table

POINTS = 256
_UNIT = 1 << 20
LARGEST_EPSILON = 20.0
HYBRID_FROM = 0.61


def duchi(epsilon: float) -> Table:
    """Two rows, two outputs."""
    e = exponential(epsilon)
    likely = min(int(e * WORD / (e + 1)), WORD - 1)
    return Table(((likely, WORD - likely), (WORD - likely, likely)), (Fraction(-1), Fraction(1)))


def window(epsilon: float, points: int) -> int:
    """How many of the points a window has."""
    return max(1, min(points - 1, round(points / (exp(epsilon / 2) + 1))))


def piecewise(epsilon: float, points: int = POINTS) -> Table:
    """A row per window."""
    _check(epsilon)
    wide, heavy = window(epsilon, points), int(_UNIT * exponential(epsilon))
    rows = [
        tuple(heavy if start <= point < start + wide else _UNIT for point in range(points))
        for start in range(points - wide + 1)
    ]
    return Table(tuple(rows), tuple(Fraction(2 * point - points + 1) for point in range(points)))


def hybrid(epsilon: float, points: int = POINTS) -> Table:
    """Both, in one table out of 2^63 or a little less."""
    if epsilon <= HYBRID_FROM:
        return duchi(epsilon)
    lattice, corners = piecewise(epsilon, points), duchi(epsilon)
    share = Fraction(1) - Fraction(exp(-epsilon / 2)).limit_denominator(_UNIT)
    # Weights of the lattice are whole multiples of one factor; Duchi's two are filled up to a common total. A row's
    # Duchi chance is rounded towards even, which keeps its ratio; the row's number is taken from the rounded weights.
    factor = int(share * (WORD // 2)) // lattice.total
    rest = WORD // 2 - factor * lattice.total
    likely = Fraction(corners.rows[0][0], WORD)
    rows = []
    for row, number in zip(lattice.rows, lattice.exact_numbers, strict=True):
        minus = (likely * (1 - number) + (1 - likely) * (1 + number)) / 2
        down = floor(rest * minus) if 2 * minus > 1 else ceil(rest * minus)
        rows.append((*(factor * weight for weight in row), down, rest - down))
    gain = 1 / (2 * likely - 1)
    outputs = (*(output * lattice.scale for output in lattice.outputs), -gain, gain)
    return Table(tuple(rows), outputs)


def _check(epsilon: float) -> None:
    if epsilon > LARGEST_EPSILON:
        raise SpecificationError(
            what="epsilon", expected=f"at most {LARGEST_EPSILON:g} for this channel", got=f"{epsilon:g}"
        )
