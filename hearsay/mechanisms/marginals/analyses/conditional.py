"""Shares among the devices that hold something: f_ab/f_b, with Fieller's interval.

A ratio of two noisy shares has no normal error where the denominator is small. Fieller: all r for which the numerator
less r times the denominator is within 1.96 of its own standard error; cut to 0..1. Where the denominator cannot be told
from zero, that is everything: low = 0, high = 1. Where reports are so few that tables have Bernstein's intervals, a
share is x/(x + w) with w the others that hold what is given, and its interval that of x and w as far apart as theirs.
Where a cell's interval is wider than its standard error says, its variance here is that of the interval.
"""

import numpy as np

from hearsay.mechanisms.estimates.estimate import Z95, Floats, Measured
from hearsay.mechanisms.marginals.table import Table


def conditional(table: Table, given: tuple[int, ...]) -> Measured:
    """Shares of a table's cells within the cells of the axes `given` (places of axes), row-major as the table."""
    digits = np.unravel_index(np.arange(table.value.size), table.shape)
    groups = np.ravel_multi_index(tuple(digits[axis] for axis in given), tuple(table.shape[axis] for axis in given))
    same = (groups[:, None] == groups[None, :]).astype(np.float64)
    x, y = table.value, same @ table.value
    covariance = table.careful
    xx, xy = np.diag(covariance), np.einsum("ij,ij->i", same, covariance)
    yy = np.einsum("ij,jk,ik->i", same, covariance, same, optimize=True)
    ratio = fieller(x, y, xx, xy, yy)
    return (
        _few_reports(table, ratio, x, y - x, xx - 2 * xy + yy, int(same.sum(axis=1)[0]) - 1) if table.largest else ratio
    )


def _few_reports(table: Table, ratio: Measured, x: Floats, rest: Floats, variance: Floats, cells: int) -> Measured:
    """x/(x + rest), `rest` being a sum of so many cells, where reports are few."""
    if not np.isfinite(table.largest):
        unknown = np.full(x.shape, np.inf)
        return Measured(ratio.value, unknown, np.zeros(x.shape), np.ones(x.shape))
    spread = np.sqrt(np.maximum(variance, table.cautious**2))
    own, others = table.bernstein(table.stderr), table.bernstein(spread, cells)
    least, most = np.maximum(x - own, 0.0), np.maximum(x + own, 0.0)
    low = least / np.maximum(least + np.maximum(rest + others, 0.0), 1e-300)
    high = most / np.maximum(most + np.maximum(rest - others, 0.0), 1e-300)
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    return Measured(ratio.value, np.maximum(ratio.stderr, (high - low) / (2 * Z95)), low, high)


def fieller(x: Floats, y: Floats, xx: Floats, xy: Floats, yy: Floats) -> Measured:
    """x/y with its interval inside 0..1, from the variances of x and y and their covariance."""
    a, b, c = y**2 - Z95**2 * yy, x * y - Z95**2 * xy, x**2 - Z95**2 * xx
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    sound = (a > 0) & (y > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(y > 0, x / y, np.nan)
        stderr = np.where(y > 0, np.sqrt(np.maximum(xx - 2 * ratio * xy + ratio**2 * yy, 0.0)) / y, np.nan)
        low, high = np.where(sound, (b - root) / a, 0.0), np.where(sound, (b + root) / a, 1.0)
    return Measured(ratio, stderr, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0))
