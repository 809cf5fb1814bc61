"""A plan of levels laid over a domain: which windows there are, which of them holds a cell, how all fit together.

The levels of a plan make a tree. A level may have several **offsets**: its nodes are then also laid out shifted, around
the end of the domain, by equal parts of a node's width, and a device of this level draws one of the layouts. So a
device reports at a **shifted level**: a level with one of its shifts. Levels of at most `CROWN_UNITS` nodes are
solved together (`crown`), and the last of them is made of the units that every shift is a multiple of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import prod
from typing import NamedTuple

import numpy as np

from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.portable import Node, part
from hearsay.mechanisms.ranges.hierarchical.planned_level import Plan
from hearsay.mechanisms.ranges.hierarchical.tree import Inference, Tree

CROWN_UNITS = 256


class ShiftedLevel(NamedTuple):
    """Where a device reports: a level of the tree (from 1), its nodes shifted by so many units."""

    level: int
    shift: int


@dataclass(frozen=True)
class Hierarchy:
    """A plan's levels over `size` cells."""

    size: int
    plan: Plan
    crown_units: int = CROWN_UNITS

    def check(self) -> None:
        """Refuse levels that do not fit the domain or each other."""
        if not self.tree.spans[1] < self.size <= self.tree.spans[0]:
            allowed = f"multiply to at least the domain's {self.size} cells, and less without the first"
            raise SpecificationError(
                what="options.levels",
                must=f"have fan-outs that {allowed}",
                got=str(self.tree.fanouts),
                ending='; options.levels = "optimised" plans them for this domain',
            )
        for number, level in enumerate(self.plan, start=1):
            if level.offsets > 1 and (number > self.depth or self._width(number) % level.offsets):
                units = f"that divide a node's width into whole units, of which the domain has {self.units}"
                raise SpecificationError(
                    what="options.levels", must=f"have offsets {units}", got=f"{level.offsets} at level {number}"
                )

    @cached_property
    def tree(self) -> Tree:
        """Every level of the plan."""
        return Tree(self.size, tuple(level.fanout for level in self.plan))

    @cached_property
    def depth(self) -> int:
        """The level of the units."""
        return max([1] + [level for level, nodes in enumerate(self.tree.nodes) if nodes <= self.crown_units])

    @property
    def units(self) -> int:
        return self.tree.nodes[self.depth]

    @cached_property
    def below(self) -> Tree:
        """The units as children of the root, and what is below them."""
        fanouts = self.tree.fanouts
        return Tree(self.size, (prod(fanouts[: self.depth]), *fanouts[self.depth :]))

    def _width(self, level: int) -> int:
        """Units in a node of a level."""
        return self.tree.spans[level] // self.tree.spans[self.depth]

    @cached_property
    def shifted_levels(self) -> tuple[ShiftedLevel, ...]:
        """Level by level, and each level's shifts from 0 up."""
        return tuple(
            ShiftedLevel(number, shift * self._width(number) // level.offsets)
            for number, level in enumerate(self.plan, start=1)
            for shift in range(level.offsets)
        )

    @property
    def shares(self) -> list[Fraction]:
        """Parts of the devices at every shifted level."""
        levels = (self.plan[shifted_level.level - 1] for shifted_level in self.shifted_levels)
        return [Fraction(level.parts, level.offsets) for level in levels]

    def oracle(self, shifted_level: ShiftedLevel) -> str:
        """The name of the oracle used there."""
        return self.plan[shifted_level.level - 1].oracle

    def nodes(self, shifted_level: ShiftedLevel) -> int:
        """How many nodes there are."""
        return self.tree.nodes[shifted_level.level]

    def node(self, shifted_level: ShiftedLevel, cells: Indices) -> Indices:
        """The node of every cell."""
        if not shifted_level.shift:
            return self.tree.node(shifted_level.level, cells)
        return self._window(shifted_level, cells // self.tree.spans[self.depth])

    def portable(self, shifted_level: ShiftedLevel, draw: Node) -> Node:
        """The same for devices in any language, with what they draw for the node."""
        if not shifted_level.shift:
            return part(draw, self.tree.spans[shifted_level.level])
        span, width = self.tree.spans[self.depth], self._width(shifted_level.level)
        return part(draw, span, shifted_level.shift, self.units, width)

    def _window(self, shifted_level: ShiftedLevel, units: Indices) -> Indices:
        shifted: Indices = (units + shifted_level.shift) % self.units // self._width(shifted_level.level)
        return shifted

    @cached_property
    def windows(self) -> tuple[tuple[Indices, ...], ...]:
        """The window of every unit, for each level down to the units and each of its shifts."""
        units = np.arange(self.units)
        return tuple(
            tuple(
                self._window(shifted_level, units)
                for shifted_level in self.shifted_levels
                if shifted_level.level == level
            )
            for level in range(1, self.depth + 1)
        )

    @cached_property
    def period(self) -> int | None:
        """Units by which all windows can move on without a change; None where the domain's end breaks them, or offsets
        are unevenly apart."""
        levels = [(self._width(number), level.offsets) for number, level in enumerate(self.plan[: self.depth], start=1)]
        steps = [width // offsets for width, offsets in levels]
        even = all(width % offsets == 0 for width, offsets in levels)
        whole = even and self.size == self.tree.spans[0] and all(max(steps) % step == 0 for step in steps)
        return max(steps) if whole else None

    def inference(self, variances: Sequence[float]) -> Inference:
        """Least squares, given the variance of a node's estimate at every shifted level."""
        windows = tuple(chain.from_iterable(self.windows))
        return Inference(self.below, tuple(variances[len(windows) :]), windows, tuple(variances[: len(windows)]))
