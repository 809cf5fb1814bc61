"""The mechanisms that the figures compare, as integers, each computed once."""

from functools import cache
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.counts.comparators import exponential, rounded_laplace
from hearsay.mechanisms.counts.design import Design
from hearsay.mechanisms.counts.integers import to_integers, to_shares
from hearsay.mechanisms.counts.promise import Promise, Table, ratio_of
from hearsay.mechanisms.counts.properties import SEVEN

Floats = NDArray[np.float64]
STRONG, WEAK = 0.91, 0.67  # K's two settings of a = exp(-epsilon), after the privacy they give
SIZES = (4, 8, 12)
# 6.7.4: nothing asked for, weak honesty, fairness, all properties; and guessing.
SETS: dict[str, tuple[str, ...]] = {"UCM": (), "WM": ("WH",), "FM": ("F",), "AM": SEVEN}


class Contender(NamedTuple):
    """A mechanism for groups of one size, as a matrix: a row for each released count, a column for each true one.

    `whole` has integers out of 2^64, `shares` the same as probabilities.
    """

    name: str
    whole: Table

    @property
    def shares(self) -> Floats:
        return to_shares(self.whole)


@cache
def design(mechanism: str, largest: int, ratio: float, **options: object) -> Table:
    """The integers of a design at a = ratio."""
    made = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    return Design(mechanism, largest, -log(ratio), made).whole()


def for_l0(largest: int, ratio: float) -> list[Contender]:
    """The named mechanisms, all designed for L0."""
    made = [Contender(name, design(name, largest, ratio)) for name in ("gm", "wm", "em", "um")]
    return [*made[:3], Contender("em, least L1", design("em", largest, ratio, tie="l1")), made[3]]


def comparators(largest: int, ratio: float) -> list[Contender]:
    """Older ways, made exactly private like the others."""
    promise, epsilon = Promise(ratio_of(-log(ratio))), -log(ratio)
    made = {"exponential": exponential(largest, epsilon), "rounded laplace": rounded_laplace(largest, epsilon)}
    return [Contender(name, to_integers(matrix, promise)) for name, matrix in made.items()]


def for_objective(objective: str, largest: int, ratio: float) -> list[Contender]:
    """The four sets of properties under an objective, and guessing."""
    solved = [
        Contender(name, design("lp", largest, ratio, objective=objective, properties=properties))
        for name, properties in SETS.items()
    ]
    return [*solved, Contender("UM", design("um", largest, ratio))]
