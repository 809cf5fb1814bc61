"""The other two ways in which a collector can store reports under metric privacy (Xiang et al., table 1).

    mode                 memory                 work for one query
    prefix-sums          one number per cell    2^axes look-ups           used by the pipeline (`l1`)
    single-frequencies   one number per cell    a sum over the range's cells
    on-the-fly           every report           a score of every report

All three give the same estimates. A sum of single frequencies has no standard error, because the correlations between
the errors of the cells are not stored.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats, Measured, Ranges
from hearsay.mechanisms.exact.bit_counting import Packed
from hearsay.mechanisms.metric.l1 import MetricL1Signs

MODES = ("prefix-sums", "single-frequencies", "on-the-fly")
Answered = Callable[[NDArray[np.int64], NDArray[np.int64]], Measured]


@dataclass(frozen=True)
class SingleFrequencies:
    """Estimated shares of all cells; a query sums them."""

    shares: Floats

    def ranges(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Floats:
        """Shares inside inclusive ranges, O(cells in the range) each."""
        boxes = [
            tuple(slice(a, b + 1) for a, b in zip(first, last, strict=True))
            for first, last in zip(low, high, strict=True)
        ]
        return np.array([self.shares[box].sum() for box in boxes])


@dataclass(frozen=True)
class KeptReports:
    """Every report, unchanged; a query goes over all of them."""

    mechanism: MetricL1Signs
    bits: Packed

    def ranges(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Measured:
        """Shares inside inclusive ranges: the mean of the reports' scores, with its standard error from the scores."""
        answers = [self._range(first, last) for first, last in zip(low, high, strict=True)]
        return Measured.plain(np.array([value for value, _ in answers]), np.array([stderr for _, stderr in answers]))

    def _range(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> tuple[float, float]:
        score = np.ones(len(self.bits))
        for axis, (first, last) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            end = self.mechanism.sizes[axis] - 1
            # s_(-1) = -s_last, as in `sign_estimate`
            before = self._signs(axis, first - 1) if first else -self._signs(axis, end)
            score *= (self._signs(axis, last) - before) / 2
        n = max(len(score), 1)
        value = float(score.mean())
        # The variance for given devices: (E score^2 - f^2)/n minus the sampling variance f(1 - f)/n of the devices.
        return value, float(np.sqrt(max(float((score**2).mean()) - value, 0.0) / n))

    def _signs(self, axis: int, position: int) -> Floats:
        """The sign at one position of every report, divided by the correlation: its expectation is the true sign."""
        signs = self.mechanism.signs
        if signs.anchored and position == signs.sizes[axis] - 1:
            return np.ones(len(self.bits))
        bit_number = signs.starts[axis] + position
        bit = self.bits[:, bit_number // 8] >> np.uint8(bit_number % 8) & np.uint8(1)
        return (2 * bit.astype(np.float64) - 1) / self.mechanism.correlations[axis]


@dataclass(frozen=True)
class ModeEstimate(CellEstimate, Ranges):
    """An estimate whose ranges are answered in one of the modes; other queries are refused."""

    answered: Answered

    def ranges(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Measured:
        return self.answered(low, high)
