"""Which of Kulkarni's properties (6.4) a matrix P[output, input] has.

RH   row honesty: no input gives an output more often than the input that equals it
RM   row monotone: an output is given less often, the further the input is from it
CH   column honesty: no wrong output is likelier than the truth
CM   column monotone: an output is less likely, the further it is from the truth
F    fairness: the truth has the same probability for every input
WH   weak honesty: the truth has at least the probability of a blind guess, 1/(n+1)
S    symmetry: P[i, j] = P[n-i, n-j]
CDP  the ratio that privacy asks of neighbouring inputs holds for neighbouring outputs too (7.1.3)

RM implies RH; CM implies CH, which implies WH. Every one is a set of linear inequalities, so that what the linear
program asks for and what this file looks for are the same table.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.counts.promise import Table

SEVEN = ("RH", "RM", "CH", "CM", "F", "WH", "S")
PROPERTIES = (*SEVEN, "CDP")
TOLERANCE = 1e-7
MEANINGS = {
    "RH": "row honesty",
    "RM": "row monotone",
    "CH": "column honesty",
    "CM": "column monotone",
    "F": "fairness",
    "WH": "weak honesty",
    "S": "symmetry",
    "CDP": "column ratio",
}
Cells = tuple[NDArray[np.intp], NDArray[np.intp]]


class AtLeast(NamedTuple):
    """P at each `larger` cell is at least P at the `smaller` cell beside it, or a times that where `scaled`."""

    larger: Cells
    smaller: Cells
    scaled: bool = False


def inequalities(name: str, largest: int) -> Iterator[AtLeast]:
    """What a property says, as pairs of cells; weak honesty, a bound on single cells, is not of this form."""
    i, j = np.indices((largest + 1, largest + 1))
    off = i != j
    outputs, inputs = i[off], j[off]
    nearer_input = inputs + np.sign(outputs - inputs)
    nearer_output = outputs + np.sign(inputs - outputs)
    match name:
        case "RH":
            yield AtLeast((outputs, outputs), (outputs, inputs))
        case "RM":
            yield AtLeast((outputs, nearer_input), (outputs, inputs))
        case "CH":
            yield AtLeast((inputs, inputs), (outputs, inputs))
        case "CM":
            yield AtLeast((nearer_output, inputs), (outputs, inputs))
        case "F":
            cell = np.arange(largest + 1)
            yield AtLeast((cell, cell), (np.roll(cell, 1), np.roll(cell, 1)))
        case "S":
            yield AtLeast((i.ravel(), j.ravel()), (largest - i.ravel(), largest - j.ravel()))
        case "CDP":
            above, below = (i[:-1].ravel(), j[:-1].ravel()), (i[1:].ravel(), j[1:].ravel())
            yield AtLeast(above, below, scaled=True)
            yield AtLeast(below, above, scaled=True)


def has(matrix: Table, name: str, ratio: Fraction | None = None, tolerance: float = TOLERANCE) -> bool:
    """Whether a matrix of probabilities has a property, up to the tolerance."""
    largest = len(matrix) - 1
    matrix = matrix.astype(np.float64)
    if name == "WH":
        return bool((np.diag(matrix) >= 1 / (largest + 1) - tolerance).all())
    return all(
        bool((matrix[pair.larger] >= _factor(pair, ratio) * matrix[pair.smaller] - tolerance).all())
        for pair in inequalities(name, largest)
    )


def properties_of(matrix: Table, ratio: Fraction | None = None, tolerance: float = TOLERANCE) -> tuple[str, ...]:
    """Every property that a matrix of probabilities has; CDP is looked for where the ratio is given."""
    names = SEVEN if ratio is None else PROPERTIES
    return tuple(name for name in names if has(matrix, name, ratio, tolerance))


def derivable_from_gm(matrix: Table, ratio: Fraction, tolerance: float = TOLERANCE) -> bool:
    """Whether the outputs of gm, transformed at random, could have this distribution (Gupte and Sundararajan 2010).

    P = T GM, and the inverse of GM has three diagonals: T is a channel where no entry of it is negative, that is where
    P[i, j] - a P[i, j-1] >= a (P[i, j+1] - a P[i, j]) for every three neighbouring inputs, and P keeps the ratio.
    """
    matrix, a = matrix.astype(np.float64), float(ratio)
    left, middle, right = matrix[:, :-2], matrix[:, 1:-1], matrix[:, 2:]
    ends = (matrix[:, 0] - a * matrix[:, 1], matrix[:, -1] - a * matrix[:, -2])
    inner: Any = middle - a * left - a * (right - a * middle)
    return bool(all((part >= -tolerance).all() for part in (inner, *ends)))


def gaps(matrix: Table) -> list[int]:
    """Outputs that are never given."""
    return [int(output) for output in np.flatnonzero(matrix.astype(np.float64).max(axis=1) <= 0)]


def dishonest(matrix: Table) -> list[int]:
    """Inputs for which some wrong output is likelier than the truth."""
    matrix = matrix.astype(np.float64)
    return [int(given) for given in np.flatnonzero(matrix.max(axis=0) > np.diag(matrix) + TOLERANCE)]


def _factor(pair: AtLeast, ratio: Fraction | None) -> float:
    if not pair.scaled:
        return 1.0
    if ratio is None:
        raise ValueError("the column ratio can only be looked for where the ratio is given")
    return float(ratio)
