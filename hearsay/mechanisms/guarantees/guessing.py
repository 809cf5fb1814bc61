"""What a guarantee means to somebody who guesses: the errors that no test of one value against another can avoid.

Given a report and the two values x and x' it may come from, let P_FA be the chance to guess x under x' and P_MD the
chance to guess x' under x. A channel keeps the bounds E[x, x'] and E[x', x] if and only if every test obeys

    P_FA + e^E[x', x] P_MD >= 1     and     e^E[x, x'] P_FA + P_MD >= 1.                          C theorem 1

The least errors form a triangle with the corners (1, 0), (0, 1) and, with a = E[x, x'], b = E[x', x],

    P_FA = (e^b - 1)/(e^(a+b) - 1),   P_MD = (e^a - 1)/(e^(a+b) - 1)                (C (23) prints the first one twice).
"""

from math import exp, expm1, inf, isinf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Errors(NamedTuple):
    """Chances of a false alarm and of a miss."""

    false_alarm: float
    miss: float


def unavoidable(epsilon_12: float, epsilon_21: float) -> Errors:
    """The corner of the region nearest to no error at all; epsilons may be infinite."""
    if epsilon_12 == epsilon_21 == 0:
        return Errors(0.5, 0.5)  # a report says nothing: any two errors that sum to one
    if isinf(epsilon_12):
        return Errors(0.0, 0.0 if isinf(epsilon_21) else exp(-epsilon_21))
    if isinf(epsilon_21):
        return Errors(exp(-epsilon_12), 0.0)
    both = expm1(epsilon_12 + epsilon_21)
    return Errors(expm1(epsilon_21) / both, expm1(epsilon_12) / both)


def boundary(epsilon_12: float, epsilon_21: float) -> list[Errors]:
    """The lower edge of the region, from never missing to never a false alarm; tests may lie on it or above it."""
    return [Errors(1.0, 0.0), unavoidable(epsilon_12, epsilon_21), Errors(0.0, 1.0)]


def possible(errors: Errors, epsilon_12: float, epsilon_21: float, tolerance: float = 1e-12) -> bool:
    """Whether a test with these errors can exist under the bounds."""
    return (
        errors.false_alarm + _scaled(epsilon_21, errors.miss) >= 1 - tolerance
        and _scaled(epsilon_12, errors.false_alarm) + errors.miss >= 1 - tolerance
    )


def _scaled(epsilon: float, chance: float) -> float:
    if isinf(epsilon):
        return inf if chance > 0 else 1.0  # nothing is promised: no error at all is possible
    return exp(epsilon) * chance


def achieved(one: NDArray[np.float64], other: NDArray[np.float64]) -> list[Errors]:
    """The least errors of the best tests of one row of a channel against another, by Neyman and Pearson.

    Outputs are taken as signs of `one` in the order of their likelihood ratio.
    """
    occurs = (one > 0) | (other > 0)
    mine, theirs = one[occurs], other[occurs]
    with np.errstate(divide="ignore"):
        order = np.argsort(-(np.log(mine) - np.log(theirs)), kind="stable")
    alarms = np.concatenate([[0.0], np.cumsum(theirs[order])])
    misses = 1.0 - np.concatenate([[0.0], np.cumsum(mine[order])])
    return [Errors(float(alarm), float(max(miss, 0.0))) for alarm, miss in zip(alarms, misses, strict=True)][::-1]
