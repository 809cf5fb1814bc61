"""Intervals for measures of dependence, which are 0 for independent attributes and never negative.

    P^       the estimated table          Sigma    the covariance of its errors
    P        a table that may be true     r        how many standard errors P is away from P^
    x^2      the statistic of the test of independence, with (rows - 1)(columns - 1) degrees of freedom

Such a measure has no normal error near 0, where it matters, and noise makes it look larger than it is. So its interval
is the least and the greatest value over the tables on the surface

    (P - P^)' Sigma^-1 (P - P^) = r^2,     that is     P = P^ + r Sigma^(1/2) u,  |u| = 1,

each projected to probabilities. The lower end is 0 where the test of independence accepts. Where reports are so few
that a table's own errors are not known, the interval holds every table.

**How far.** Outwards r = 1.96. Inwards x^2 says how much of the distance from independence is noise: it is non-central
chi-squared with parameter lambda. r = x - sqrt(lambda), for the lambda under which the statistic exceeds x^2 with
chance 2.5%: about 1.96 + (degrees - 1)/(2x), and 1.96 for two binary attributes.

**The search** for the extreme u (`_search`): 256 fixed directions, then six rounds, each with the directions around the
best one so far at half the width; with more than four cells also along the slope, and to the independent table. Tables
in the corners of the simplex, which the surface misses, are tried one by one (`_among_listed`).

**Four cells.** Shares 0.4 0.1 / 0.1 0.4 have |0.4 0.4 - 0.1 0.1| = 0.15 between them. With a standard error of 0.02 in
every cell, the table moves by r 0.02 u. The measure changes most along u = (1, -1, -1, 1)/2, by r 0.02 (0.4 + 0.1) each
way: from 0.15 to 0.15 + 1.96 0.02 0.5 = 0.17 at r = 1.96.

>>> table = Table((0, 1), (2, 2), 10_000, np.array([0.4, 0.1, 0.1, 0.4]), 0.0004 * np.eye(4))
>>> determinant = lambda P: abs(P[:, 0, 0] * P[:, 1, 1] - P[:, 0, 1] * P[:, 1, 0])
>>> float(round(_extreme(table, determinant, -1.0, Z95), 3))
0.17
"""

from collections.abc import Callable
from functools import lru_cache
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from hearsay.mechanisms.estimates.estimate import Z95, Floats
from hearsay.mechanisms.marginals.analyses.association import Association
from hearsay.mechanisms.marginals.table import Table

LEVEL = 0.05
FEW_REPORTS = 30
_LARGE = 900.0  # a statistic from which the expansion is exact enough, and the distribution slow
_DIRECTIONS = 256
_WEIGHTS = 31
_ROUNDS = 6
_SEED = 11
_STEPS = np.array([[0.25], [0.5], [1.0], [2.0]])  # along the slope, in widths
_DIFFERENCE = 1e-3
Measure = Callable[[Floats], Floats]  # of probability tables, shape (count, rows, columns)


def interval(table: Table, measure: Measure, value: float, test: Association) -> tuple[float, float]:
    """The 95% interval of a measure whose estimate is `value`."""
    if table.largest or table.reports < FEW_REPORTS:  # no normal error is known: any table is possible
        return 0.0, max(float(measure(_listed_tables(table.shape).reshape(-1, *table.shape)).max()), value)
    r = inf if test.p_value > LEVEL else inward_distance(test)
    low = 0.0 if r == inf else _extreme(table, measure, 1.0, r)
    high = _extreme(table, measure, -1.0, Z95)
    return min(low, value), max(high, value)


def inward_distance(test: Association) -> float:
    """r towards independence; infinite where independence is reached."""
    from scipy import optimize, stats

    if test.simulated:  # the statistic has no known distribution: all directions together
        return sqrt(_most_squared(test.degrees))
    x = sqrt(test.statistic)
    if test.degrees == 1 or test.statistic > _LARGE:
        return Z95 + (test.degrees - 1) / (2 * x)
    if stats.chi2.sf(test.statistic, test.degrees) >= LEVEL / 2:
        return inf

    def excess(noncentrality: float) -> float:
        return float(stats.ncx2.sf(test.statistic, test.degrees, noncentrality)) - LEVEL / 2

    return x - sqrt(optimize.brentq(excess, 1e-12, test.statistic))


class _Axes(NamedTuple):
    """Sigma = vectors diag(variances) vectors', without the directions in which there is no error.

    Processors find different eigenvectors where variances are equal. So directions are given by cells, and roots are
    the symmetric ones, which are unique: every processor searches the same tables.
    """

    variances: Floats
    vectors: Floats

    @classmethod
    def of(cls, table: Table) -> "_Axes":
        variances, vectors = np.linalg.eigh((table.covariance + table.covariance.T) / 2)
        kept = variances > 1e-12 * variances[-1]
        return cls(variances[kept], vectors[:, kept])

    def root(self, r: float) -> Floats:
        """r Sigma^(1/2): what it makes of a unit vector u is P - P^ on the surface."""
        return (self.vectors * (r * np.sqrt(self.variances))) @ self.vectors.T

    def coordinates(self, difference: Floats) -> Floats:
        """Sigma^(-1/2) of differences of tables: how many standard errors they are long, cell by cell."""
        along: Floats = (difference @ self.vectors / np.sqrt(self.variances)) @ self.vectors.T
        return along

    def directions(self) -> Floats:
        """The fixed directions of the search, without their parts in which there is no error, one per row."""
        along: Floats = (_directions(len(self.vectors)) @ self.vectors) @ self.vectors.T
        return along


