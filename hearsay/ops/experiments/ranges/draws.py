"""Range estimates for tens of millions of devices without playing each one: a shortcut that only experiments use.

Every level's aggregate is drawn at once. A device chooses its level by itself, so the devices of a node that answer on
a level are binomial, and given them oue's ones are binomial, cell by cell; Haar's characters have multinomial counts
and binomial signs. These are the exact distributions of one level. Left out is only that a device answers on one level
and not on several, which is worth f(1 - f)/n, below one hundredth of the variances here. The other oracles' estimates
are normal with their covariance for evenly filled nodes. What follows the draw is the code that ships.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import State, build
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.hadamard import walsh_hadamard
from hearsay.mechanisms.oracles.oracle import oracle_over
from hearsay.mechanisms.ranges.haar.line import Haar
from hearsay.mechanisms.ranges.hierarchical.hierarchy import Hierarchy, ShiftedLevel
from hearsay.mechanisms.ranges.hierarchical.level_plan import contrast_variance, expected_variance, spread
from hearsay.mechanisms.ranges.hierarchical.planned_level import Plan, PlannedLevel
from hearsay.mechanisms.ranges.hierarchical.tree import Tree

Counts = NDArray[np.int64]
DEVICES = 1 << 26


def cauchy(size: int, devices: int = DEVICES) -> Counts:
    """How many devices hold each cell: Cauchy around 0.4 of the domain, a tenth of it wide (Kulkarni 5.5)."""
    edges = np.linspace(0.0, 1.0, size + 1)
    cumulative = np.arctan((edges - 0.4) / 0.1)
    shares = np.diff(cumulative) / (cumulative[-1] - cumulative[0])
    return np.random.default_rng(size).multinomial(devices, shares).astype(np.int64)


@dataclass(frozen=True)
class TreeMethod:
    """A hierarchy with given levels; expected errors by least-squares algebra, estimates by one draw a place."""

    name: str
    size: int
    epsilon: float
    plan: Plan

    @classmethod
    def uniform(cls, name: str, size: int, epsilon: float, fanout: int, oracle: str = "oue") -> "TreeMethod":
        """Levels asked equally often by one oracle, as the dissertation has them."""
        height = Tree.regular(size, fanout).height
        fanouts = [fanout] * height
        return cls(name, size, epsilon, tuple(PlannedLevel(each, oracle, 1) for each in fanouts))

    @cached_property
    def hierarchy(self) -> Hierarchy:
        return Hierarchy(self.size, self.plan)

    @property
    def shares(self) -> Floats:
        parts = np.array([float(share) for share in self.hierarchy.shares])
        return parts / parts.sum()

    def expected(self, workload: str, devices: int = DEVICES) -> float:
        """Mean squared error over the workload for evenly spread devices."""
        inference = self.hierarchy.inference(self._variances(self.shares * devices))
        return expected_variance(inference, spread(self.hierarchy.below, workload))

    def _variances(self, reports: Floats) -> list[float]:
        hierarchy = self.hierarchy
        return [
            _variance(hierarchy.oracle(shifted_level), hierarchy.nodes(shifted_level), self.epsilon) / count
            for shifted_level, count in zip(hierarchy.shifted_levels, reports, strict=True)
        ]

    def draw(self, devices: Counts, generator: np.random.Generator) -> Floats:
        """One estimate of every cell's share."""
        hierarchy, raw, reports = self.hierarchy, [], []
        for shifted_level, share in zip(hierarchy.shifted_levels, self.shares, strict=True):
            here = generator.binomial(_devices_at(hierarchy, shifted_level, devices), share)
            reports.append(int(here.sum()))
            raw.append(_draw_shares(hierarchy.oracle(shifted_level), here, self.epsilon, generator))
        inference = hierarchy.inference(self._variances(np.array(reports)))
        in_crown = len(inference.windows)
        return inference.leaves(raw[:in_crown], raw[in_crown:])


def _devices_at(hierarchy: Hierarchy, shifted_level: ShiftedLevel, devices: Counts) -> Counts:
    """How many devices every node of a place holds."""
    pieces = np.arange(0, devices.size, hierarchy.tree.spans[max(shifted_level.level, hierarchy.depth)])
    counts = np.add.reduceat(devices, pieces)
    return np.bincount(hierarchy.node(shifted_level, pieces), weights=counts).astype(np.int64)


