"""Methods that estimate the whole table of all attributes and sum it up (Kulkarni's INPRR and INPPS).

Simple, and good where the whole table is small: a cell of a marginal with R cells sums M = cells/R noisy cells of the
whole table (`each` in the code), so the error grows with the square root of the number of all cells. The oracle on the
whole table is the plain one of `oracles`.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.intervals import Spread
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.marginals.characters.code import Attributes
from hearsay.mechanisms.marginals.estimate import MarginalEstimate
from hearsay.mechanisms.marginals.methods.hits import (
    Chances,
    covariance_of_bits,
    covariance_of_one,
    sampling,
    shares,
    with_known_total,
)
from hearsay.mechanisms.marginals.methods.whole_value import WholeValue
from hearsay.mechanisms.marginals.table import Score, Table
from hearsay.mechanisms.options import flag
from hearsay.mechanisms.oracles.grr import GRR
from hearsay.mechanisms.oracles.oracle import HitOracle
from hearsay.mechanisms.oracles.unary import OUE

Covariance = Callable[[Floats, int, Chances], Floats]


@dataclass(frozen=True, eq=False)
class WholeTableEstimate(MarginalEstimate):
    """Hits of every cell of the whole table."""

    hits: NDArray[np.int64]
    chances: Chances
    covariance: Covariance
    known_total: bool

    def _table(self, attributes: Attributes) -> Table:
        hits = _summed(self.hits, self.domain.shape, attributes)
        each = self.hits.size // hits.size
        f = shares(hits, self.reports, each, self.chances)
        covariance = self.covariance(project(f), each, self.chances)
        if self.known_total:
            f, covariance = with_known_total(f, covariance)
        n, shape = max(self.reports, 1), self.code.shape(attributes)
        score = self._score(hits.size, each)
        return Table(attributes, shape, self.reports, f, (covariance + sampling(project(f))) / n, score=score)

    def _score(self, cells: int, each: int) -> Score:
        """n Var of a cell as a function of its share, linear between 0 and 1; the other cells share the rest evenly."""
        ends = []
        for share in (0.0, 1.0):
            others = np.full(cells - 1, (1 - share) / max(cells - 1, 1))
            f = np.append(share, others)
            covariance = self.covariance(f, each, self.chances)
            if self.known_total:
                covariance = with_known_total(f, covariance)[1]
            ends.append(float(covariance[0, 0]))
        return Score(1 / self.chances.gap, Spread(ends[0], ends[1] - ends[0]))


def _summed(hits: NDArray[np.int64], shape: tuple[int, ...], attributes: Attributes) -> NDArray[np.int64]:
    """The whole table's cells, summed to a marginal in the order named."""
    sizes: list[int] = []
    others: list[int] = []
    for attribute, size in enumerate(shape):
        if attribute in attributes:
            sizes.append(size)
        elif others[-1:] == [len(sizes) - 1]:
            sizes[-1] *= size  # neighbours over which is summed are one axis: many short ones are slow
        else:
            others.append(len(sizes))
            sizes.append(size)
    kept = sorted(attributes)
    summed = hits.reshape(sizes).sum(axis=tuple(others))
    return np.transpose(summed, [kept.index(attribute) for attribute in attributes]).reshape(-1)


@dataclass(frozen=True)
class WholeTable(WholeValue):
    """What `inp-rr` and `inp-ps` share; they differ in the oracle on the whole table."""

    ORACLE: ClassVar[type[HitOracle]]
    MAXIMUM_CELLS: ClassVar[int]

    @property
    @abstractmethod
    def covariance(self) -> Covariance:
        """n Cov of a table's cells (`hits`)."""

    def check(self) -> None:
        super().check()
        self.refuse_more_combinations(self.MAXIMUM_CELLS)

    @cached_property
    def oracle(self) -> HitOracle:
        """The oracle on the whole table."""
        return self.ORACLE.over(self.domain.size, self.epsilon)

    @property
    def known_total(self) -> bool:
        """Whether a table is made to sum to one."""
        return bool(self.options.get("known_total", False))

    def estimate(self, state: State) -> WholeTableEstimate:
        n, chances = self.reports(state), Chances(*self.oracle.hit_chances())
        hits = state[self.oracle.HITS]
        return WholeTableEstimate(self.domain, n, hits, chances, self.covariance, self.known_total)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        chances, total = Chances(*self.oracle.hit_chances()), 0.0
        for attributes in self.sets():
            cells = self.code.cells(attributes)
            even = np.full(cells, 1 / cells)
            covariance = self.covariance(even, self.domain.size // cells, chances)
            if self.known_total:
                covariance = with_known_total(even, covariance)[1]
            total += cells * sqrt(covariance[0, 0])
        return {"marginal": total / len(self.sets()) / self.mean_cells / sqrt(reports)}


@dataclass(frozen=True)
class InpRR(WholeTable):
    """A bit for every combination of all attributes."""

    ID = "inp-rr"
    ESTIMATE = WholeTableEstimate
    SUMMARY = "marginals from one noisy bit for every combination of all attributes; for up to 16 binary attributes"
    ORACLE = OUE
    MAXIMUM_CELLS = 1 << 16  # a report of 8 KiB
    OPTIONS = (flag("known_total", True, "make every table sum to one, which lowers its error"),)
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.1, "domain": {"kind": "attributes", "names": ["a", "b", "c"], "order": 2}},
        {
            "epsilon": 1.1,
            "domain": {"kind": "attributes", "names": ["a", "b"], "sizes": [3, 2], "order": 1},
            "options": {"known_total": False},
        },
    )

    @property
    def covariance(self) -> Covariance:
        return covariance_of_bits


@dataclass(frozen=True)
class InpPS(WholeTable):
    """The whole value by randomised response."""

    ID = "inp-ps"
    ESTIMATE = WholeTableEstimate
    SUMMARY = "marginals from all attributes at once by randomised response; for few small attributes"
    ORACLE = GRR
    MAXIMUM_CELLS = 1 << 22
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.1, "domain": {"kind": "attributes", "names": ["a", "b", "c"], "order": 2}},
        {"epsilon": 2.0, "domain": {"kind": "attributes", "names": ["a", "b"], "sizes": [3, 4], "order": 2}},
    )

    @property
    def covariance(self) -> Covariance:
        return covariance_of_one
