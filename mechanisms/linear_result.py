"""Estimates that are linear in independent noisy sums: any weighted sum of cells with its exact standard error."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechanisms.errors import QueryError
from mechanisms.result import Estimate, Floats, Measured

_QUERIES_AT_ONCE = 1024


@dataclass(frozen=True)
class LinearEstimate(Estimate):
    """Shares with the covariance of their errors, times the number of reports."""

    covariance: Floats

    def linear(self, weights: Floats) -> Measured:
        """Weighted sums of the cells, one per row of `weights`."""
        value = weights @ self.estimate.reshape(-1)
        variance = np.einsum("qx,qx->q", weights @ self.covariance, weights)
        return Measured(value, np.sqrt(np.maximum(variance, 0.0) / max(self.reports, 1)))

    def ranges(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Measured:
        shape = self.domain.shape
        if low.shape != high.shape or low.ndim != 2 or low.shape[1] != len(shape):
            raise QueryError(f"range must have {len(shape)} lower and upper ends, got {low.shape} and {high.shape}")
        if (low < 0).any() or (low > high).any() or (high >= np.array(shape)).any():
            raise QueryError("range must have each lower end at or below its upper end, both inside the domain")
        parts = [
            self.linear(self._inside(low[at : at + _QUERIES_AT_ONCE], high[at : at + _QUERIES_AT_ONCE]))
            for at in range(0, max(len(low), 1), _QUERIES_AT_ONCE)
        ]
        return Measured(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _inside(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Floats:
        """1 for every cell inside each range."""
        inside = np.ones((len(low), 1))
        for axis, size in enumerate(self.domain.shape):
            along = np.arange(size)
            within = (along >= low[:, axis, None]) & (along <= high[:, axis, None])
            inside = (inside[:, :, None] * within[:, None, :]).reshape(len(low), -1)
        return inside
