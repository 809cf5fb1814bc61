"""Answers on a grid from tensor products of Haar coefficients; the formulas are in `grid`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.grids import GridRanges, spread
from hearsay.mechanisms.estimates.ranges import standard_error
from hearsay.mechanisms.ranges.haar.axis import HaarAxis


@dataclass(frozen=True)
class HaarGridEstimate(GridRanges):
    """Shares of the cells of a grid, rebuilt from coefficients.

    `coefficients` has a row (`haar_axis`) along every axis; `noise`, the variance per unit of sum w^2, and
    `mean_square`, what (sum w d)^2 takes off it, are by depth along every axis. At the roots all is known to be 1.
    """

    axes: tuple[HaarAxis, ...]
    coefficients: Floats
    noise: Floats
    mean_square: Floats

    @classmethod
    def of(
        cls,
        domain: Cells,
        reports: int,
        axes: tuple[HaarAxis, ...],
        coefficients: Floats,
        noise: Floats,
        square: Floats,
    ) -> "HaarGridEstimate":
        """Every cell with its standard error: it has one coefficient of every tuple."""
        made = cls(domain, reports, np.zeros(0), np.zeros(0), axes, coefficients, noise, square)
        cells = made._along(lambda axis, rows: axis.rebuild(rows), coefficients)
        of_rows = made._along(HaarAxis.to_row, noise) - made._along(HaarAxis.to_row, square) * coefficients**2
        variance = made._along(lambda axis, rows: axis.rebuild(rows, power=2), of_rows)
        return replace(made, estimate=cells, stderr=standard_error(variance - spread(cells, reports), reports))

    def _along(self, change: Callable[[HaarAxis, Floats], Floats], tensor: Floats) -> Floats:
        """The change made along every axis of the tensor."""
        for axis in self.axes:
            tensor = np.ascontiguousarray(np.moveaxis(change(axis, tensor), 0, -1))
        return tensor

    def answer(self, low: Indices, after: Indices) -> tuple[Floats, Floats]:
        count = len(low)
        place, squares = np.zeros((count, 1), dtype=np.int64), np.ones((count, 1))
        weights = []
        for number, axis in enumerate(self.axes):
            parts = axis.parts(low[:, number], after[:, number])
            along = place[:, :, None] * self.coefficients.shape[number] + parts.places[:, None, :]
            square = squares[:, :, None] * np.add.reduceat(parts.weights**2, axis.firsts, axis=1)[:, None, :]
            place, squares = along.reshape(count, -1), square.reshape(count, -1)
            weights.append(parts.weights)
        means = self.coefficients.reshape(-1)[place].reshape(count, 1, -1)
        for axis, weight in zip(self.axes, weights, strict=True):
            # By the depths of the axes before, this axis' parts, and the parts of the axes behind.
            means = means.reshape(count, means.shape[1], weight.shape[1], -1) * weight[:, None, :, None]
            means = np.add.reduceat(means, axis.firsts, axis=2).reshape(count, -1, means.shape[-1])
        means = means[:, :, 0]
        variance = squares @ self.noise.reshape(-1) - means**2 @ self.mean_square.reshape(-1)
        return means.sum(axis=1), variance

    def entries(self) -> int:
        return prod(2 * axis.height for axis in self.axes)

    def combine(self, query: Floats) -> tuple[float, float]:
        weights = self._along(HaarAxis.weigh, query)
        means = self._along(HaarAxis.by_depth, weights * self.coefficients)
        squares = self._along(HaarAxis.by_depth, weights**2)
        return float(means.sum()), float((squares * self.noise - means**2 * self.mean_square).sum())
