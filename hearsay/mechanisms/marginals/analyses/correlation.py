"""How strongly two attributes go together: Pearson's coefficient of two binary ones, else Cramer's V.

phi = (P11 - p q)/sqrt(p(1-p) q(1-q)), between -1 and 1 (Kulkarni figure 4.2); for r x c tables
V = sqrt(sum (P - p q')^2/(p q')/min(r-1, c-1)), between 0 and 1. The standard error is of first order, from the cells'
covariance; V has none near 0, where it cannot be negative, and overstates weak association: see `association`.
"""

import numpy as np

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.marginals.table import Table

_STEP = 1e-6


def correlation(table: Table) -> tuple[float, float]:
    """The coefficient and its standard error; NaN where an attribute has only one value."""
    if len(table.shape) != 2:
        raise QueryError(f"a correlation needs two attributes, got {len(table.shape)}")
    binary = table.shape == (2, 2)
    held = table.value if binary else table.held
    value = float(coefficient(held, table.shape))
    if not np.isfinite(value):
        return np.nan, np.nan
    moved = [
        (coefficient(held + _STEP * unit, table.shape) - coefficient(held - _STEP * unit, table.shape)) / (2 * _STEP)
        for unit in np.eye(held.size)
    ]
    gradient = np.array(moved)
    gradient[~np.isfinite(gradient)] = 0.0
    variance = float(gradient @ table.conditional @ gradient)
    return value, float(np.sqrt(max(variance, 0.0)))


def coefficient(cells: Floats, shape: tuple[int, ...]) -> float:
    """phi of a 2 x 2 table, V of a larger one."""
    table = cells.reshape(shape)
    p, q = table.sum(axis=1), table.sum(axis=0)
    if shape == (2, 2):
        spread = p[0] * p[1] * q[0] * q[1]
        if p.min() <= 0 or q.min() <= 0:
            return float("nan")
        return float((table[1, 1] * table[0, 0] - table[0, 1] * table[1, 0]) / np.sqrt(spread))
    kept_rows, kept_columns = p > 0, q > 0
    least = min(kept_rows.sum(), kept_columns.sum()) - 1
    if least < 1:
        return float("nan")
    expected = np.outer(p, q)[np.ix_(kept_rows, kept_columns)]
    surplus = table[np.ix_(kept_rows, kept_columns)] - expected
    return float(np.sqrt((surplus**2 / expected).sum() / least))
