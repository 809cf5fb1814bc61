"""Hierarchical histograms over a grid of two or more axes: a device reports at a tuple of levels.

Device    Draw a level of every axis' tree, roots included but not all of them, without looking at the value; report the
          box of the product grid that holds the value by that tuple's oracle.
Privacy   The oracle's: the tuple is independent of the value, and a device reports once.
Estimate  sum over tuples of W1 x W2 x ... applied to the tuple's shares (`axis_weights`); at the roots all is 1.
Variance  A linear query has weights W on the boxes of each tuple, known exactly, so with the tuple's moments
          Var = sum over tuples of [a sum W^2 + b sum W^2 f + c N^2 + d N m - m^2]/n_tuple, N = sum W, m = sum W f,
          less [sum q^2 f - (sum q f)^2]/n, since a device answers for one tuple only.
          Kulkarni 7.1.2; docs/explanation/ranges.md
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, ClassVar

import numpy as np

from hearsay.mechanisms.base import State
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.errors import SpecificationError, refuse_more
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.grids import expected_errors
from hearsay.mechanisms.options import Option
from hearsay.mechanisms.oracles.oracle import oracle_over
from hearsay.mechanisms.ranges.hierarchical.axis_weights import prefix_weights
from hearsay.mechanisms.ranges.hierarchical.grid_estimate import EvenJoint, GridEstimate, Joint, Weights
from hearsay.mechanisms.ranges.hierarchical.level_plan import LEVELS_TEXT, best_oracle, tree_options
from hearsay.mechanisms.ranges.hierarchical.tree import Tree
from hearsay.mechanisms.ranges.level_mechanism import LevelMechanism
from hearsay.mechanisms.ranges.level_noise import LevelNoise, level_shares
from hearsay.mechanisms.ranges.levels import SampledLevels, cumulative_thresholds

DEFAULT_FANOUT = 4
MAXIMUM_AXIS = 2048  # the weights of an axis are kept as a dense matrix
MAXIMUM_TUPLES = 256  # wide reports name their tuple by one byte, and each tuple has its share of the devices only
MAXIMUM_BOXES = 1 << 24  # of all tuples together: the state


def _uniform_levels() -> Option:
    """`levels`, where another option has said that they are uniform."""

    def check(value: Any) -> Any:
        if value in (None, "uniform"):
            return value
        raise SpecificationError(
            what="options.levels",
            expected='"uniform" on a grid where fanout or oracle is given or consistency is false',
            got=repr(value),
        )

    return Option("levels", None, check, LEVELS_TEXT)


@dataclass(frozen=True)
class HierarchicalGrid(LevelMechanism):
    """What `hierarchical` is on a grid whose levels are uniform."""

    ESTIMATE: ClassVar[type[CellEstimate]] = GridEstimate
    ID = "hierarchical"
    SUMMARY = "ranges on a grid: a tuple of tree levels a device"
    EXAMPLES = (
        {"epsilon": 1.2, "domain": {"kind": "grid", "sizes": [3, 4]}, "options": {"fanout": 2}},
        {"epsilon": 1.3, "domain": {"kind": "grid", "sizes": [2, 3, 2]}, "options": {"fanout": 2}},
    )

    OPTIONS = tuple(_uniform_levels() if option.name == "levels" else option for option in tree_options())

    def check(self) -> None:
        if len(self.domain.axes) < 2:
            raise SpecificationError(what="domain", must="have at least two axes for hierarchical on a grid", got=1)
        refuse_more(max(self.domain.shape), MAXIMUM_AXIS, "cells along an axis for hierarchical")
        tuples = prod(tree.height + 1 for tree in self.trees) - 1
        refuse_more(tuples, MAXIMUM_TUPLES, "tuples of levels for hierarchical")
        boxes = prod(sum(tree.nodes) for tree in self.trees)
        refuse_more(boxes, MAXIMUM_BOXES, "boxes on all tuples of levels for hierarchical")
        if not self.options["consistency"]:
            raise SpecificationError(what="options.consistency", expected="true on a grid", got="false")

    def canonical_options(self) -> dict[str, Any]:
        oracle = self.options["oracle"] or "auto"
        return {"fanout": self.fanout, "oracle": oracle, "consistency": True, "levels": "uniform"}

    @property
    def fanout(self) -> int:
        return int(self.options["fanout"] or DEFAULT_FANOUT)

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        return tuple(Tree.regular(size, self.fanout) for size in self.domain.shape)

    @cached_property
    def tuples(self) -> list[tuple[int, ...]]:
        """The tuples of levels, without the tuple of roots."""
        return list(product(*(range(tree.height + 1) for tree in self.trees)))[1:]

    def _boxes(self, levels: tuple[int, ...]) -> tuple[int, ...]:
        """How many boxes a tuple has along every axis."""
        return tuple(tree.nodes[level] for tree, level in zip(self.trees, levels, strict=True))

    @cached_property
    def levels(self) -> SampledLevels:
        name = self.options["oracle"] or "auto"
        oracles = []
        for levels in self.tuples:
            boxes = prod(self._boxes(levels))
            chosen = best_oracle(boxes, self.epsilon)[0] if name == "auto" else name
            oracles.append(oracle_over(chosen, boxes, self.epsilon))
        return SampledLevels(tuple(oracles), cumulative_thresholds([Fraction(1)] * len(oracles)))

    def node(self, level: int, cells: Indices) -> Indices:
        """The box of a tuple."""
        levels = self.tuples[level - 1]
        along = (
            tree.node(own, cells[:, axis]) for axis, (tree, own) in enumerate(zip(self.trees, levels, strict=True))
        )
        return np.ravel_multi_index(tuple(along), self._boxes(levels)).astype(np.int64)

    @cached_property
    def weights(self) -> Weights:
        """Of the prefixes along every axis."""
        return tuple(prefix_weights(tree) for tree in self.trees)

    def estimate(self, state: State) -> CellEstimate:
        counts = self.levels.counts(state)
        joints = []
        for number, (levels, oracle) in enumerate(zip(self.tuples, self.levels.oracles, strict=True), start=1):
            shares = level_shares(oracle, self.levels.state(state, number), own_counts=False)
            noise = LevelNoise.of(oracle, counts[number - 1], own_counts=False)
            joints.append(Joint(levels, shares.reshape(self._boxes(levels)), noise))
        return GridEstimate.of(self.domain, sum(counts), self.weights, tuple(joints))

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """For evenly filled cells: the middle cell, and the root mean square over a fixed sample of ranges."""
        count = max(1, reports // len(self.tuples))
        joints = []
        for levels, oracle in zip(self.tuples, self.levels.oracles, strict=True):
            boxes = self._boxes(levels)
            noise = LevelNoise.of(oracle, count, own_counts=False)
            joints.append(EvenJoint(levels, np.broadcast_to(1 / prod(boxes), boxes), noise))
        shares = np.full(self.domain.shape, 1 / self.domain.size)
        return expected_errors(GridEstimate(self.domain, reports, shares, shares, self.weights, tuple(joints)))
