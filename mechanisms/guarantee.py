"""Privacy as data: what a mechanism promises for every pair of values, in numbers and in words."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.domain import Domain


class Guarantee(ABC):
    """A bound on ln(P(report | x) / P(report | y)) for every pair of values x, y and every report."""

    @abstractmethod
    def matrix(self, domain: Domain) -> NDArray[np.float64]:
        """The bound for every pair of cells (row-major indices); infinite where nothing is promised."""

    @abstractmethod
    def words(self) -> str:
        """The promise in one sentence."""

    @abstractmethod
    def table(self) -> dict[str, Any]:
        """The promise as data, for snapshots and the command line."""


@dataclass(frozen=True)
class PureLDP(Guarantee):
    """The same epsilon for every pair."""

    epsilon: float

    def matrix(self, domain: Domain) -> NDArray[np.float64]:
        bound = np.full((domain.size, domain.size), self.epsilon)
        np.fill_diagonal(bound, 0.0)
        return bound

    def words(self) -> str:
        return (
            f"Local differential privacy with epsilon = {self.epsilon:g}: whatever the report, any two values explain "
            f"it within a factor of e^{self.epsilon:g} = {np.exp(self.epsilon):.3g}."
        )

    def table(self) -> dict[str, Any]:
        return {"kind": "pure", "epsilon": self.epsilon}


@dataclass(frozen=True)
class MetricL1(Guarantee):
    """Epsilon times the distance: the sum over the axes of the difference in cells."""

    epsilon: float

    def matrix(self, domain: Domain) -> NDArray[np.float64]:
        cells = np.stack(np.unravel_index(np.arange(domain.size), domain.shape), axis=1)
        return self.epsilon * np.abs(cells[:, None, :] - cells[None, :, :]).sum(axis=2)

    def words(self) -> str:
        return (
            f"Metric privacy: two values at a distance of k cells (summed over the axes) explain any report within a "
            f"factor of e^({self.epsilon:g} k). Close values are well hidden, distant ones less."
        )

    def table(self) -> dict[str, Any]:
        return {"kind": "metric", "metric": "l1", "epsilon": self.epsilon}
