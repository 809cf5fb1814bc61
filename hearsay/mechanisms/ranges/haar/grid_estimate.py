"""Answers on a grid from tensor products of Haar coefficients; the formulas are in `grid`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.grids import GridRanges, spread
from hearsay.mechanisms.estimates.intervals import least_explained
from hearsay.mechanisms.estimates.ranges import standard_error
from hearsay.mechanisms.ranges.haar.axis import HaarAxis


@dataclass(frozen=True)
class HaarGridEstimate(GridRanges):
    """Shares of the cells of a grid, rebuilt from coefficients.

    `coefficients` has a row (`haar_axis`) along every axis; `noise`, the variance per unit of sum w^2, and `counts`,
    the reports of which (sum w d)^2 explains its part, are by depth along every axis. At the roots all is known to be
    1. What is explained is a lower limit, and the coins' own noise is left in any case.
    """

    axes: tuple[HaarAxis, ...]
    coefficients: Floats
    noise: Floats
    counts: Floats
    correlation: float

    @classmethod
    def of(
        cls,
        domain: Cells,
        reports: int,
        axes: tuple[HaarAxis, ...],
        coefficients: Floats,
        noise: Floats,
        counts: Floats,
        correlation: float,
    ) -> "HaarGridEstimate":
        """Every cell with its standard error: it has one coefficient of every tuple."""
        made = cls(domain, reports, np.zeros(0), np.zeros(0), axes, coefficients, noise, counts, correlation)
        cells = made._along(lambda axis, rows: axis.rebuild(rows), coefficients)
        of_rows, reported = made._along(HaarAxis.to_row, noise), made._along(HaarAxis.to_row, counts)
        coins = made._along(lambda axis, rows: axis.rebuild(rows, power=2), of_rows)
        by_estimate = made._explained(coefficients**2, 1.0, reported)
        explained = made._along(lambda axis, rows: axis.rebuild(rows, power=2), by_estimate) + spread(cells, reports)
        return replace(made, estimate=cells, stderr=standard_error(made._at_least(coins, explained), reports))

    def _explained(self, squared_means: Floats, squares: Floats | float, counts: Floats) -> Floats:
        """What of a tuple's variance its own estimate explains."""
        part = squared_means / np.maximum(squares, 1e-300)
        explained = squares * least_explained(part, counts, 1 / self.correlation**2) / np.maximum(counts, 1)
        return np.where(counts > 0, explained, 0.0)

    def _along(self, change: Callable[[HaarAxis, Floats], Floats], tensor: Floats) -> Floats:
        """The change made along every axis of the tensor."""
        for axis in self.axes:
            tensor = np.ascontiguousarray(np.moveaxis(change(axis, tensor), 0, -1))
        return tensor

    @property
    def few_reports(self) -> bool:
        return False

    def answer(self, low: Indices, after: Indices) -> tuple[Floats, Floats, Floats]:
        count = len(low)
        index, squares = np.zeros((count, 1), dtype=np.int64), np.ones((count, 1))
        weights = []
        for number, axis in enumerate(self.axes):
            parts = axis.parts(low[:, number], after[:, number])
            along = index[:, :, None] * self.coefficients.shape[number] + parts.positions[:, None, :]
            square = squares[:, :, None] * np.add.reduceat(parts.weights**2, axis.firsts, axis=1)[:, None, :]
            index, squares = along.reshape(count, -1), square.reshape(count, -1)
            weights.append(parts.weights)
        means = self.coefficients.reshape(-1)[index].reshape(count, 1, -1)
        for axis, weight in zip(self.axes, weights, strict=True):
            # By the depths of the axes before, this axis' parts, and the parts of the axes behind.
            means = means.reshape(count, means.shape[1], weight.shape[1], -1) * weight[:, None, :, None]
            means = np.add.reduceat(means, axis.firsts, axis=2).reshape(count, -1, means.shape[-1])
        means = means[:, :, 0]
        coins = squares @ self.noise.reshape(-1)
        value = means.sum(axis=1)
        explained = self._explained(means**2, squares, self.counts.reshape(-1)).sum(axis=1)
        return value, self._at_least(coins, explained + spread(value, self.reports)), np.zeros(count)

    def _at_least(self, coins: Floats, explained: Floats) -> Floats:
        """The coins' noise less what is explained, but for what no truth explains."""
        return np.maximum(coins - explained, (1 - self.correlation**2) * coins)

    def entries(self) -> int:
        return prod(2 * axis.height for axis in self.axes)

    def combine(self, query: Floats) -> tuple[float, float, float]:
        weights = self._along(HaarAxis.weigh, query)
        means = self._along(HaarAxis.by_depth, weights * self.coefficients)
        squares = self._along(HaarAxis.by_depth, weights**2)
        coins, explained = (squares * self.noise).sum(), self._explained(means**2, squares, self.counts).sum()
        return float(means.sum()), float(coins - explained), float((1 - self.correlation**2) * coins)
