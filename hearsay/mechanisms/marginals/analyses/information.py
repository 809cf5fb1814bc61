"""Mutual information of two attributes, in nats, with an interval that knows how noisy the table is.

I = sum P log(P/(p q')), of the table projected to probabilities. It has no normal error near 0, where it matters, so
its interval is the least and the greatest I over all tables at a distance of 1.96 standard errors from the estimate,
{(P - P^)' Sigma^-1 (P - P^) = 3.84}, each projected to probabilities; the lower end is 0 where the test of independence
accepts. It covers 91-99%. Where reports are so few that a table's own errors are not known, it is everything.
"""

from dataclasses import dataclass
from math import log

import numpy as np

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Z95, Floats
from hearsay.mechanisms.marginals.analyses.association import Association, associate
from hearsay.mechanisms.marginals.table import Table

LEVEL = 0.05
_DIRECTIONS = 256
_ROUNDS = 6
_SEED = 11


@dataclass(frozen=True)
class Information:
    """Mutual information and its 95% interval, with the test that decides about 0."""

    value: float
    low: float
    high: float
    test: Association


def mutual_information(tables: Floats) -> Floats:
    """I of probability tables, shape (..., rows, columns)."""
    p, q = tables.sum(axis=-1, keepdims=True), tables.sum(axis=-2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(tables > 0, tables * np.log(tables / (p * q)), 0.0)
    return np.maximum(parts.sum(axis=(-1, -2)), 0.0)


def measured_information(table: Table) -> Information:
    """I of a measured table of two attributes, with its interval."""
    if len(table.shape) != 2:
        raise QueryError(f"mutual information needs two attributes, got {len(table.shape)}")
    value = float(mutual_information(table.held.reshape(table.shape)))
    test = associate(table)
    if table.largest:  # so few reports that no normal error is known: any table is possible
        return Information(value, 0.0, log(min(table.shape)), test)
    low, high = _extremes(table)
    return Information(value, 0.0 if test.p_value > LEVEL else min(low, value), max(high, value), test)


def _extremes(table: Table) -> tuple[float, float]:
    """The least and the greatest I on the ellipsoid: many directions, then narrower and narrower around the best."""
    spread, vectors = np.linalg.eigh((table.covariance + table.covariance.T) / 2)
    kept = spread > 1e-12 * spread[-1]
    root = vectors[:, kept] * (Z95 * np.sqrt(spread[kept]))
    generator = np.random.default_rng(_SEED)
    drawn = generator.standard_normal((_DIRECTIONS, root.shape[1]))

    def at(directions: Floats) -> Floats:
        unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        points = project_rows(table.value + unit @ root.T)
        return mutual_information(points.reshape(-1, *table.shape))

    found = []
    for sign in (1.0, -1.0):
        best, value = drawn[0], np.inf
        near, width = drawn, 1.0
        for _ in range(_ROUNDS):
            values = sign * at(near)
            place = int(np.argmin(values))
            if values[place] < value:
                best, value = near[place] / np.linalg.norm(near[place]), float(values[place])
            width /= 2
            near = best + width * drawn / np.sqrt(root.shape[1])
        found.append(sign * value)
    return found[0], found[1]


def project_rows(tables: Floats) -> Floats:
    """Each row's nearest probability vector, all at once (`postprocess.project` says how)."""
    falling = -np.sort(-tables, axis=1)
    amounts = (np.cumsum(falling, axis=1) - 1) / np.arange(1, tables.shape[1] + 1)
    kept = (falling > amounts).sum(axis=1) - 1
    return np.maximum(tables - amounts[np.arange(len(tables)), kept][:, None], 0.0)
