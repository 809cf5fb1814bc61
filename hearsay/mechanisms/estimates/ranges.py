"""What estimates of ranges share: checked range queries, and intervals on one axis."""

from abc import abstractmethod
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Z95, Floats, Measured, Ranges
from hearsay.mechanisms.estimates.intervals import leaning

Ends = NDArray[np.int64]
MANY = 400  # reports from which one of them is a twentieth of the standard error at most
_CHUNK = 1 << 13  # queries at a time, so that a walk down the levels stays in cache


@dataclass(frozen=True)
class RangeEstimate(CellEstimate, Ranges):
    """Shares of the cells of an ordered domain whose ranges have exact standard errors."""

    @abstractmethod
    def answer(self, x: Ends, y: Ends) -> tuple[Floats, Floats]:
        """Share and its variance of the cells x..y-1, for 0 <= x < y <= D."""

    @abstractmethod
    def prefix_values(self) -> Floats:
        """The share up to and including every cell."""

    def ranges(self, low: Ends, high: Ends) -> Measured:
        x, y = checked_ends(low, high, self.domain)
        value, variance = np.empty(x.size), np.empty(x.size)
        for start in range(0, x.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            value[part], variance[part] = self.answer(x[part], y[part])
        whole = y - x == self.domain.size
        stderr = np.where(whole, 0.0, standard_error(variance, self.reports))
        return self._with_interval(x, y, value, stderr)

    def points(self, cells: Ends) -> Measured:
        return self._with_interval(cells, cells + 1, self.estimate[cells], self.stderr[cells])

    def _with_interval(self, x: Ends, y: Ends, value: Floats, stderr: Floats) -> Measured:
        if self.domain.size == 1 or not (self.few_reports or self.z > Z95):
            return Measured.plain(value, stderr)
        slope, half_step = np.zeros(x.size), np.zeros(x.size)
        for start in range(0, x.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            slope[part], half_step[part] = self.sensitivity(x[part], y[part])
        return leaning(value, stderr, np.where(stderr > 0, slope, 0.0), np.where(stderr > 0, half_step, 0.0), self.z)

    @property
    def few_reports(self) -> bool:
        """Whether reports are so few that `sensitivity` matters; plain intervals are as good if not."""
        return False

    def sensitivity(self, x: Ends, y: Ends) -> tuple[Floats | float, Floats | float]:
        """Of the share of x..y-1: how much its variance can change with it, and half of what one report changes."""
        return 0.0, 0.0


def standard_error(variance: Floats, reports: int) -> Floats:
    """The square root; what no report tells anything about is infinite.

    Variances plug estimated shares in. Where these are so wild that nothing is left, as a handful of reports can be, an
    answer is taken to be as uncertain as one report more or less.
    """
    result = np.where(variance > 0, variance, 1 / max(reports, 1) ** 2)
    np.sqrt(result, out=result)
    result[variance > 1e30] = np.inf
    return result


def checked_ranges(low: Ends, high: Ends, domain: Cells) -> tuple[Ends, Ends]:
    """Ranges of shape (queries, axes) as first cells and first cells after; refuses what is no range of the domain."""
    low, high = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
    axes = len(domain.axes)
    if low.ndim != 2 or low.shape[1] != axes or low.shape != high.shape:
        raise QueryError(
            what="ranges", must=f"have shape (queries, {axes}) at both ends", got=f"{low.shape} and {high.shape}"
        )
    for axis, first, last in zip(domain.axes, low.T, high.T, strict=True):
        for wrong, rule in (
            ((first < 0) | (first >= axis.size) | (last < 0) | (last >= axis.size), f"lie in 0..{axis.size - 1}"),
            (first > last, "have its low end at or below its high end"),
        ):
            if wrong.any():
                at, along = int(np.argmax(wrong)), f" along {axis.name}" if axes > 1 else ""
                raise QueryError(what=f"range{along}", must=rule, got=f"{first[at]}..{last[at]}")
    return low, high + 1


def checked_ends(low: Ends, high: Ends, domain: Cells) -> tuple[Ends, Ends]:
    """The same on one axis, as one number each."""
    first, after = checked_ranges(low, high, domain)
    return first[:, 0], after[:, 0]


def middle_half(size: int) -> tuple[int, int]:
    """x, y of the cells x..y-1 in the middle of a domain, half of it; at least one cell."""
    return size // 4, size // 4 + max(size // 2, 1)


def sampled_ranges(size: int, wanted: int = 4096) -> tuple[Ends, Ends]:
    """Ranges as [x, y): all of them where there are few, else a fixed sample spread evenly over all pairs of ends."""
    if size * (size + 1) // 2 <= wanted:
        x, y = np.triu_indices(size + 1, k=1)
        return x.astype(np.int64), y.astype(np.int64)
    side = isqrt(wanted)
    grid = np.linspace(0, size, side, dtype=np.int64)
    shifted = np.minimum(grid + size // (2 * side), size)
    x, y = (ends.reshape(-1) for ends in np.meshgrid(grid, shifted))
    kept = x != y
    return np.minimum(x, y)[kept], np.maximum(x, y)[kept]
