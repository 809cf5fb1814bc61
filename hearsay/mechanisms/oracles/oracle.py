"""Frequency oracles: mechanisms that estimate every cell's share without bias, alone or as a part of others.

An oracle averages a score psi_u per report, whose mean for a device with value v is 1 if u = v and else 0. For any
weights w over the cells let psi = sum_u w_u psi_u. The oracles here treat all other cells alike, so

    E[psi^2 | v] = a sum w^2 + b w_v^2 + c (sum w)^2 + d w_v sum w

and these four numbers (`moments`) give the exact variance of every weighted sum, given the devices' true values:

    n Var = a sum w^2 + b sum w^2 f + c (sum w)^2 + d (sum w)(sum w f) - sum w^2 f.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import CellMechanism, State
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.intervals import Spread, scored_cells
from hearsay.mechanisms.guarantees.promises import Guarantee, PureLDP
from hearsay.mechanisms.oracles import MECHANISMS
from hearsay.mechanisms.tables import Home


class Moments(NamedTuple):
    """Second moment of a weighted score; see the module's text."""

    a: float
    b: float
    c: float
    d: float

    @classmethod
    def of_bits(cls, p: float, q: float) -> "Moments":
        """Independent bits, set with probability p in the true cell and q elsewhere; score (bit - q)/(p - q)."""
        noise = q * (1 - q) / (p - q) ** 2
        return cls(noise, p * (1 - p) / (p - q) ** 2 - noise + 1, 0.0, 0.0)

    def variance(self, f: Floats) -> Floats:
        """n Var of a single cell with share f."""
        return (self.a + self.c) + (self.b + self.d - 1) * f

    def spread(self) -> Spread:
        """n Var of a single cell, as score intervals take it."""
        return Spread(self.a + self.c, self.b + self.d - 1)

    def weighted(self, weights: Floats, f: Floats) -> float:
        """n Var of a weighted sum of cells."""
        total, mean = weights.sum(), (weights * f).sum()
        square, square_f = (weights**2).sum(), (weights**2 * f).sum()
        return float(self.a * square + (self.b - 1) * square_f + self.c * total**2 + self.d * total * mean)


@dataclass(frozen=True)
class FrequencyOracle(CellMechanism):
    """A mechanism whose estimate is one share per cell, with pure epsilon-LDP unless it says otherwise."""

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """Second moments of the per-report score."""

    def range_span(self, x: int, y: int) -> float | None:
        """The span of a report (`report_spans`) for the sum of cells x..y-1; None: not known."""
        return None

    def shares(self, state: State) -> Floats:
        """The estimated share of every cell (row-major), for mechanisms that know its errors better."""
        return self.estimate(state).estimate.reshape(-1)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        f = np.array([1.0 / self.domain.size])
        return {"point": float(np.sqrt(self.moments.variance(f)[0] / reports))}


@dataclass(frozen=True)
class HitOracle(FrequencyOracle):
    """An oracle where a report hits the true cell with probability p and any other cell with probability q.

    The state's array `HITS` counts them; f = (hits/n - q)/(p - q).
    """

    HITS: ClassVar[str] = "ones"

    @abstractmethod
    def hit_chances(self) -> tuple[float, float, float]:
        """p, q and p - q of the coins really flipped; the difference is exact before it is rounded."""

    def estimate(self, state: State) -> CellEstimate:
        n = self.reports(state)
        _, q, gap = self.hit_chances()
        f = (state[self.HITS] / max(n, 1) - q) / gap
        return scored_cells(self.domain, n, f, (self.moments.spread(),), step=1 / gap)

    def report_spans(self) -> dict[str, float]:
        """A report hits a cell or does not: 1/(p - q)."""
        return {"point": 1 / self.hit_chances()[2]}


def standard_errors(variance_times_n: NDArray[np.float64], reports: int) -> Floats:
    """Standard errors from n Var; rounding below zero is cut off. Of no reports nothing is known."""
    if not reports:
        return np.full(variance_times_n.shape, np.inf)
    return np.sqrt(np.maximum(variance_times_n, 0.0) / reports)


def oracle_over(name: str, size: int, epsilon: float) -> FrequencyOracle:
    """The named oracle on plain cells, as a part of another mechanism; `olh-12` and `olh-4-3` say t and named too."""
    plain, *numbers = name.split("-")
    ((_, home, _),) = MECHANISMS[plain]
    oracle: type[FrequencyOracle] = Home(__package__, home).load()
    return oracle.over(size, epsilon, **dict(zip(("t", "named"), map(int, numbers), strict=False)))
