"""Privacy as data: what a mechanism promises for every pair of values, in numbers and in words."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
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
class MetricLp(Guarantee):
    """Epsilon times the L^p distance; a step from one cell to the next is `widths` long on each axis (1 if absent)."""

    epsilon: float
    p: float = 1.0
    widths: tuple[float, ...] | None = None

    def matrix(self, domain: Domain) -> NDArray[np.float64]:
        cells = np.stack(np.unravel_index(np.arange(domain.size), domain.shape), axis=1)
        widths = np.ones(len(domain.shape)) if self.widths is None else np.array(self.widths)
        steps = np.abs(cells[:, None, :] - cells[None, :, :]) * widths
        if self.p == inf:
            return self.epsilon * steps.max(axis=2)
        return self.epsilon * (steps**self.p).sum(axis=2) ** (1 / self.p)

    def words(self) -> str:
        distance = {1.0: "differences summed over the axes", inf: "largest difference over the axes"}.get(
            self.p, f"L^{self.p:g} norm of the differences over the axes"
        )
        if self.widths is None or all(width == 1.0 for width in self.widths):
            return (
                f"Metric privacy: two values at a distance of k cells ({distance}) explain any report within a "
                f"factor of e^({self.epsilon:g} k). Close values are well hidden, distant ones less."
            )
        steps = ", ".join(f"{self.epsilon * width:.4g}" for width in self.widths)
        return (
            f"Metric privacy: epsilon = {self.epsilon:g} per unit of the original scale ({distance}), that is "
            f"{steps} per bin. Distance is counted in whole bins: two values on either side of a bin's edge get a "
            "whole bin's epsilon, however close they are; values in one bin are not told apart at all."
        )

    def table(self) -> dict[str, Any]:
        table: dict[str, Any] = {"kind": "metric", "metric": f"l{self.p:g}", "epsilon": self.epsilon}
        if self.widths is not None:
            table["epsilon_per_cell"] = [self.epsilon * width for width in self.widths]
        return table
