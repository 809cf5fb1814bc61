"""What mechanisms share whose devices report at one of several levels: all but the levels and the estimate."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import CellMechanism, Mechanism, State, Streams, Values
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.promises import Guarantee, PureLDP
from hearsay.mechanisms.layout import Layout, Reports
from hearsay.mechanisms.ranges.levels import SampledLevels


@dataclass(frozen=True)
class ByLevel(Mechanism):
    """Layout, state and folding by level, whatever the devices hold."""

    @property
    @abstractmethod
    def levels(self) -> SampledLevels:
        """The levels with their oracles, and how likely each is."""

    @property
    def layout(self) -> Layout:
        return self.levels.layout

    @property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return self.levels.arrays

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)

    @property
    def spent_epsilon(self) -> float:
        return self.levels.spent_epsilon

    def fold(self, state: State, reports: Reports) -> State:
        return self.levels.fold(state, reports)

    def valid(self, reports: Reports) -> NDArray[np.bool_] | None:
        return self.levels.valid(reports)

    def reports(self, state: State) -> int:
        return sum(self.levels.counts(state))


@dataclass(frozen=True)
class LevelMechanism(CellMechanism, ByLevel):
    """Cells, each in one node of every level."""

    @abstractmethod
    def node(self, level: int, cells: Indices) -> Indices:
        """The node of a level, numbered from 1, that holds each cell (as `Domain.check` has them)."""

    def perturb(self, values: Values, random: Random) -> Reports:
        return self.levels.perturb(self.domain.check(values), self.node, random)

    @property
    def memoised_buckets(self) -> int | None:
        return self.levels.memoised_buckets

    def perturb_memoised(self, values: Values, stream: Streams) -> Reports:
        if self.memoised_buckets is None:
            return super().perturb_memoised(values, stream)
        return self.levels.perturb_memoised(self.domain.check(values), self.node, stream)

    def channel(self) -> NDArray[np.float64]:
        along = np.unravel_index(np.arange(self.domain.size), self.domain.shape)
        cells = along[0] if len(along) == 1 else np.stack(along, axis=1)
        return self.levels.channel(cells, self.node)
