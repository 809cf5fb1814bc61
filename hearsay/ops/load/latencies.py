"""How long reports took: many reports at once, by when they were due and when something had happened to them.

Reports are due one after the other at a steady rate. A batch of them is done at one moment, so their times lie evenly
between that of the last and that of the first. A report that had to wait because an earlier one was late still counts
from the moment it was due.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
_POINTS = 16  # of a batch


class Done(NamedTuple):
    """Consecutive reports that were done at one moment; times are in seconds since the start."""

    at_s: float
    reports: int
    first_due_s: float
    last_due_s: float


class Latencies:
    """Times of reports, each with the number of reports that it stands for."""

    def __init__(self, batches: Iterable[Done]) -> None:
        rows = np.array([batch for batch in batches if batch.reports], dtype=np.float64).reshape(-1, 4)
        points = (np.arange(_POINTS) + 0.5) / _POINTS
        points[0], points[-1] = 0.0, 1.0  # the first and the last report themselves
        dues = rows[:, 2:3] + points * (rows[:, 3:4] - rows[:, 2:3])
        times = np.maximum(rows[:, :1] - dues, 0.0).reshape(-1)
        order = np.argsort(times)
        self._times, self._weights = times[order], np.repeat(rows[:, 1] / _POINTS, _POINTS)[order]

    def quantile(self, share: float) -> float | None:
        """The time that so large a share of reports did not exceed; None: there are none."""
        if not len(self._times):
            return None
        reached = np.cumsum(self._weights)
        return float(self._times[min(int(np.searchsorted(reached, share * reached[-1])), len(self._times) - 1)])

    def table(self) -> dict[str, float] | None:
        """Quantiles and the longest time, as JSON has them; None: there are no reports."""
        if not len(self._times):
            return None
        return {name: self.quantile(share) or 0.0 for name, share in SHARES.items()} | {"max": float(self._times[-1])}


def missing(samples: Sequence[tuple[float, int]], total: int) -> int | None:
    """How many of `total` were done in no sample; None: there are no samples."""
    return max(total - max(count for _, count in samples), 0) if samples else None


def done_at(samples: Sequence[tuple[float, int]], rate: float, total: int) -> list[Done]:
    """From samples of (time, how many are done by then), the reports done between them; due at a steady rate.

    None where some were never done: the times of the others alone would look better than those of all.
    """
    if missing(samples, total):
        return []
    batches, before = [], 0
    for at_s, count in samples:
        count = min(count, total)
        if count > before:
            batches.append(Done(at_s, count - before, (before + 1) / rate, count / rate))
            before = count
    return batches
