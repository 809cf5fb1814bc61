"""Marginals of a random set of k attributes, as a table of bits or as one cell (Kulkarni's MARGRR and MARGPS).

Device    Draw one of the B sets of k attributes evenly; report the own cell of its table by optimised unary encoding
          (marg-rr) or by randomised response (marg-ps).
Privacy   The set is independent of the value, and the oracle on its table has ratio at most e^eps.
Fold      Add the bits, or 1, to the set's cells; count the set's reports.
Estimate  A marginal of j attributes is pooled over the s = C(d-j, k-j) sets that contain it (`views`).
Variance  rho [V + f(1-f)] - f(1-f), rho = B/s, V the oracle's for the sum of M cells (`hits`).      Kulkarni 4.3.3
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import ANSWER, PUBLIC, State, Streams, Values
from hearsay.mechanisms.errors import refuse_more
from hearsay.mechanisms.exact.bit_counting import count_bits
from hearsay.mechanisms.exact.counting import count_into
from hearsay.mechanisms.exact.randomness import WORD, Random
from hearsay.mechanisms.exact.thresholds import down, exponential, flip_threshold, log_ratio, probability
from hearsay.mechanisms.layout import Layout, Reports, Scalar, Vector, by_parts, smallest_unsigned
from hearsay.mechanisms.marginals.analyses.maxent import MeasuredCharacters
from hearsay.mechanisms.marginals.characters.code import Attributes
from hearsay.mechanisms.marginals.estimate import MarginalEstimate
from hearsay.mechanisms.marginals.mechanism import AttributeMechanism
from hearsay.mechanisms.marginals.methods.hits import Chances, covariance_of_bits, covariance_of_one
from hearsay.mechanisms.marginals.methods.views import Covariance, Pooled, Views
from hearsay.mechanisms.marginals.table import Table
from hearsay.mechanisms.oracles.unary import set_bits

MAXIMUM_CELLS = 1 << 22  # of all views together
MAXIMUM_VIEW = 1 << 12  # cells of one view: a report of 512 bytes


@dataclass(frozen=True, eq=False)
class ViewEstimate(MarginalEstimate):
    """Hits of every view's cells."""

    hits: NDArray[np.int64]
    counts: NDArray[np.int64]
    pooled: Pooled

    def _table(self, attributes: Attributes) -> Table:
        return self.pooled.table(attributes, self.hits, self.counts, self.reports)

    def known(self, attributes: Attributes) -> list[MeasuredCharacters]:
        """Every character from all views that hold it, not only from those that hold a whole table."""
        parts = [part for size in range(1, self.order + 1) for part in combinations(attributes, size)]
        covered = [part for part in parts if self.pooled.views.containing(part)]
        return [
            MeasuredCharacters.of(self.code, ViewEstimate._table(self, part)).touching(self.code, part)
            for part in covered
        ]


@dataclass(frozen=True)
class MarginalViews(AttributeMechanism):
    """What methods share whose devices report one view."""

    ESTIMATE: ClassVar[type[MarginalEstimate]] = ViewEstimate
    HITS: ClassVar[str]

    @property
    @abstractmethod
    def covariance(self) -> Covariance:
        """n Cov of a table's cells (`hits`)."""

    def check(self) -> None:
        super().check()
        refuse_more(self.views.total, MAXIMUM_CELLS, f"cells in all sets together for {self.ID}", "; use inp-ht")

    @cached_property
    def views(self) -> Views:
        """The public sets that devices draw from."""
        return Views(self.code, tuple(self.sets()))

    @abstractmethod
    def chances(self, cells: int) -> Chances:
        """p, q and p - q of a view of so many cells."""

    @cached_property
    def pooled(self) -> Pooled:
        """How marginals are read from views."""
        known = {int(cells): self.chances(int(cells)) for cells in np.unique(self.views.cells)}
        return Pooled(self.views, tuple(known[int(cells)] for cells in self.views.cells), self.covariance)

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {self.HITS: (self.views.total,)}

    @abstractmethod
    def counts(self, state: State) -> NDArray[np.int64]:
        """How many reports each view has."""

    def reports(self, state: State) -> int:
        return int(self.counts(state).sum())

    def estimate(self, state: State) -> MarginalEstimate:
        return ViewEstimate(self.domain, self.reports(state), state[self.HITS], self.counts(state), self.pooled)

    def perturb(self, values: Values, random: Random) -> Reports:
        def draw(cells: NDArray[np.int64]) -> Reports:
            view = self._view(len(cells), random)
            return self._draw(view, self.views.locate(cells, view), random)

        return by_parts(draw, self.domain.check(values))

    def _view(self, count: int, random: Random) -> NDArray[np.intp]:
        """A view for each device, drawn without looking at its value."""
        return random.below(len(self.views.sets), count).astype(np.intp)

    @abstractmethod
    def _draw(self, view: NDArray[np.intp], cells: NDArray[np.int64], random: Random) -> Reports:
        """Reports of cells in their views."""

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        errors = [self.pooled.predicted(chosen) * self.code.cells(chosen) for chosen in self.sets()]
        return {"marginal": float(np.mean(errors)) / self.mean_cells / float(np.sqrt(reports))}


