"""Intervals that hold for all cells at once, beside the pointwise ones.

For m normal errors with any correlation, P(all |Z_i| <= z) >= prod P(|Z_i| <= z) (Sidak 1967), so each interval at
level (1 - a)^(1/m) gives all of them at level 1 - a: never wider than Bonferroni's 1 - a/m.
"""

from math import expm1, log1p
from statistics import NormalDist

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Floats, Measured

METHODS = ("sidak", "bonferroni")


def critical_value(cells: int, confidence: float = 0.95, method: str = "sidak") -> float:
    """How many standard errors an interval needs so that `cells` of them hold together."""
    if not 0 < confidence < 1:
        raise QueryError(f"confidence must be above 0 and below 1, got {confidence!r}")
    if method not in METHODS:
        raise QueryError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    cells = max(cells, 1)
    outside = (1 - confidence) / cells if method == "bonferroni" else -expm1(log1p(confidence - 1) / cells)
    return -NormalDist().inv_cdf(outside / 2)


def intervals(measured: Measured, confidence: float = 0.95, method: str = "sidak") -> tuple[Floats, Floats]:
    """Lower and upper ends for every cell, all of which hold together with the confidence asked for."""
    z = critical_value(measured.value.size, confidence, method)
    return measured.value - z * measured.stderr, measured.value + z * measured.stderr
