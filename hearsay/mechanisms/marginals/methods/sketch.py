"""Apple's Hadamard count-mean sketch of the whole value (Kulkarni 4.4.6's INPHTCMS): a comparison.

The plain `count-mean-sketch` over all combinations of attributes; a marginal sums its shares. One report's part of a
marginal cell has mean square (m/(m-1))^2 mean_j sum_b W_j[b]^2/c^2, W_j[b] the cell's combinations that hash j puts
into bucket b. The hashes are fixed: what collides stays mixed, an error that more reports do not lower.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.marginals.characters.code import Attributes
from hearsay.mechanisms.marginals.estimate import MarginalEstimate
from hearsay.mechanisms.marginals.methods.whole_value import WholeValue
from hearsay.mechanisms.marginals.table import Table
from hearsay.mechanisms.options import integer
from hearsay.mechanisms.oracles.count_mean_sketch import CountMeanSketch

MAXIMUM_CELLS = 1 << 20
_KEPT = 1 << 20  # hashed combinations that are kept from one table to the next


@dataclass(frozen=True, eq=False)
class SketchEstimate(MarginalEstimate):
    """Shares of all combinations of attributes."""

    shares: Floats
    mechanism: "AttributeSketch"

    def _table(self, attributes: Attributes) -> Table:
        cell = self.mechanism.cells_of(attributes)
        value = np.bincount(cell, self.shares).astype(np.float64)
        second = self.mechanism.second_moment(attributes)
        shares, n = project(value), max(self.reports, 1)
        second = second + np.diag(np.full(value.size, n * self._floor(value.size)))
        return Table(
            attributes, self.code.shape(attributes), self.reports, value, (second - np.outer(shares, shares)) / n
        )

    def _floor(self, cells: int) -> float:
        """The mean square over choices of hashes of what collisions add to a marginal cell."""
        oracle = self.mechanism.oracle
        concentration = float((project(self.shares) ** 2).sum())
        return concentration * self.shares.size / cells / (oracle.hashes * (oracle.width - 1))


@dataclass(frozen=True)
class AttributeSketch(WholeValue):
    """The sketch on attributes."""

    ID = "count-mean-sketch"
    ESTIMATE = SketchEstimate
    SUMMARY = "Apple's Hadamard count-mean sketch of all attributes at once; a comparator"
    ERROR_FLOOR = CountMeanSketch.ERROR_FLOOR
    OPTIONS = (
        integer("hashes", 5, 1, 1 << 16, "rows of the sketch"),
        integer("width", 256, 2, 1 << 20, "columns of the sketch, a power of two"),
        integer("seed", 0, 0, 2**31, "public seed of the hashes"),
    )
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "epsilon": 1.1,
            "domain": {"kind": "attributes", "names": ["a", "b", "c"], "order": 2},
            "options": {"hashes": 4, "width": 16},
        },
    )

    def check(self) -> None:
        super().check()
        self.refuse_more_combinations(MAXIMUM_CELLS)
        self.oracle  # noqa: B018 - refuses what does not fit

    @cached_property
    def oracle(self) -> CountMeanSketch:
        """The sketch over all combinations."""
        return CountMeanSketch.over(self.domain.size, self.epsilon, **self.options)

    def estimate(self, state: State) -> SketchEstimate:
        cells = self.oracle.estimate(state)
        return SketchEstimate(self.domain, self.reports(state), cells.estimate.reshape(-1), self)

    def cells_of(self, attributes: Attributes) -> NDArray[np.int64]:
        """The marginal cell of every combination."""
        every, shape, cell = np.arange(self.domain.size), self.domain.shape, np.zeros(self.domain.size, dtype=np.int64)
        for attribute in attributes:
            cell = cell * shape[attribute] + every // prod(shape[attribute + 1 :]) % shape[attribute]
        return cell

    def _buckets(self, row: int) -> NDArray[np.int64]:
        """Where a hash puts every combination."""
        return self.oracle.buckets(np.array([row]), np.arange(self.domain.size)).astype(np.int64)

    @cached_property
    def _kept(self) -> list[NDArray[np.int64]]:
        """The same of the first hashes, as many as are small enough to be kept."""
        return [self._buckets(row) for row in range(min(self.oracle.hashes, _KEPT // self.domain.size))]

    def second_moment(self, attributes: Attributes) -> Floats:
        """mean of psi psi' over the hashes, for a report's part psi of the marginal's cells."""
        cells, m = self.code.cells(attributes), self.oracle.width
        cell, total = self.cells_of(attributes), np.zeros((cells, cells))
        for row in range(self.oracle.hashes):
            bucket = self._kept[row] if row < len(self._kept) else self._buckets(row)
            crowd = np.bincount(cell * m + bucket, minlength=cells * m).reshape(cells, m).astype(np.float64)
            total += crowd @ crowd.T
        return (m / (m - 1)) ** 2 * total / self.oracle.hashes / self.oracle.correlation**2

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        moments = [np.sqrt(np.diag(self.second_moment(chosen))).sum() for chosen in self.sets()]
        return {"marginal": float(np.mean(moments)) / self.mean_cells / sqrt(reports)}
