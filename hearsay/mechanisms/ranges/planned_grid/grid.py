"""Hierarchical histograms over a grid: each tuple of levels is asked as often as a workload of ranges needs it.

A tuple has one level of every axis' binary tree (`axis`). Their nodes cut the grid into boxes.

Device    Draw one of the planned tuples, without looking at the value; report the box that holds the value by that
          tuple's oracle.
Privacy   The oracle's: the tuple is independent of the value, and a device reports once.
Estimate  The shares of all cells, by least squares on the boxes of all tuples, with the total known to be 1 (`tuples`).
Variance  exact for every linear query (q a number, f the share of every cell, n reports): that of `variance`, less
          [sum q^2 f - (sum q f)^2]/n, since a device answers for one tuple only.
                                                                             Kulkarni 7.1.2; docs/explanation/ranges.md
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np

from hearsay.mechanisms.base import Mechanism, State
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.errors import SpecificationError, refuse_more
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.grids import expected_errors
from hearsay.mechanisms.options import Option
from hearsay.mechanisms.oracles.oracle import oracle_over
from hearsay.mechanisms.ranges.hierarchical.grid import HierarchicalGrid
from hearsay.mechanisms.ranges.hierarchical.level_plan import LEVELS_TEXT, tree_options
from hearsay.mechanisms.ranges.level_mechanism import LevelMechanism
from hearsay.mechanisms.ranges.level_noise import LevelNoise, level_shares
from hearsay.mechanisms.ranges.levels import SampledLevels, cumulative_thresholds
from hearsay.mechanisms.ranges.planned_grid.axis import BinaryAxis
from hearsay.mechanisms.ranges.planned_grid.estimate import PlannedGridEstimate
from hearsay.mechanisms.ranges.planned_grid.plan import (
    MAXIMUM_BOXES,
    MAXIMUM_LEVELS,
    MAXIMUM_TUPLES,
    PlannedTuple,
    TuplePlan,
    plan,
)
from hearsay.mechanisms.ranges.planned_grid.tuples import TupleInference
from hearsay.mechanisms.ranges.planned_grid.variance import TupleVariance


def tuples_option() -> Option:
    """The option `levels`: "optimised" (also if absent), or a list with one text for every tuple."""

    def check(value: Any) -> Any:
        if value in (None, "optimised"):
            return value
        if not isinstance(value, list | tuple) or not value:
            raise SpecificationError(
                what="options.levels", expected='"uniform", "optimised" or a list of tuples of levels', got=repr(value)
            )
        return [str(PlannedTuple.parse(text)) for text in value]

    return Option("levels", None, check, LEVELS_TEXT)


@dataclass(frozen=True)
class PlannedGrid(LevelMechanism):
    """The mechanism `hierarchical` on a grid, unless its option `levels` is "uniform"."""

    ESTIMATE: ClassVar[type[CellEstimate]] = PlannedGridEstimate
    ID = "hierarchical"
    SUMMARY = "ranges on a grid: a tuple of tree levels a device, each asked as often as ranges need it"
    EXAMPLES = (
        {"epsilon": 1.1, "domain": {"kind": "grid", "sizes": [4, 5]}},
        {
            "epsilon": 0.9,
            "domain": {"kind": "grid", "sizes": [3, 2, 2]},
            "options": {"levels": ["1x2x1 grr 512", "2x1x2 olh 1024", "4x2x2 hrr 2560"]},
        },
    )
    OPTIONS = tuple(tuples_option() if option.name == "levels" else option for option in tree_options())

    def check(self) -> None:
        if len(self.domain.axes) < 2:
            raise SpecificationError(what="domain", must="have at least two axes for hierarchical on a grid", got=1)
        levels = prod(axis.height + 1 for axis in self.axes)
        refuse_more(levels, MAXIMUM_LEVELS, "tuples of binary levels for hierarchical")
        cells = prod(axis.leaves for axis in self.axes)
        refuse_more(cells, MAXIMUM_BOXES, "cells, each axis padded to a power of two, for hierarchical")
        if isinstance(self.options["levels"], list):
            self._check_tuples()

    def _check_tuples(self) -> None:
        """Refuse a list that does not fit the grid."""
        finest = tuple(axis.leaves for axis in self.axes)
        boxes = [planned.boxes for planned in self.plan]
        for number, counts in enumerate(boxes, start=1):
            if len(counts) != len(finest) or any(count > most for count, most in zip(counts, finest, strict=False)):
                raise SpecificationError(
                    what="options.levels",
                    must=f"have tuples of at most {_times(finest)} boxes",
                    got=f"{_times(counts)} as number {number}",
                )
        if finest not in boxes or len(set(boxes)) < len(boxes):
            raise SpecificationError(
                what="options.levels", must=f"have every tuple once, and among them {_times(finest)}, the finest one"
            )
        if self.options["workload"] != "all":
            raise SpecificationError('options.workload goes with levels = "optimised", not with a list of them')
        refuse_more(len(boxes), MAXIMUM_TUPLES, "tuples of levels", what="options.levels")
        refuse_more(sum(map(prod, boxes)), MAXIMUM_BOXES, "boxes on all tuples of levels", what="options.levels")

    def canonical_options(self) -> dict[str, Any]:
        return {"consistency": True, "levels": [str(each) for each in self.plan]}

    def asks_the_same(self, other: Mechanism) -> bool:
        """Where a file leaves the levels open, uniform ones are the same too: they were the default once."""
        if self.options["levels"] is None and self.options["workload"] == "all":
            uniform = HierarchicalGrid.create(self.epsilon, self.domain, {"levels": "uniform"})
            if isinstance(other, HierarchicalGrid) and uniform.canonical_options() == other.canonical_options():
                return (self.epsilon, self.domain) == (other.epsilon, other.domain)
        return self == other

    @cached_property
    def axes(self) -> tuple[BinaryAxis, ...]:
        return tuple(BinaryAxis(size) for size in self.domain.shape)

    @cached_property
    def plan(self) -> TuplePlan:
        """The tuples that are asked: those of the option `levels`, or the best ones for the workload."""
        if isinstance(self.options["levels"], list):
            return tuple(PlannedTuple.parse(text) for text in self.options["levels"])
        return plan(tuple(self.domain.shape), self.epsilon, self.options["workload"])

    @cached_property
    def levels(self) -> SampledLevels:
        oracles = (oracle_over(each.oracle, prod(each.boxes), self.epsilon) for each in self.plan)
        return SampledLevels(tuple(oracles), cumulative_thresholds([Fraction(each.parts) for each in self.plan]))

    def node(self, level: int, cells: Indices) -> Indices:
        """The box that holds each cell, row-major; `level` is here the number of a planned tuple, from 1."""
        planned, box = self.plan[level - 1], np.zeros(len(cells), dtype=np.int64)
        for number, (axis, axis_level, count) in enumerate(zip(self.axes, planned.levels, planned.boxes, strict=True)):
            box = box * count + axis.node(axis_level, cells[:, number])
        return box

    def estimate(self, state: State) -> CellEstimate:
        cells, inference = self.cells(state)
        return PlannedGridEstimate.of(self.domain, self.reports(state), self.axes, inference, cells)

    def cells(self, state: State) -> tuple[Floats, TupleInference]:
        """The estimated shares of all cells, and the least squares that gave them."""
        shares = [
            level_shares(oracle, self.levels.state(state, number), own_counts=False).reshape(planned.boxes)
            for number, (planned, oracle) in enumerate(zip(self.plan, self.levels.oracles, strict=True), start=1)
        ]
        inference = self._inference(self.levels.counts(state))
        cells = inference.shares(shares)  # of the leaves; a cell owns one or two along each axis
        for number, axis in enumerate(self.axes):
            cells = np.add.reduceat(cells, axis.edges[:-1], axis=number)
        return cells, inference

    def _inference(self, counts: list[int]) -> TupleInference:
        noise = (
            LevelNoise.of(oracle, count, own_counts=False)
            for oracle, count in zip(self.levels.oracles, counts, strict=True)
        )
        heights = tuple(axis.height for axis in self.axes)
        return TupleInference(heights, tuple(each.levels for each in self.plan), tuple(noise))

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """For evenly filled cells: the middle cell, and the root mean square over a fixed sample of ranges."""
        counts = [max(1, round(reports * share)) for share in self.levels.probabilities]
        shares = np.broadcast_to(1 / self.domain.size, self.domain.shape)
        uncertainty = TupleVariance(self.axes, self._inference(counts), None)
        return expected_errors(_Even(self.domain, reports, shares, shares, uncertainty))


class _Even(PlannedGridEstimate):
    """Evenly filled cells: the share of a range is its size over that of the grid."""

    def between(self, low: Indices, after: Indices) -> Floats:
        return np.asarray(np.prod((after - low) / np.array(self.domain.shape), axis=1))


def _times(boxes: tuple[int, ...]) -> str:
    return "x".join(map(str, boxes))
