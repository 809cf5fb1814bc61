"""Estimates that are linear in independent noisy sums: any weighted sum of cells with its exact standard error."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.charts import Chart
from hearsay.mechanisms.estimates.estimate import Z95, Floats, Measured, Ranges, Sums
from hearsay.mechanisms.estimates.intervals import widened
from hearsay.mechanisms.estimates.ranges import checked_ranges

_QUERIES_AT_ONCE = 1024
_ROUNDING = 1e-7
_TAIL = (Z95**3 - 3 * Z95) * 3 / 24  # by Cornish and Fisher, from the excess kurtosis of one Laplace draw, 3


def spans(hidden: Floats, rows: Floats) -> NDArray[np.bool_]:
    """Which rows have nothing in common with what is hidden."""
    known: NDArray[np.bool_] = np.linalg.norm(rows @ hidden, axis=1) <= _ROUNDING * np.linalg.norm(rows, axis=1)
    return known


@dataclass(frozen=True)
class LinearEstimate(CellEstimate, Ranges, Sums):
    """Shares with the covariance of their errors, times the number of reports.

    A strategy made for a workload need not tell every cell: `hidden` projects onto what it leaves open (None: nothing).
    Cells left open are NaN; `solution` is one of the distributions that fit, of which only sums that are not left open
    are looked at.
    """

    covariance: Floats
    solution: Floats
    rebuild: Floats  # shares from the mean of the reported integers
    workload: Floats | None = None
    hidden: Floats | None = None

    def headline(self) -> tuple[str, ...]:
        """The survey's own workload, where it has one."""
        return super().headline() if self.workload is None else ("linear",)

    def charts(self) -> tuple[Chart, ...]:
        """The survey's own workload, where it has one."""
        return super().charts() if self.workload is None else (Chart("table", "linear", "The survey's workload"),)

    def sums(self, coefficients: Floats | None = None) -> Measured:
        """Sums of the cells, one per row of coefficients; refused where the strategy leaves one open."""
        rows = self.workload if coefficients is None else coefficients
        if rows is None:
            raise QueryError("query linear needs one coefficient per cell: the survey has no workload of its own")
        if self.hidden is not None and not spans(self.hidden, rows).all():
            raise QueryError(
                "query asks for a sum that the survey's strategy does not determine; linear has those it does"
            )
        value = rows @ self.solution
        variance = np.einsum("qx,qx->q", rows @ self.covariance, rows)
        if not self.reports:
            return widened(value, np.where(variance > _ROUNDING, np.inf, 0.0), 0.0, self.z)
        return self._with_tails(value, np.sqrt(np.maximum(variance, 0.0) / self.reports), rows @ self.rebuild)

    def points(self, cells: NDArray[np.int64]) -> Measured:
        return self._with_tails(self.estimate.reshape(-1)[cells], self.stderr.reshape(-1)[cells], self.rebuild[cells])

    def _with_tails(self, value: Floats, stderr: Floats, weights: Floats) -> Measured:
        """A report's integers are a lattice, and the sum of a few Laplace draws has longer tails than a bell curve."""
        reports = max(self.reports, 1)
        half = np.abs(weights).max(axis=1, initial=0.0) / (2 * reports)
        return widened(value, stderr, half + _TAIL * np.where(np.isfinite(stderr), stderr, 0.0) / reports, self.z)

    def ranges(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Measured:
        low, after = checked_ranges(low, high, self.domain)
        parts = [
            self.sums(self._inside(low[at : at + _QUERIES_AT_ONCE], after[at : at + _QUERIES_AT_ONCE]))
            for at in range(0, max(len(low), 1), _QUERIES_AT_ONCE)
        ]
        return Measured.join(parts)

    def _inside(self, low: NDArray[np.int64], after: NDArray[np.int64]) -> Floats:
        """1 for every cell inside each range."""
        inside = np.ones((len(low), 1))
        for axis, size in enumerate(self.domain.shape):
            along = np.arange(size)
            within = (along >= low[:, axis, None]) & (along < after[:, axis, None])
            inside = (inside[:, :, None] * within[:, None, :]).reshape(len(low), -1)
        return inside
