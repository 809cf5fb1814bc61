"""Answers on a grid from tuples of levels that were solved together."""

from dataclasses import dataclass
from functools import cached_property

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.grids import GridRanges, spread
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.estimates.ranges import standard_error
from hearsay.mechanisms.ranges.planned_grid.axis import BinaryAxis
from hearsay.mechanisms.ranges.planned_grid.sweeps import cumulative, sums_between
from hearsay.mechanisms.ranges.planned_grid.tuples import TupleInference
from hearsay.mechanisms.ranges.planned_grid.variance import TupleVariance, entries


@dataclass(frozen=True)
class PlannedGridEstimate(GridRanges):
    """Shares of the cells of a grid, which sum to 1; any linear query has an exact standard error."""

    uncertainty: TupleVariance

    @classmethod
    def of(
        cls, domain: Cells, reports: int, axes: tuple[BinaryAxis, ...], inference: TupleInference, cells: Floats
    ) -> "PlannedGridEstimate":
        """Every cell with its standard error."""
        # The nearest shares there can be: what is below 0 must not take anything from a heavy cell.
        shares = project(cells.reshape(-1)).reshape(cells.shape)
        uncertainty = TupleVariance(axes, inference, shares)
        stderr = standard_error(uncertainty.cells() - spread(cells, reports), reports)
        return cls(domain, reports, cells, stderr, uncertainty)

    @cached_property
    def _cumulative(self) -> Floats:
        return cumulative(self.estimate)

    @property
    def few_reports(self) -> bool:
        return any(noise.has_few_reports() for noise in self.uncertainty.inference.noise)

    def answer(self, low: Indices, after: Indices) -> tuple[Floats, Floats, Floats]:
        value = self.between(low, after)
        axes = self.uncertainty.axes
        ends = [(axis.edges[low[:, number]], axis.edges[after[:, number]]) for number, axis in enumerate(axes)]
        variance, slope = self.uncertainty.ranges(ends)
        return value, variance - spread(value, self.reports), slope

    def between(self, low: Indices, after: Indices) -> Floats:
        """The shares of ranges low..after-1."""
        return sums_between(self._cumulative, low, after)

    def entries(self) -> int:
        return entries(self.uncertainty.axes)

    def combine(self, query: Floats) -> tuple[float, float, float]:
        return float((query * self.estimate).sum()), self.uncertainty.linear(query)[0], 0.0

    def steepness(self, query: Floats) -> float:
        return self.uncertainty.linear(query)[1]
