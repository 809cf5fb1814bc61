"""Shares among the devices that hold what is given: r = x/y, with Fieller's interval.

    x    the share of a cell                       xx   Var x
    y    the share of what is given: the sum       yy   Var y
         of the cells in the same group as x       xy   Cov(x, y)
    w    y - x, the share of the others            z    1.96

**Fieller's interval.** A ratio of two noisy shares has no normal error where y is small. The interval holds every r for
which x - r y is at most z of its own standard errors away from 0:

    (x - r y)^2 <= z^2 (xx - 2 r xy + r^2 yy)     or     a r^2 - 2 b r + c <= 0
    with a = y^2 - z^2 yy,   b = x y - z^2 xy,   c = x^2 - z^2 xx

so its ends are (b -+ sqrt(b^2 - a c))/a, cut to 0..1. Where a <= 0, y could be 0, and the interval is 0..1.

**Few reports.** Where the cells have Bernstein's intervals, r = x/(x + w) is least with the least x and the largest w
that these allow, and greatest with the largest x and the least w.

Where a cell's interval is wider than its standard error says, its variance here is that of the interval
(`Table.careful`).

**Four cells.** Attribute A down, attribute B across, shares 0.4 0.1 / 0.1 0.4, each with a standard error of 0.02.
Given B = 0, which holds y = 0.4 + 0.1, the cell (0, 0) has r = 0.4/0.5 = 0.8. Its errors are xx = xy = 0.0004 and
yy = 0.0008, so that a = 0.2469, b = 0.1985, c = 0.1585:

>>> table = Table((0, 1), (2, 2), 10**9, np.array([0.4, 0.1, 0.1, 0.4]), 0.0004 * np.eye(4))
>>> shares = conditional(table, given=(1,))
>>> shares.value.round(3).tolist()
[0.8, 0.2, 0.2, 0.8]
>>> [float(round(end[0], 3)) for end in shares.ends()]
[0.739, 0.869]
"""

import numpy as np

from hearsay.mechanisms.estimates.estimate import Z95, Floats, Measured
from hearsay.mechanisms.marginals.table import Table


def conditional(table: Table, given: tuple[int, ...]) -> Measured:
    """Shares of a table's cells within the cells of the axes `given` (positions of axes), row-major as the table."""
    group = _same_group(table, given)
    x, y = table.value, group @ table.value
    xx, xy, yy = _covariances(table.careful, group)
    ratio = fieller(x, y, xx, xy, yy)
    if not table.largest:
        return ratio
    others = int(group.sum(axis=1)[0]) - 1
    return _few_reports(table, ratio, x, y - x, xx - 2 * xy + yy, others)


def _same_group(table: Table, given: tuple[int, ...]) -> Floats:
    """A matrix over the cells: 1 where two of them agree on the given axes."""
    digits = np.unravel_index(np.arange(table.value.size), table.shape)
    numbers = np.ravel_multi_index(tuple(digits[axis] for axis in given), tuple(table.shape[axis] for axis in given))
    return (numbers[:, None] == numbers[None, :]).astype(np.float64)


def _covariances(covariance: Floats, group: Floats) -> tuple[Floats, Floats, Floats]:
    """xx, xy and yy of every cell x and the sum y of its group."""
    xx, xy = np.diag(covariance), np.einsum("ij,ij->i", group, covariance)
    yy = np.einsum("ij,jk,ik->i", group, covariance, group, optimize=True)
    return xx, xy, yy


def fieller(x: Floats, y: Floats, xx: Floats, xy: Floats, yy: Floats) -> Measured:
    """x/y with its interval inside 0..1, from the variances of x and y and their covariance."""
    a, b, c = y**2 - Z95**2 * yy, x * y - Z95**2 * xy, x**2 - Z95**2 * xx
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    bounded = (a > 0) & (y > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.where(y > 0, x / y, np.nan)
        stderr = np.where(y > 0, np.sqrt(np.maximum(xx - 2 * r * xy + r**2 * yy, 0.0)) / y, np.nan)
        low, high = np.where(bounded, (b - root) / a, 0.0), np.where(bounded, (b + root) / a, 1.0)
    return Measured(r, stderr, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0))


def _few_reports(table: Table, ratio: Measured, x: Floats, w: Floats, ww: Floats, cells: int) -> Measured:
    """x/(x + w) with the ends of Bernstein's intervals; w, with variance `ww`, is a sum of so many cells."""
    if not np.isfinite(table.largest):  # no report tells anything
        unknown = np.full(x.shape, np.inf)
        return Measured(ratio.value, unknown, np.zeros(x.shape), np.ones(x.shape))
    x_reach = table.bernstein(table.stderr)
    w_reach = table.bernstein(np.sqrt(np.maximum(ww, table.cautious**2)), cells)
    least_x, most_x = np.maximum(x - x_reach, 0.0), np.maximum(x + x_reach, 0.0)
    least_w, most_w = np.maximum(w - w_reach, 0.0), np.maximum(w + w_reach, 0.0)
    low = np.clip(_part(least_x, most_w), 0.0, 1.0)
    high = np.clip(_part(most_x, least_w), 0.0, 1.0)
    return Measured(ratio.value, np.maximum(ratio.stderr, (high - low) / (2 * Z95)), low, high)


def _part(x: Floats, w: Floats) -> Floats:
    """x/(x + w), and 0 where both are 0."""
    return x / np.maximum(x + w, 1e-300)
