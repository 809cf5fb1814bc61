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

    The letters are those of `grid`. `coefficients` are the d, along every axis in the order of a row of `HaarAxis`.
    `noise` is 1/(n c^2) and `counts` is n of every tuple of depths; both are 0 at the tuple of roots, whose coefficient
    is 1 without error. `correlation` is c.

    Var = coins - explained, with coins = sum w^2/(n c^2) and explained = (sum w d)^2/n, summed over the tuples, plus
    f(1 - f)/n. The explained part is estimated by a lower limit, so that noise in d does not hide variance.
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
        """Every cell with its standard error; a cell is made of one coefficient of every tuple."""
        made = cls(domain, reports, np.zeros(0), np.zeros(0), axes, coefficients, noise, counts, correlation)
        cells = made._along(lambda axis, rows: axis.rebuild(rows), coefficients)
        of_rows, reported = made._along(HaarAxis.to_row, noise), made._along(HaarAxis.to_row, counts)
        coins = made._along(lambda axis, rows: axis.rebuild(rows, power=2), of_rows)
        by_estimate = made._explained(coefficients**2, 1.0, reported)
        explained = made._along(lambda axis, rows: axis.rebuild(rows, power=2), by_estimate) + spread(cells, reports)
        return replace(made, estimate=cells, stderr=standard_error(made._remaining(coins, explained), reports))

    def _explained(self, squared_means: Floats, squares: Floats | float, counts: Floats) -> Floats:
        """A lower limit of (sum w d)^2/n of every tuple, from the estimated (sum w d)^2, sum w^2 and n."""
        part = squared_means / np.maximum(squares, 1e-300)
        explained = squares * least_explained(part, counts, 1 / self.correlation**2) / np.maximum(counts, 1)
        return np.where(counts > 0, explained, 0.0)

    def _along(self, change: Callable[[HaarAxis, Floats], Floats], tensor: Floats) -> Floats:
        """Apply `change`, which works on the first axis, along every axis; each becomes the last one in turn."""
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
            # Shape: ranges, depths of the axes done, parts of this axis, parts of the axes to come.
            means = means.reshape(count, means.shape[1], weight.shape[1], -1) * weight[:, None, :, None]
            means = np.add.reduceat(means, axis.firsts, axis=2).reshape(count, -1, means.shape[-1])
        means = means[:, :, 0]
        coins = squares @ self.noise.reshape(-1)
        value = means.sum(axis=1)
        explained = self._explained(means**2, squares, self.counts.reshape(-1)).sum(axis=1)
        return value, self._remaining(coins, explained + spread(value, self.reports)), np.zeros(count)

    def _remaining(self, coins: Floats, explained: Floats) -> Floats:
        """coins - explained, but at least (1 - c^2) coins: the flipped signs alone add so much, whatever is true."""
        return np.maximum(coins - explained, (1 - self.correlation**2) * coins)

    def entries(self) -> int:
        return prod(2 * axis.height for axis in self.axes)

    def combine(self, query: Floats) -> tuple[float, float, float]:
        weights = self._along(HaarAxis.weigh, query)
        means = self._along(HaarAxis.by_depth, weights * self.coefficients)
        squares = self._along(HaarAxis.by_depth, weights**2)
        coins, explained = (squares * self.noise).sum(), self._explained(means**2, squares, self.counts).sum()
        return float(means.sum()), float(coins - explained), float((1 - self.correlation**2) * coins)
