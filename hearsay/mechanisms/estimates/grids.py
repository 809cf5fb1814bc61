"""What estimates on a grid share where a device answers for one tuple of levels: ranges and linear queries."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats, Measured, Ranges, Sums
from hearsay.mechanisms.estimates.intervals import leaning
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.estimates.ranges import checked_ranges, standard_error

_ENTRIES = 1 << 20  # numbers held at a time
_SAMPLES = 256


@dataclass(frozen=True)
class GridRanges(CellEstimate, Ranges, Sums):
    """Shares of the cells of a grid whose ranges and linear queries have exact standard errors."""

    @abstractmethod
    def answer(self, low: Indices, after: Indices) -> tuple[Floats, Floats, Floats]:
        """Share of each range low..after-1, its variance, and how much that can change with the share."""

    @property
    @abstractmethod
    def few_reports(self) -> bool:
        """Whether reports are so few that plain intervals do not hold."""

    @abstractmethod
    def combine(self, query: Floats) -> tuple[float, float, float]:
        """Sum of share times `query` over all cells, its variance but for the spread, and the least it can be."""

    @abstractmethod
    def entries(self) -> int:
        """Numbers that the answer to one range holds."""

    def ranges(self, low: Indices, high: Indices) -> Measured:
        value, stderr, slope = self.plain(*checked_ranges(low, high, self.domain))
        if not self.few_reports:
            return Measured.plain(value, stderr)
        return leaning(value, stderr, slope, slope / 2, self.z)

    def plain(self, low: Indices, after: Indices) -> tuple[Floats, Floats, Floats]:
        """Share of each range low..after-1, its standard error, and how much the variance can change with the share."""
        value, variance, slope = (np.zeros(len(low)) for _ in range(3))
        step = max(1, _ENTRIES // self.entries())
        for start in range(0, len(low), step):
            part = slice(start, start + step)
            value[part], variance[part], slope[part] = self.answer(low[part], after[part])
        whole = (low == 0).all(axis=1) & (after == np.array(self.domain.shape)).all(axis=1)
        value[whole] = 1.0
        stderr = np.where(whole, 0.0, standard_error(variance, self.reports))
        return value, stderr, np.where(whole, 0.0, slope)

    def points(self, cells: Indices) -> Measured:
        if not self.few_reports:
            return super().points(cells)
        along = np.stack(np.unravel_index(cells, self.domain.shape), axis=1)
        return self.ranges(along, along)

    def sums(self, coefficients: Floats | None = None) -> Measured:
        """Sums of share times coefficient over all cells, one per row."""
        if coefficients is None:
            raise QueryError("query linear needs one coefficient per cell: the survey has no workload of its own")
        shares = project(self.estimate.reshape(-1)).reshape(self.domain.shape)
        value, variance = np.zeros(len(coefficients)), np.zeros(len(coefficients))
        for number, row in enumerate(coefficients):
            query = row.reshape(self.domain.shape)
            value[number], variance[number], least = self.combine(query)
            variance[number] -= ((query**2 * shares).sum() - (query * shares).sum() ** 2) / max(self.reports, 1)
            variance[number] = max(variance[number], least)
        lowest, widths = coefficients.min(axis=1), np.ptp(coefficients, axis=1)
        scale = np.where(widths > 0, widths, 1.0)
        stderr = np.where(widths > 0, standard_error(variance / scale**2, self.reports), 0.0)
        if not self.few_reports:
            return Measured.plain(value, scale * stderr)
        # As shares: a sum whose coefficients reach from 0 to 1, like a range with cells that count in part.
        steep = [
            self.steepness(row.reshape(self.domain.shape) / width)
            for row, width in zip(coefficients, scale, strict=True)
        ]
        slope = np.where(widths > 0, steep, 0.0)
        scaled = leaning((value - lowest) / scale, stderr, slope, slope / 2)
        low, high = scaled.ends()
        return Measured(value, scale * scaled.stderr, lowest + scale * low, lowest + scale * high)

    def steepness(self, query: Floats) -> float:
        """How much the variance of a sum can change with a cell's share, per unit of it; 0 where it hardly does."""
        return 0.0


def spread(share: Floats, reports: int) -> Floats:
    """f(1 - f)/n: a device answers for one tuple of levels only."""
    clipped = np.clip(share, 0.0, 1.0)
    return clipped * (1 - clipped) / max(reports, 1)


def expected_errors(even: GridRanges) -> dict[str, float]:
    """Of an estimate with evenly filled cells: the middle cell, and the root mean square over ranges of any ends.

    The ends are a fixed sample that covers the grid evenly: multiples of powers of 2^(1/(numbers + 1)), modulo 1.
    """
    shape = np.array(even.domain.shape)
    middle = (shape // 2)[None, :]
    numbers = 2 * shape.size
    steps = 2 ** (np.arange(1, numbers + 1) / (numbers + 1))
    positions = (np.arange(1, _SAMPLES + 1)[:, None] * steps % 1).reshape(_SAMPLES, 2, -1)
    low, high = np.sort((positions * shape).astype(np.int64), axis=1).transpose(1, 0, 2)
    (_, point, _), (_, ranges, _) = even.plain(middle, middle + 1), even.plain(low, high + 1)
    return {"point": float(point[0]), "range": float(np.sqrt((ranges**2).mean()))}
