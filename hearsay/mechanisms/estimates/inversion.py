"""Quantiles from cumulative shares that never fall, with bands that invert each cell's own interval.

The running maximum of a noisy cumulative share crosses every rank too early. Its isotonic fit F, the nearest shares
that never fall, does not: the quantile is the first cell at which F reaches the rank. From there the band goes down as
far as the upper limit, F(x) plus what the interval of the share up to x has above its value, stays at or above the
rank, and up to the first cell whose lower limit reaches it. Where errors add up towards the middle of the domain, F is
drawn away from cells near its ends that are known well: there the limits are those of the cell's own value.

On large domains the intervals are those of some thousand cells, spread evenly and at no round numbers (a prefix of a
round number of cells is better known than its neighbours); between them they are interpolated. All of it is kept, so
that a question costs a few searches.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ends = NDArray[np.int64]
EVERY_CELL_UP_TO = 1 << 12
_GOLDEN = 0.6180339887498949


def sampled_cells(size: int) -> Ends:
    """All cells, or one of each of so many equal stretches and the last two: the last is known, which says nothing
    about those before it."""
    if size <= EVERY_CELL_UP_TO:
        return np.arange(size, dtype=np.int64)
    number = np.arange(EVERY_CELL_UP_TO)
    inside = ((number + number * _GOLDEN % 1) * (size / EVERY_CELL_UP_TO)).astype(np.int64)
    return np.unique(np.append(np.minimum(inside, size - 1), [size - 2, size - 1]))


class Quantiles(NamedTuple):
    """The cell of each rank, the cells between which it lies, and the standard error of the share at the cell."""

    cell: Ends
    low: Ends
    high: Ends
    rank_stderr: Floats


@dataclass(frozen=True)
class Inversion:
    """F of every cell; of the sampled cells the standard error, and how far the interval reaches above and below."""

    rising: Floats
    cells: Ends
    stderr: Floats
    above: Floats
    below: Floats

    def quantiles(self, ranks: Floats) -> Quantiles:
        """For ranks above 0 and below 1."""
        last = self.rising.size - 1
        cell = np.minimum(np.searchsorted(self.rising, ranks), last)
        # At the end of the domain the cumulative share is known; the rank's error is that of the cut before it.
        stderr = np.interp(np.minimum(cell, last - 1), self.cells, self.stderr)
        low, high = self._last_below(ranks) + 1, self._first_reaching(ranks)
        return Quantiles(cell, np.clip(low, 0, cell), np.maximum(high, cell), stderr)

    def with_error(self, stderr: Floats | float, z: float) -> "Inversion":
        """With an independent error of the cumulative shares added, whose interval is z standard errors long."""
        above, below = (np.hypot(away, z * stderr) for away in (self.above, self.below))
        return Inversion(self.rising, self.cells, np.hypot(self.stderr, stderr), above, below)

    @cached_property
    def _limits(self) -> tuple[Floats, Floats]:
        """At the sampled cells the least upper limit from there on, and the largest lower limit up to there."""
        at = self.rising[self.cells]
        return np.minimum.accumulate((at + self.above)[::-1])[::-1], np.maximum.accumulate(at - self.below)

    def _last_below(self, ranks: Floats) -> Ends:
        """The last cell whose upper limit is below the rank; -1 if none is."""
        stop = np.minimum(np.searchsorted(self._limits[0], ranks), self.cells.size - 1)
        window = self._window(stop)
        below = self.rising[window] + np.interp(window, self.cells, self.above) < ranks[:, None]
        position = window.shape[1] - 1 - np.argmax(below[:, ::-1], axis=1)
        before = np.where(stop > 0, self.cells[stop - 1], -1)
        return np.where(below.any(axis=1), window[np.arange(ranks.size), position], before)

    def _first_reaching(self, ranks: Floats) -> Ends:
        """The first cell whose lower limit is at least the rank; the last one if none is."""
        stop = np.minimum(np.searchsorted(self._limits[1], ranks), self.cells.size - 1)
        window = self._window(stop)
        reached = self.rising[window] - np.interp(window, self.cells, self.below) >= ranks[:, None]
        position = np.argmax(reached, axis=1)
        return np.where(reached.any(axis=1), window[np.arange(ranks.size), position], self.cells[stop])

    def _window(self, stop: Ends) -> Ends:
        """The cells after the sampled one before each `stop`, up to it; repeated at the front where these are few."""
        before = np.where(stop > 0, self.cells[stop - 1], -1)
        width = int(np.max(self.cells[stop] - before, initial=1))
        return np.maximum(self.cells[stop][:, None] - np.arange(width)[::-1], before[:, None] + 1)
