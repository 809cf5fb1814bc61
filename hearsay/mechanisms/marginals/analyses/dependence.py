"""Intervals for measures of dependence, which are 0 for independent attributes and never negative.

Such a measure has no normal error near 0, where it matters, and noise makes it look larger than it is. So its interval
is the least and the greatest value over all tables at some distance from the estimate, {(P - P^)' Sigma^-1 (P - P^) =
r^2}, each projected to probabilities; the lower end is 0 where the test of independence accepts. Where reports are so
few that a table's own errors are not known, it is everything.

How far: outwards r = 1.96. Inwards the test's statistic x^2 says how much of the distance from independence is noise:
it is non-central chi-squared with (r-1)(c-1) degrees, and r = x - sqrt(lambda) with the lambda that it exceeds with
chance 2.5%: about 1.96 + (degrees - 1)/(2x), and 1.96 for two binary attributes.
"""

from collections.abc import Callable
from functools import lru_cache
from math import inf, sqrt

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
        return 0.0, max(float(measure(_dependent(table.shape).reshape(-1, *table.shape)).max()), value)
    distance = inf if test.p_value > LEVEL else inward_distance(test)
    low = 0.0 if distance == inf else _extreme(table, measure, 1.0, distance)
    return min(low, value), max(_extreme(table, measure, -1.0, Z95), value)


def inward_distance(test: Association) -> float:
    """How far towards independence a table may lie; infinite where that is reached."""
    from scipy import optimize, stats

    if test.simulated:  # the statistic has no known distribution: all directions together
        return sqrt(float(stats.chi2.ppf(1 - LEVEL, test.degrees)))
    x = sqrt(test.statistic)
    if test.degrees == 1 or test.statistic > _LARGE:
        return Z95 + (test.degrees - 1) / (2 * x)
    if stats.chi2.sf(test.statistic, test.degrees) >= LEVEL / 2:
        return inf
    noncentrality = optimize.brentq(
        lambda lower: stats.ncx2.sf(test.statistic, test.degrees, lower) - LEVEL / 2, 1e-12, test.statistic
    )
    return x - sqrt(noncentrality)


def _extreme(table: Table, measure: Measure, sign: float, distance: float) -> float:
    """The least (sign 1) or greatest (-1) value: many directions, then narrower and narrower around the best."""
    spread, vectors = np.linalg.eigh((table.covariance + table.covariance.T) / 2)
    kept = spread > 1e-12 * spread[-1]
    root = vectors[:, kept] * (distance * np.sqrt(spread[kept]))
    drawn = np.random.default_rng(_SEED).standard_normal((_DIRECTIONS, root.shape[1]))

    def at(directions: Floats) -> Floats:
        unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        return sign * measure(project_rows(table.value + unit @ root.T).reshape(-1, *table.shape))

    best, value = drawn[0], np.inf
    near, width = drawn, 1.0
    large = table.value.size > 4  # in many dimensions random directions alone miss the best one
    if large:
        near = np.concatenate([drawn, _to_independence(table, vectors[:, kept], spread[kept])])
    for _ in range(_ROUNDS):
        values = at(near)
        position = int(np.argmin(values))
        if values[position] < value:
            best, value = near[position] / np.linalg.norm(near[position]), float(values[position])
        width /= 2
        near = best + width * drawn / np.sqrt(root.shape[1])
        if large:
            near = np.concatenate([near, best - width * _STEPS * _slope(at, best)])
    return sign * min(value, _inside(table, measure, sign, spread[kept], vectors[:, kept]))


def _inside(table: Table, measure: Measure, sign: float, spread: Floats, vectors: Floats) -> float:
    """The extreme over listed tables that the estimate does not contradict in all directions together.

    Noise that reaches beyond all tables projects to single cells, which depend on nothing; and full dependence lies in
    corners, which the surface alone misses.
    """
    from scipy import stats

    listed = _dependent(table.shape)
    along = (listed - table.value) @ vectors / np.sqrt(spread)
    listed = listed[(along**2).sum(axis=1) <= stats.chi2.ppf(1 - LEVEL, len(spread))]
    return float((sign * measure(listed.reshape(-1, *table.shape))).min(initial=np.inf))


@lru_cache(maxsize=64)
def _dependent(shape: tuple[int, ...]) -> Floats:
    """Tables that depend on each other from hardly to fully, one per row."""
    cells, fully = shape[0] * shape[1], []
    for shift in range(max(shape)):
        for uneven in np.exp(np.linspace(-3, 3, _WEIGHTS)):
            table = np.zeros(shape)
            for position in range(max(shape)):
                table[position % shape[0], (position + shift) % shape[1]] = uneven ** (position % 2)
            fully.append(table.reshape(-1) / table.sum())
    drawn = np.random.default_rng(_SEED).dirichlet(np.full(cells, 0.3), _DIRECTIONS)
    return np.concatenate([np.array(fully), drawn])


def _to_independence(table: Table, vectors: Floats, spread: Floats) -> Floats:
    """The direction of the independent table with the same row and column sums, and its opposite."""
    shares = table.projected.reshape(table.shape)
    away = np.outer(shares.sum(axis=1), shares.sum(axis=0)).reshape(-1) - table.value
    direction = (away @ vectors) / np.sqrt(spread)
    length = float(np.linalg.norm(direction))
    return np.stack([direction, -direction]) / length if length > 0 else np.zeros((0, spread.size))


def _slope(at: Measure, best: Floats) -> Floats:
    """The direction in which a measure rises most, by differences."""
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
