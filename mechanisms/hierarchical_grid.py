"""Hierarchical histograms over a grid of two axes: a device reports at a pair of levels.

Device    Draw a level of either axis' tree, roots included but not both, without looking at the value; report the
          rectangle of the product grid that holds the value by that pair's oracle.
Privacy   The oracle's: the pair is independent of the value, and a device reports once.
Estimate  sum over pairs of W1 x W2 applied to the pair's shares (`axis_weights`); the pair of roots is known to be 1.
Variance  A linear query has weights W on the rectangles of each pair, known exactly, so with the pair's moments
          Var = sum over pairs of [a sum W^2 + b sum W^2 f + c N^2 + d N m - m^2]/n_pair, N = sum W, m = sum W f,
          less [sum q^2 f - (sum q f)^2]/n, since a device answers for one pair only.      Kulkarni 7.1.2, MECHANISMS 3
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.axis_weights import prefix_weights
from mechanisms.base import Mechanism, State, Values
from mechanisms.domain import Indices
from mechanisms.errors import SpecificationError
from mechanisms.grid_result import GridEstimate, Pair
from mechanisms.guarantee import Guarantee, PureLDP
from mechanisms.layout import Layout, Reports
from mechanisms.level_noise import LevelNoise, level_shares
from mechanisms.level_plan import best_oracle, oracle_over, tree_options
from mechanisms.levels import SampledLevels, cumulative_thresholds
from mechanisms.randomness import Random
from mechanisms.result import Estimate
from mechanisms.tree import Tree

DEFAULT_FANOUT = 4
MAXIMUM_AXIS = 2048  # the weights of an axis are kept as a dense matrix


@dataclass(frozen=True)
class HierarchicalGrid(Mechanism):
    """What `hierarchical` is on a grid; made by `Hierarchical.create`."""

    ID = "hierarchical"
    SUMMARY = "ranges on a grid: a pair of tree levels a device"
    KINDS = ("grid",)

    OPTIONS = tree_options()

    def check(self) -> None:
        if len(self.domain.axes) != 2:
            raise SpecificationError(f"domain must have two axes for hierarchical, got {len(self.domain.axes)}")
        if max(self.domain.shape) > MAXIMUM_AXIS:
            allowed = f"at most {MAXIMUM_AXIS} cells along an axis for hierarchical"
            raise SpecificationError(f"domain must have {allowed}, got {max(self.domain.shape)}")
        if not self.options["consistency"]:
            raise SpecificationError("options.consistency must be true on a grid, got false")
        if self.options["levels"] not in (None, "uniform"):
            raise SpecificationError(f'options.levels must be "uniform" on a grid, got {self.options["levels"]!r}')

    def canonical_options(self) -> dict[str, Any]:
        oracle = self.options["oracle"] or "auto"
        return {"fanout": self.fanout, "oracle": oracle, "consistency": True, "levels": "uniform"}

    @property
    def fanout(self) -> int:
        return int(self.options["fanout"] or DEFAULT_FANOUT)

    @cached_property
    def trees(self) -> tuple[Tree, Tree]:
        one, two = self.domain.shape
        return Tree.regular(one, self.fanout), Tree.regular(two, self.fanout)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of levels, without the pair of roots."""
        one, two = self.trees
        return list(product(range(one.height + 1), range(two.height + 1)))[1:]

    @cached_property
    def levels(self) -> SampledLevels:
        one, two = self.trees
        oracles = []
        for left, right in self.pairs:
            nodes = one.nodes[left] * two.nodes[right]
            name = self.options["oracle"] or "auto"
            chosen = best_oracle(nodes, self.epsilon)[0] if name == "auto" else name
            oracles.append(oracle_over(chosen, nodes, self.epsilon))
        return SampledLevels(tuple(oracles), cumulative_thresholds([Fraction(1)] * len(oracles)))

    def _rectangle(self, level: int, cells: Indices) -> Indices:
        """The rectangle of a pair (numbered from 1, as levels are) that holds each cell."""
        one, two = self.trees
        left, right = self.pairs[level - 1]
        return one.node(left, cells[:, 0]) * two.nodes[right] + two.node(right, cells[:, 1])

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

    def perturb(self, values: Values, random: Random) -> Reports:
        return self.levels.perturb(self.domain.check(values), self._rectangle, random)

    def fold(self, state: State, reports: Reports) -> State:
        return self.levels.fold(state, reports)

    def valid(self, reports: Reports) -> NDArray[np.bool_] | None:
        return self.levels.valid(reports)

    def reports(self, state: State) -> int:
        return sum(self.levels.counts(state))

    @cached_property
    def weights(self) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
        """Of the prefixes along either axis."""
        one, two = self.trees
        return prefix_weights(one), prefix_weights(two)

    def estimate(self, state: State) -> Estimate:
        counts = self.levels.counts(state)
        one, two = self.trees
        pairs = []
        for level, ((left, right), oracle) in enumerate(zip(self.pairs, self.levels.oracles, strict=True), start=1):
            shares = level_shares(oracle, self.levels.state(state, level), own_counts=False)
            noise = LevelNoise.of(oracle, counts[level - 1], own_counts=False)
            pairs.append(Pair(left, right, shares.reshape(one.nodes[left], two.nodes[right]), noise))
        return GridEstimate.of(self.domain, sum(counts), self.weights, tuple(pairs))

    def channel(self) -> NDArray[np.float64]:
        cells = np.stack(np.unravel_index(np.arange(self.domain.size), self.domain.shape), axis=1)
        return self.levels.channel(cells, self._rectangle)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """For evenly filled cells: the middle cell, and a quarter of the grid around the middle."""
        one, two = self.trees
        count = max(1, reports // len(self.pairs))
        pairs = []
        for (left, right), oracle in zip(self.pairs, self.levels.oracles, strict=True):
            shape = (one.nodes[left], two.nodes[right])
            noise = LevelNoise.of(oracle, count, own_counts=False)
            pairs.append(Pair(left, right, np.full(shape, 1 / (shape[0] * shape[1])), noise))
        shares = np.full(self.domain.shape, 1 / self.domain.size)
        even = GridEstimate(self.domain, reports, shares, shares, self.weights, tuple(pairs))
        middle = np.array([self.domain.shape]) // 2
        quarter = np.array([self.domain.shape]) // 4
        point, around = even.ranges(middle, middle).stderr, even.ranges(quarter, quarter + middle - 1).stderr
        return {"point": float(point[0]), "range": float(around[0])}