@dataclass(frozen=True)
class BitViews(MarginalViews):
    """A view as bits, by optimised unary encoding."""

    HITS = "ones"

    @property
    def covariance(self) -> Covariance:
        return covariance_of_bits

    def check(self) -> None:
        super().check()
        largest, what = int(self.views.cells.max()), "domain: a set of attributes"
        refuse_more(largest, MAXIMUM_VIEW, f"cells for {self.ID}", "; use inp-ht", what=what)

    @cached_property
    def flip(self) -> int:
        """Threshold out of 2^64 of setting the bit of a cell that is not the device's own."""
        return flip_threshold(self.epsilon)

    @property
    def spent_epsilon(self) -> float:
        q = probability(self.flip)
        return log_ratio(1 - q, q)

    def chances(self, cells: int) -> Chances:
        q = probability(self.flip)
        return Chances(0.5, float(q), float(Fraction(1, 2) - q))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"ones": (self.views.total,), "count": (len(self.views.sets),)}

    def counts(self, state: State) -> NDArray[np.int64]:
        return state["count"]

    @cached_property
    def _width(self) -> int:
        return int(self.views.cells.max())

    @cached_property
    def _inside(self) -> NDArray[np.uint8]:
        """The bits that each view has, packed."""
        table = np.arange(self._width)[None, :] < self.views.cells[:, None]
        return np.packbits(table, axis=1, bitorder="little")

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("view", len(self.views.sets)), vector=Vector("bits", self._width))

    def _draw(self, view: NDArray[np.intp], cells: NDArray[np.int64], random: Random) -> Reports:
        bits = random.bits(self.flip, len(cells), self._width)
        set_bits(bits, cells, random.bernoulli(WORD // 2, len(cells)))
        return {"view": view.astype(smallest_unsigned(len(self.views.sets))), "bits": bits & self._inside[view]}

    def valid(self, reports: Reports) -> NDArray[np.bool_] | None:
        if (self.views.cells == self._width).all():
            return None
        outside = reports["bits"] & ~self._inside[reports["view"].astype(np.intp)]
        return np.logical_not(outside.any(axis=1))

    def fold(self, state: State, reports: Reports) -> State:
        view = reports["view"].astype(np.intp)
        count = np.bincount(view, minlength=len(self.views.sets))
        state["count"] += count
        order, ends = np.argsort(view, kind="stable"), np.cumsum(count)
        for number in np.flatnonzero(count):
            rows = order[ends[number] - count[number] : ends[number]]
            own = slice(self.views.starts[number], self.views.starts[number + 1])
            state["ones"][own] += count_bits(reports["bits"][rows], int(self.views.cells[number]))
        return state

    def report_chances(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        every = self.layout.enumerate()
        view = every["view"].astype(np.intp)
        strings = np.unpackbits(every["bits"], axis=1, count=self._width, bitorder="little").astype(bool)
        q = float(probability(self.flip))
        inside = np.arange(self._width)[None, :] < self.views.cells[view][:, None]
        others = np.where(strings, q, 1 - q)
        table = np.empty((len(values), len(view)))
        for row, value in enumerate(values):
            own = self.views.locate(np.repeat(value[None], len(view), axis=0), view)
            chance = np.where(inside, others, np.where(strings, 0.0, 1.0))
            chance[np.arange(len(view)), own] = 0.5
            table[row] = chance.prod(axis=1) / len(self.views.sets)
        return table


@dataclass(frozen=True)
class MargRR(BitViews):
    """Views are all sets of k attributes."""

    ID = "marg-rr"
    SUMMARY = "marginals from one random set of k attributes, a noisy bit for each of its cells"
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.1, "domain": {"kind": "attributes", "names": ["a", "b", "c"], "order": 2}},
        {"epsilon": 1.1, "domain": {"kind": "attributes", "names": ["a", "b", "c"], "sizes": [2, 3, 2], "order": 2}},
    )


@dataclass(frozen=True)
class MargPS(MarginalViews):
    """One cell of one set of k attributes."""

    ID = "marg-ps"
    SUMMARY = "marginals from one random set of k attributes by randomised response on its cells"
    HITS = "hist"
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.1, "domain": {"kind": "attributes", "names": ["a", "b", "c"], "order": 2}},
        {"epsilon": 1.1, "domain": {"kind": "attributes", "names": ["a", "b", "c"], "sizes": [2, 3, 5], "order": 2}},
    )

    @property
    def covariance(self) -> Covariance:
        return covariance_of_one

    def _truth(self, cells: int) -> int:
        """Threshold out of 2^64 of telling the truth whatever the draw, in a view of so many cells."""
        gain = exponential(self.epsilon) - 1
        return min(down(gain / (gain + cells)), WORD - 1)

    @cached_property
    def _truths(self) -> NDArray[np.uint64]:
        known = {int(cells): self._truth(int(cells)) for cells in np.unique(self.views.cells)}
        return np.array([known[int(cells)] for cells in self.views.cells], dtype=np.uint64)

    def _exact(self, cells: int) -> tuple[Fraction, Fraction]:
        truth = probability(self._truth(cells))
        q = (1 - truth) / cells
        return truth + q, q

    def chances(self, cells: int) -> Chances:
        p, q = self._exact(cells)
        return Chances(float(p), float(q), float(p - q))

    @property
    def spent_epsilon(self) -> float:
        return max(log_ratio(*self._exact(int(cells))) for cells in np.unique(self.views.cells))

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("cell", self.views.total))

    def _draw(self, view: NDArray[np.intp], cells: NDArray[np.int64], random: Random) -> Reports:
        drawn = random.below_each(self.views.cells[view])
        cell = self.views.starts[view] + np.where(random.words(len(view)) < self._truths[view], cells, drawn)
        return {"cell": cell.astype(smallest_unsigned(self.views.total))}

    @property
    def memoised_buckets(self) -> int:
        """Cells of the largest view."""
        return int(self.views.cells.max())

    def perturb_memoised(self, values: Values, stream: Streams) -> Reports:
        view = self._view(1, stream(PUBLIC))
        cell = self.views.locate(self.domain.check(values), view)
        return self._draw(view, cell, stream(f"{ANSWER} {cell[0]}"))

    def fold(self, state: State, reports: Reports) -> State:
        count_into(state["hist"], reports["cell"])
        return state

    def counts(self, state: State) -> NDArray[np.int64]:
        return np.add.reduceat(state["hist"], self.views.starts[:-1])

    def report_chances(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        table = np.zeros((len(values), self.views.total))
        for number, (start, cells) in enumerate(zip(self.views.starts[:-1], self.views.cells, strict=True)):
            p, q, _ = self.chances(int(cells))
            own = self.views.locate(values, np.full(len(values), number, dtype=np.intp))
            table[:, start : start + cells] = q
            table[np.arange(len(values)), start + own] = p
        return table / len(self.views.sets)