def _extreme(table: Table, measure: Measure, sign: float, r: float) -> float:
    """The least (sign 1) or greatest (sign -1) value of the measure on the surface and among the listed tables."""
    axes = _Axes.of(table)
    root = axes.root(r)

    def at(directions: Floats) -> Floats:
        """The measure, times the sign, of P^ + r Sigma^(1/2) u for the unit vectors u along these directions."""
        u = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        return sign * measure(project_rows(table.value + u @ root.T).reshape(-1, *table.shape))

    return sign * min(_search(table, axes, at), _among_listed(table, measure, sign, axes))


def _search(table: Table, axes: _Axes, at: Measure) -> float:
    """The least that `at` becomes: many directions, then narrower and narrower around the best."""
    drawn = axes.directions()
    large = table.value.size > 4  # in many dimensions random directions alone miss the best one
    best, least, width = drawn[0], np.inf, 1.0
    near = np.concatenate([drawn, _to_independence(table, axes)]) if large else drawn
    for _ in range(_ROUNDS):
        values = at(near)
        position = int(np.argmin(values))
        if values[position] < least:
            best, least = near[position] / np.linalg.norm(near[position]), float(values[position])
        width /= 2
        near = best + width * drawn / np.sqrt(axes.variances.size)
        if large:
            near = np.concatenate([near, best - width * _STEPS * _slope(at, best)])
    return float(least)


def _among_listed(table: Table, measure: Measure, sign: float, axes: _Axes) -> float:
    """The extreme over listed tables that the estimate does not contradict in all directions together.

    Noise that reaches beyond all tables projects to single cells, which depend on nothing; and full dependence lies in
    corners, which the surface alone misses.
    """
    listed = _listed_tables(table.shape)
    squared_distance = (axes.coordinates(listed - table.value) ** 2).sum(axis=1)
    possible = listed[squared_distance <= _most_squared(axes.variances.size)]
    return float((sign * measure(possible.reshape(-1, *table.shape))).min(initial=np.inf))


@lru_cache(maxsize=64)
def _directions(dimensions: int) -> Floats:
    """Fixed directions, one per row."""
    drawn = np.random.default_rng(_SEED).standard_normal((_DIRECTIONS, dimensions))
    drawn.flags.writeable = False  # all searches share it
    return drawn


@lru_cache(maxsize=64)
def _most_squared(degrees: int) -> float:
    """The square of a distance in standard errors that chance does not exceed, in so many directions together."""
    from scipy import stats

    return float(stats.chi2.ppf(1 - LEVEL, degrees))


@lru_cache(maxsize=64)
def _listed_tables(shape: tuple[int, ...]) -> Floats:
    """Tables that depend on each other from hardly to fully, one per row."""
    cells, fully = shape[0] * shape[1], []
    for shift in range(max(shape)):
        for uneven in np.exp(np.linspace(-3, 3, _WEIGHTS)):
            table = np.zeros(shape)
            for step in range(max(shape)):
                table[step % shape[0], (step + shift) % shape[1]] = uneven ** (step % 2)
            fully.append(table.reshape(-1) / table.sum())
    drawn = np.random.default_rng(_SEED).dirichlet(np.full(cells, 0.3), _DIRECTIONS)
    return np.concatenate([np.array(fully), drawn])


def _to_independence(table: Table, axes: _Axes) -> Floats:
    """The direction of the independent table with the same row and column sums, and its opposite."""
    shares = table.projected.reshape(table.shape)
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0)).reshape(-1)
    direction = axes.coordinates(independent - table.value)
    length = float(np.linalg.norm(direction))
    return np.stack([direction, -direction]) / length if length > 0 else np.zeros((0, table.value.size))


def _slope(at: Measure, best: Floats) -> Floats:
    """The direction in which `at` rises most, by differences."""
    ends = np.concatenate([best + _DIFFERENCE * np.eye(best.size), best - _DIFFERENCE * np.eye(best.size)])
    up, down = np.split(at(ends), 2)
    slope: Floats = up - down
    return slope / max(float(np.linalg.norm(slope)), 1e-300)


def project_rows(tables: Floats) -> Floats:
    """Each row's nearest probability vector, all at once (`postprocess.project` says how)."""
    falling = -np.sort(-tables, axis=1)
    amounts = (np.cumsum(falling, axis=1) - 1) / np.arange(1, tables.shape[1] + 1)
    kept = (falling > amounts).sum(axis=1) - 1
    return np.maximum(tables - amounts[np.arange(len(tables)), kept][:, None], 0.0)
