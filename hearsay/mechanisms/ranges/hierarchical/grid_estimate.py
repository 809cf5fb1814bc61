"""Answers on a grid from tuples of tree levels; the formulas are in `grid`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.grids import GridRanges, spread
from hearsay.mechanisms.estimates.ranges import standard_error
from hearsay.mechanisms.ranges.level_noise import LevelNoise

Weights = tuple[list[Floats], ...]  # an axis, then a level: a row a query, a column a node


@dataclass(frozen=True)
class Joint:
    """One tuple of levels: which, its estimated shares as a grid of boxes, and their noise."""

    levels: tuple[int, ...]
    shares: Floats
    noise: LevelNoise

    def of(self, weights: Weights) -> list[Floats]:
        """The weights of this tuple's level of every axis."""
        return [axis[level] for axis, level in zip(weights, self.levels, strict=True)]

    def means(self, rows: Sequence[Floats]) -> Floats:
        """For every query the shares weighted with that query's row along each axis."""
        return _each(rows, self.shares)


@dataclass(frozen=True)
class EvenJoint(Joint):
    """A tuple of levels whose boxes all have the same share: nothing to go through."""

    def means(self, rows: Sequence[Floats]) -> Floats:
        return np.asarray(prod(row.sum(axis=1) for row in rows) / self.shares.size)


@dataclass(frozen=True)
class GridEstimate(GridRanges):
    """Shares of the cells of a grid; any linear query has an exact standard error.

    `weights` are those of prefixes along every axis, by level (`axis_weights`).
    """

    weights: Weights
    joints: tuple[Joint, ...]

    @classmethod
    def of(cls, domain: Cells, reports: int, weights: Weights, joints: tuple[Joint, ...]) -> "GridEstimate":
        """Every cell with its standard error."""
        made = cls(domain, reports, np.zeros(0), np.zeros(0), weights, joints)
        cells = _along([axis[0] for axis in made._cell_weights], np.ones((1,) * len(weights)))  # the roots know 1
        variance = np.zeros(domain.shape)
        for joint in joints:
            rows = joint.of(made._cell_weights)
            squares = [row**2 for row in rows]
            mean, square_f = _along(rows, joint.shares), _along(squares, joint.shares)
            square, total = _outer([row.sum(axis=1) for row in squares]), _outer([row.sum(axis=1) for row in rows])
            cells = cells + mean
            variance += joint.noise.variance(square, square_f, mean, total, 0.0)
        return replace(made, estimate=cells, stderr=standard_error(variance - spread(cells, reports), reports))

    @property
    def few_reports(self) -> bool:
        return any(joint.noise.has_few_reports() for joint in self.joints)

    def answer(self, low: Indices, after: Indices) -> tuple[Floats, Floats, Floats]:
        weights = tuple(
            [level[after[:, axis]] - level[low[:, axis]] for level in levels]
            for axis, levels in enumerate(self.weights)
        )
        value = prod(axis[0][:, 0] for axis in weights)
        variance, slope = np.zeros(len(low)), np.zeros(len(low))
        for joint in self.joints:
            rows = joint.of(weights)
            squares = [row**2 for row in rows]
            mean, square_f = joint.means(rows), joint.means(squares)
            square, total = prod(row.sum(axis=1) for row in squares), prod(row.sum(axis=1) for row in rows)
            value = value + mean
            variance += joint.noise.variance(square, square_f, mean, total, 0.0)
            slope += joint.noise.slope * prod(row.max(axis=1) for row in squares)
        return np.asarray(value), variance - spread(np.asarray(value), self.reports), slope

    def entries(self) -> int:
        shape = self.domain.shape
        return max(max(shape), prod(shape[1:]))

    def combine(self, query: Floats) -> tuple[float, float, float]:
        value = float(_along([axis[0].T for axis in self._cell_weights], query).reshape(()))
        variance = 0.0
        for joint in self.joints:
            w = _along([row.T for row in joint.of(self._cell_weights)], query)
            mean, square_f = (w * joint.shares).sum(), (w**2 * joint.shares).sum()
            value += float(mean)
            variance += float(joint.noise.variance((w**2).sum(), square_f, mean, w.sum(), 0.0))
        return value, variance, 0.0

    def steepness(self, query: Floats) -> float:
        largest = ((_along([row.T for row in joint.of(self._cell_weights)], query) ** 2).max() for joint in self.joints)
        return float(sum(joint.noise.slope * most for joint, most in zip(self.joints, largest, strict=True)))

    @cached_property
    def _cell_weights(self) -> Weights:
        return tuple([np.diff(level, axis=0) for level in axis] for axis in self.weights)


def _along(matrices: Sequence[Floats], tensor: Floats) -> Floats:
    """Every matrix applied along its own axis of the tensor."""
    for matrix in matrices:
        tensor = np.tensordot(tensor, matrix, axes=(0, 1))  # takes the first axis away and adds one at the end
    return tensor


def _each(rows: Sequence[Floats], tensor: Floats) -> Floats:
    """For every query the tensor contracted with that query's row along each axis."""
    count = len(rows[0])
    contracted = rows[0] @ tensor.reshape(len(tensor), -1)
    for row in rows[1:]:
        contracted = np.einsum("qu,qur->qr", row, contracted.reshape(count, row.shape[1], -1))
    return contracted.reshape(count)


def _outer(vectors: Sequence[Floats]) -> Floats:
    """The product of one number of each vector, for all of them."""
    tensor = np.ones(())
    for vector in vectors:
        tensor = np.multiply.outer(tensor, vector)
    return tensor
