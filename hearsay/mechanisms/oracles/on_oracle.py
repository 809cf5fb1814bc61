"""What mechanisms share whose reports and state are those of a plain oracle; they differ in what they make of them."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import CellMechanism, Mechanism, State
from hearsay.mechanisms.layout import Layout, Reports


@dataclass(frozen=True)
class OnOracle(Mechanism):
    """The oracle does the device's and the worker's part."""

    @property
    @abstractmethod
    def oracle(self) -> CellMechanism:
        """The oracle over all cells."""

    @property
    def spent_epsilon(self) -> float:
        return self.oracle.spent_epsilon

    @property
    def layout(self) -> Layout:
        return self.oracle.layout

    @property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return self.oracle.arrays

    def fold(self, state: State, reports: Reports) -> State:
        return self.oracle.fold(state, reports)

    def valid(self, reports: Reports) -> NDArray[np.bool_] | None:
        return self.oracle.valid(reports)

    def reports(self, state: State) -> int:
        return self.oracle.reports(state)
