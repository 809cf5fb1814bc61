"""What a guarantee means to somebody who guesses: the errors that no test of one value against another can avoid.

Given a report and the two values x and x' it may come from, let P_FA be the chance to guess x under x' and P_MD the
chance to guess x' under x. A channel keeps the bounds E[x, x'] and E[x', x] if and only if every test obeys

    P_FA + e^E[x', x] P_MD >= 1     and     e^E[x, x'] P_FA + P_MD >= 1.                          C theorem 1

The least errors (P_FA, P_MD) lie on two line segments: from (1, 0) to a corner, and from there to (0, 1). With
a = E[x, x'] and b = E[x', x] the corner is

    P_FA = (e^b - 1)/(e^(a+b) - 1),   P_MD = (e^a - 1)/(e^(a+b) - 1)                (C (23) prints the first one twice).

In the code epsilon_12 is a, epsilon_21 is b.
"""

from math import exp, expm1, inf, isinf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Errors(NamedTuple):
    """Chances of a false alarm, P_FA, and of a miss, P_MD."""

    false_alarm: float
    miss: float


def unavoidable(epsilon_12: float, epsilon_21: float) -> Errors:
    """The corner of the least errors; epsilons may be infinite."""
    if epsilon_12 == epsilon_21 == 0:
        return Errors(0.5, 0.5)  # a report says nothing: both segments lie on one line, errors that sum to one
    if isinf(epsilon_12):
        return Errors(0.0, 0.0 if isinf(epsilon_21) else exp(-epsilon_21))
    if isinf(epsilon_21):
        return Errors(exp(-epsilon_12), 0.0)
    both = expm1(epsilon_12 + epsilon_21)
    return Errors(expm1(epsilon_21) / both, expm1(epsilon_12) / both)


def boundary(epsilon_12: float, epsilon_21: float) -> list[Errors]:
    """The ends of the two segments, from a test that never misses to one without false alarms. No test lies below."""
    return [Errors(1.0, 0.0), unavoidable(epsilon_12, epsilon_21), Errors(0.0, 1.0)]


def possible(errors: Errors, epsilon_12: float, epsilon_21: float, tolerance: float = 1e-12) -> bool:
    """Whether a test with these errors can exist under the bounds."""
    return (
        errors.false_alarm + _scaled(epsilon_21, errors.miss) >= 1 - tolerance
        and _scaled(epsilon_12, errors.false_alarm) + errors.miss >= 1 - tolerance
    )


def _scaled(epsilon: float, chance: float) -> float:
    if isinf(epsilon):
        return inf if chance > 0 else 1.0  # nothing is promised: the inequality holds, even for an error of zero
    return exp(epsilon) * chance


def achieved(one: NDArray[np.float64], other: NDArray[np.float64]) -> list[Errors]:
    """The errors of the best tests of one value against another, by Neyman and Pearson, from never missing on.

    `one` and `other` are their rows of a channel, x and x'. A test guesses x after the outputs with the largest
    likelihood ratios; every number of such outputs is a test.
    """
    occurs = (one > 0) | (other > 0)
    under_one, under_other = one[occurs], other[occurs]
    with np.errstate(divide="ignore"):
        order = np.argsort(-(np.log(under_one) - np.log(under_other)), kind="stable")
    alarms = np.concatenate([[0.0], np.cumsum(under_other[order])])
    misses = 1.0 - np.concatenate([[0.0], np.cumsum(under_one[order])])
    return [Errors(float(alarm), float(max(miss, 0.0))) for alarm, miss in zip(alarms, misses, strict=True)][::-1]
