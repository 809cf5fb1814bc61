"""What an estimate is: a value never travels without its standard error."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError

Z95 = 1.96  # two-sided 95% point of the normal distribution
Floats = NDArray[np.float64]


class Measured(NamedTuple):
    """Values with their standard errors, one each."""

    value: Floats
    stderr: Floats


class Quantiles(NamedTuple):
    """Cells at which the distribution reaches given ranks, the cells between which they lie, and the rank's error."""

    cell: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    rank_stderr: Floats


@dataclass(frozen=True)
class Estimate:
    """Fractions of the reports per cell; mechanisms that answer ranges refine `ranges`."""

    domain: Domain
    reports: int
    estimate: Floats
    stderr: Floats

    def points(self, cells: NDArray[np.int64]) -> Measured:
        """Single cells, by row-major index."""
        return Measured(self.estimate.reshape(-1)[cells], self.stderr.reshape(-1)[cells])

    def ranges(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Measured:
        """Shares inside inclusive ranges, shape (queries, axes); O(log size) each."""
        raise QueryError("this mechanism answers single values; use flat, hierarchical, haar or metric-l1 for ranges")

    def weighted(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Measured:
        """Means over all reports of weight x [in range], for inclusive ranges, shape (queries, axes)."""
        raise QueryError("query weighted needs a survey with weights: metric-l1 with options.weights public or private")

    def sums(self, coefficients: Floats | None = None) -> Measured:
        """Sums of the cells, one per row of coefficients; without them, the survey's own workload."""
        raise QueryError(
            "query linear needs a mechanism that knows the error of any sum of cells: matrix, or haar on a grid"
        )

    def prefixes(self, ends: NDArray[np.int64]) -> Measured:
        """Shares up to and including each end, on one axis."""
        self._one_axis()
        ends = ends.reshape(-1, 1)
        return self.ranges(np.zeros_like(ends), ends)

    def cdf(self) -> Measured:
        """The share up to and including every cell, on one axis."""
        self._one_axis()
        return self.prefixes(np.arange(self.domain.size, dtype=np.int64))

    def quantiles(self, ranks: Floats) -> Quantiles:
        """The first cell at which the cumulative share reaches each rank, with a 95% band in cells.

        The estimated cumulative shares may fall back, so their running maximum is searched. The band inverts the
        pointwise confidence limits: its low end is the first cell whose upper limit reaches the rank, its high end the
        first whose lower limit does.
        """
        if not ((ranks > 0) & (ranks < 1)).all():
            raise QueryError("quantile must be above 0 and below 1")
        value, stderr = self.cdf()
        last = self.domain.size - 1

        def first(reached: Floats) -> NDArray[np.int64]:
            return np.minimum(np.searchsorted(np.maximum.accumulate(reached), ranks), last).astype(np.int64)

        cell = first(value)
        return Quantiles(cell, first(value + Z95 * stderr), first(value - Z95 * stderr), stderr[cell])

    def rank_bound(self) -> float | None:
        """A theorem's bound on a quantile's error in rank, at 95% and before any data; None without a theorem."""
        return None

    def _one_axis(self) -> None:
        if len(self.domain.axes) != 1 or self.domain.kind not in ("ordinal", "count"):
            raise QueryError(f"prefix, cdf and quantile need an ordinal domain, this one is {self.domain.kind}")
