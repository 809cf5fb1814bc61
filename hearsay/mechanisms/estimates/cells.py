"""Estimates of one share per cell."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.estimates.charts import CDF, HISTOGRAM, MAP, Chart
from hearsay.mechanisms.estimates.estimate import (
    DECILES,
    Averages,
    Ends,
    Estimate,
    Floats,
    Measured,
    Points,
    Ranges,
    Sums,
)
from hearsay.mechanisms.estimates.postprocess import ISOTONIC, METHODS, Processed, process

_LISTED = 32  # labels that are drawn one by one; of more, the most frequent
LABEL = "label"  # an axis of this name makes a survey one of labelled scores


@dataclass(frozen=True)
class CellEstimate(Estimate, Points):
    """Fractions of the reports per cell."""

    domain: Cells
    reports: int
    estimate: Floats
    stderr: Floats

    def points(self, cells: Ends) -> Measured:
        return Measured.plain(self.estimate.reshape(-1)[cells], self.stderr.reshape(-1)[cells])

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"estimate": self.estimate, "stderr": self.stderr}

    def headline(self) -> tuple[str, ...]:
        """Deciles where the mechanism can say them, else the most frequent cells, after a labelled score's area."""
        if isinstance(self, Ranges) and self.domain.is_line:
            return (DECILES,)
        area = ("auc",) if any(axis.name == LABEL for axis in self.domain.axes) else ()
        return (*area, "top 10")

    def charts(self) -> tuple[Chart, ...]:
        """A histogram and the cumulative shares of a line, a map of two axes, else bars."""
        ordered = isinstance(self, Ranges)
        if ordered and self.domain.is_line:
            return HISTOGRAM, CDF
        if ordered and self.domain.ORDERED and len(self.domain.axes) == 2:
            area = any(axis.name == LABEL for axis in self.domain.axes)
            return (MAP, Chart("table", "auc", "Area under the curve")) if area else (MAP,)
        listed = self.domain.size <= _LISTED
        return (Chart("bars", "frequencies" if listed else f"top {_LISTED}", "Shares of the reports"),)

    def processed(self, method: str) -> Processed | None:
        if method not in METHODS or method == "none" or self.lacks(method) is not None:
            return None
        return process(self.estimate, method)

    def lacks(self, method: str) -> str | None:
        if method == ISOTONIC and len(self.domain.axes) > 1:
            return f"postprocess {method} needs one axis, this domain has {len(self.domain.axes)}"
        if method != "clip" and not np.isfinite(self.estimate).all():
            return f"postprocess {method} needs a share for every cell, some are unknown yet"
        return super().lacks(method)


@dataclass(frozen=True)
class ExactCells(CellEstimate, Ranges, Sums, Averages):
    """What a survey without noise would say: the truth that answers are held against, in demos and tests."""

    @classmethod
    def of(cls, domain: Cells, values: Any) -> Self:
        counts = np.bincount(domain.flatten(values), minlength=domain.size).reshape(domain.shape)
        return cls(domain, len(values), counts / len(values), np.zeros(domain.shape))

    def ranges(self, low: Ends, high: Ends) -> Measured:
        boxes = [
            tuple(slice(a, b + 1) for a, b in zip(first, last, strict=True))
            for first, last in zip(low, high, strict=True)
        ]
        return Measured.plain(np.array([self.estimate[box].sum() for box in boxes]), np.zeros(len(low)))

    def prefix_values(self) -> Floats:
        return np.cumsum(self.estimate)

    def prefixes(self, ends: Ends) -> Measured:
        self._one_axis()
        return Measured.plain(self.prefix_values()[ends], np.zeros(ends.size))

    def sums(self, coefficients: Floats | None = None) -> Measured:
        rows = np.eye(self.domain.size) if coefficients is None else coefficients
        return Measured.plain(rows @ self.estimate.reshape(-1), np.zeros(len(rows)))

    def average(self) -> Measured:
        (axis,) = self.domain.axes
        middles = [axis.units(index + axis.continuous / 2) for index in range(axis.size)]
        return self.sums(np.array([middles]))
