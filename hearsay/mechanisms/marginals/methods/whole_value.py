"""What methods share that put a plain oracle of `oracles` on all combinations of the attributes."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import CellMechanism, State, Values
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.layout import Layout, Reports
from hearsay.mechanisms.marginals.mechanism import AttributeMechanism


@dataclass(frozen=True)
class WholeValue(AttributeMechanism):
    """A combination is a cell of the oracle's domain."""

    @property
    @abstractmethod
    def oracle(self) -> CellMechanism:
        """The oracle over all combinations."""

    def cells(self, values: Values) -> NDArray[Any]:
        """The combination of every device, row-major over the attributes."""
        return np.ravel_multi_index(tuple(np.asarray(values).T), self.domain.shape)

    @property
    def spent_epsilon(self) -> float:
        return self.oracle.spent_epsilon

    @property
    def layout(self) -> Layout:
        return self.oracle.layout

    @property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return self.oracle.arrays

    def perturb(self, values: Values, random: Random) -> Reports:
        return self.oracle.perturb(self.cells(self.domain.check(values)), random)

    def fold(self, state: State, reports: Reports) -> State:
        return self.oracle.fold(state, reports)

    def valid(self, reports: Reports) -> NDArray[np.bool_] | None:
        return self.oracle.valid(reports)

    def reports(self, state: State) -> int:
        return self.oracle.reports(state)

    def report_chances(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.oracle.channel()[self.cells(values)]
