"""How strongly two attributes go together: Pearson's coefficient of two binary ones, else Cramer's V.

phi = (P11 - p q)/sqrt(p(1-p) q(1-q)), between -1 and 1 (Kulkarni figure 4.2); for r x c tables
V = sqrt(sum (P - p q')^2/(p q')/min(r-1, c-1)), between 0 and 1. The standard error is of first order, from the cells'
covariance, and so is phi's interval; where a value's share cannot be told from 0 that is everything. V cannot be
negative and overstates weak association: its interval is that of module `dependence`, and 0 belongs to it where the
test of independence accepts. First order fails where V divides by shares near 0: it says 100 of a coefficient below 1.
So wherever the interval is not of first order, 1.96 standard errors are at most its longer side.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Z95, Floats
from hearsay.mechanisms.marginals.analyses.association import associate
from hearsay.mechanisms.marginals.analyses.dependence import interval
from hearsay.mechanisms.marginals.table import Table

_STEP = 1e-6


class Correlation(NamedTuple):
    """A coefficient with its standard error and its 95% interval; NaN where an attribute has only one value."""

    value: float
    stderr: float
    low: float
    high: float


def correlation(table: Table) -> Correlation:
    """phi or V of a measured table of two attributes."""
    if len(table.shape) != 2:
        raise QueryError(f"a correlation needs two attributes, got {len(table.shape)}")
    binary = table.shape == (2, 2)
    shares = table.value if binary else table.projected
    value = float(coefficient(shares, table.shape))
    if not np.isfinite(value):
        return Correlation(np.nan, np.nan, np.nan, np.nan)
    stderr = _first_order(shares, table)
    if binary and not _divides(table):
        return _bounded(value, stderr, -1.0, 1.0)
    if binary:
        return Correlation(value, stderr, *np.clip((value - Z95 * stderr, value + Z95 * stderr), -1.0, 1.0))
    if not np.isfinite(table.covariance).all():  # a model
        return Correlation(value, stderr, np.nan, np.nan)
    low, high = interval(table, cramers_v, value, associate(table))
    return _bounded(value, stderr, low, min(high, 1.0))


def _bounded(value: float, stderr: float, low: float, high: float) -> Correlation:
    """With a standard error that is at most what its interval says."""
    return Correlation(value, min(stderr, max(high - value, value - low) / Z95), low, high)


def _divides(table: Table) -> bool:
    """Whether every value of both attributes is held by somebody: phi divides by their shares."""
    if table.largest:  # no normal error is known
        return False
    for axis in range(2):
        sums = table.along((axis,))
        variance = np.diag(sums @ table.careful @ sums.T)
        if (sums @ table.value < Z95 * np.sqrt(np.maximum(variance, 0.0))).any():
            return False
    return True


def _first_order(shares: Floats, table: Table) -> float:
    moved = [
        (coefficient(shares + _STEP * unit, table.shape) - coefficient(shares - _STEP * unit, table.shape))
        / (2 * _STEP)
        for unit in np.eye(shares.size)
    ]
    gradient = np.array(moved)
    gradient[~np.isfinite(gradient)] = 0.0
    variance = float(gradient @ table.careful @ gradient)
    return float(np.sqrt(max(variance, 0.0)))


def cramers_v(tables: Floats) -> Floats:
    """V of probability tables, shape (..., rows, columns); 0 where an attribute has only one value."""
    p, q = tables.sum(axis=-1, keepdims=True), tables.sum(axis=-2, keepdims=True)
    expected = p * q
    parts = np.where(expected > 0, (tables - expected) ** 2 / np.where(expected > 0, expected, 1.0), 0.0)
    least = np.minimum((p > 0).sum(axis=(-1, -2)), (q > 0).sum(axis=(-1, -2))) - 1
    coefficients: Floats = np.sqrt(parts.sum(axis=(-1, -2)) / np.maximum(least, 1))
    return coefficients


def coefficient_name(shape: Sequence[int]) -> str:
    """Which coefficient a table of this shape has."""
    return "pearson" if tuple(shape) == (2, 2) else "cramers-v"


def coefficient(cells: Floats, shape: tuple[int, ...]) -> float:
    """phi of a 2 x 2 table, V of a larger one."""
    table = cells.reshape(shape)
    p, q = table.sum(axis=1), table.sum(axis=0)
    if shape == (2, 2):
        spread = p[0] * p[1] * q[0] * q[1]
        if p.min() <= 0 or q.min() <= 0:
            return float("nan")
        return float((table[1, 1] * table[0, 0] - table[0, 1] * table[1, 0]) / np.sqrt(spread))
    if min((p > 0).sum(), (q > 0).sum()) < 2:
        return float("nan")
    return float(cramers_v(table))