def _variance(oracle: str, nodes: int, epsilon: float) -> float:
    """V of one report; oue's for any number of nodes, also where its reports would be too long to send."""
    if oracle != "oue":
        return contrast_variance(oracle, nodes, epsilon)
    p, q = 0.5, 1 / (np.exp(epsilon) + 1)
    noise = q * (1 - q) / (p - q) ** 2
    return float(noise + (p * (1 - p) / (p - q) ** 2 - noise + 1) / nodes)


def _draw_shares(oracle: str, here: Counts, epsilon: float, generator: np.random.Generator) -> Floats:
    n = int(here.sum())
    if oracle == "oue":
        p, q = 0.5, 1 / (np.exp(epsilon) + 1)
        ones = generator.binomial(here, p) + generator.binomial(n - here, q)
        return (ones / n - q) / (p - q)
    moments = oracle_over(oracle, here.size, epsilon).moments
    f = here / n
    noise = generator.normal(size=f.size) * np.sqrt(np.maximum(moments.a + (moments.b - 1) * f, 0.0) / n)
    # Their estimates sum to one, or as good as: differences between nodes are what has the stated variance.
    return f + noise - noise.mean()


@dataclass(frozen=True)
class HaarMethod:
    """The mechanism `haar`, estimating from a drawn state."""

    size: int
    epsilon: float
    name: str = "haar"

    @property
    def mechanism(self) -> Haar:
        table: dict[str, Any] = {"mechanism": "haar", "epsilon": self.epsilon}
        made = build({**table, "domain": {"kind": "ordinal", "size": self.size}})
        assert isinstance(made, Haar)
        return made

    def expected(self, workload: str, devices: int = DEVICES) -> float:
        """Mean squared error over the workload: a node's two halves differ by what a coefficient carries."""
        mechanism = self.mechanism
        halves, below = spread(Tree.regular(self.size, 2), workload)
        kappa = (np.trace(halves) - halves.sum() / 2 + below.sum()) / 2
        return float(kappa * mechanism.height / (devices * mechanism.correlation**2))

    def draw(self, devices: Counts, generator: np.random.Generator) -> Floats:
        """One estimate of every cell's share."""
        mechanism = self.mechanism
        state: State = {}
        halves = devices
        for level, characters in enumerate(mechanism.nodes, start=1):
            here = generator.binomial(halves, 1 / mechanism.height)
            n = int(here.sum())
            theta = walsh_hadamard((here[0::2] - here[1::2]) / n)
            count = generator.multinomial(n, np.full(characters, 1 / characters))
            plus = generator.binomial(count, np.clip((1 + mechanism.correlation * theta) / 2, 0.0, 1.0))
            state |= {f"{level}/sum": 2 * plus - count, f"{level}/count": count}
            halves = halves[0::2] + halves[1::2]
        return mechanism.estimate(state).estimate


Method = TreeMethod | HaarMethod


@dataclass(frozen=True)
class PrefixErrors:
    """Errors of the cumulative shares before each cell, D + 1 of them, and what they say about ranges."""

    errors: Floats

    @classmethod
    def of(cls, estimate: Floats, devices: Counts) -> "PrefixErrors":
        error = np.concatenate([[0.0], np.cumsum(estimate - devices / devices.sum())])
        error[-1] = 0.0  # the whole is known
        return cls(error)

    def all_ranges(self) -> float:
        """Mean squared error over all ranges: sum over pairs of ends of (e_y - e_x)^2, in closed form."""
        e, ends = self.errors, self.errors.size
        return float((ends * (e @ e) - e.sum() ** 2) / (ends * (ends - 1) / 2))

    def prefixes(self) -> float:
        """Mean squared error over all prefixes but the whole."""
        return float((self.errors[1:-1] ** 2).mean())

    def of_length(self, length: int) -> float:
        """Mean squared error over all ranges with so many cells."""
        return float(((self.errors[length:] - self.errors[:-length]) ** 2).mean())

    def short(self) -> float:
        """Mean squared error over ranges of up to a hundredth of the domain, sampled over their lengths."""
        return self._of_lengths(1, max(1, (self.errors.size - 1) // 100))

    def long(self) -> float:
        """Mean squared error over ranges of at least half the domain, sampled over their lengths."""
        return self._of_lengths((self.errors.size - 1) // 2, self.errors.size - 1)

    def _of_lengths(self, shortest: int, longest: int) -> float:
        lengths = np.unique(np.linspace(shortest, longest, 40).astype(int))
        return float(np.mean([self.of_length(int(length)) for length in lengths]))
