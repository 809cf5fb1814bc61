"""Intervals that hold for all cells at once, beside the pointwise ones.

For m normal errors with any correlation, P(all |Z_i| <= z) >= prod P(|Z_i| <= z) (Sidak 1967), so each interval at
level (1 - a)^(1/m) gives all of them at level 1 - a: never wider than Bonferroni's 1 - a/m. Estimates whose intervals
are no plain ones work them out at that level (`Estimate.at_level`).
"""

from functools import lru_cache
from math import expm1, log1p
from statistics import NormalDist

import numpy as np

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Floats, Measured

METHODS = ("sidak", "bonferroni")
CONFIDENCE, TOGETHER = 0.95, "sidak"  # of intervals that hold for all cells at once


@lru_cache(maxsize=1_024)
def critical_value(cells: int, confidence: float = CONFIDENCE, method: str = TOGETHER) -> float:
    """How many standard errors an interval needs so that `cells` of them hold together."""
    if not 0 < confidence < 1:
        raise QueryError(what="confidence", expected="above 0 and below 1", got=repr(confidence))
    if method not in METHODS:
        raise QueryError(what="method", expected=f"one of {', '.join(METHODS)}", got=repr(method))
    cells = max(cells, 1)
    outside = (1 - confidence) / cells if method == "bonferroni" else -expm1(log1p(confidence - 1) / cells)
    return -NormalDist().inv_cdf(outside / 2)


def together(plain: Measured, wide: Measured, z: float) -> tuple[Floats, Floats]:
    """Ends of intervals that hold together: those of the level z, nowhere narrower than the plain ones."""
    (low, high), (least, most) = plain.ends(), wide.ends()
    away = z * plain.stderr
    return (
        np.fmin.reduce([low, least, plain.value - away]),
        np.fmax.reduce([high, most, plain.value + away]),
    )
