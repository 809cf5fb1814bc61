"""A binary tree over one axis of a grid, in which every node of a level has as many leaves as any other.

An axis of D cells has h levels below the root, 2^(h-1) < D <= 2^h. The 2^(h-1) nodes above the leaves share the cells
out evenly: a node has two of them, its leaves, or a single one, which then owns both leaves. Its devices report at the
first; the second is empty, but nobody uses that. So a cell is a node of the tree, any range of cells is a range of
leaves, and all cells together are the root, of which all is known.

The part of a function q on the leaves that level i adds is D_i q = R_i q - R_(i-1) q, with R_i the averages over the
nodes of level i and D_0 = R_0. For a range it is nonzero at the nodes that an end cuts only.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.estimates.estimate import Floats

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class BinaryAxis:
    """The tree over an axis of `size` cells."""

    size: int

    @cached_property
    def height(self) -> int:
        """h: the level of the leaves."""
        return (self.size - 1).bit_length()

    @property
    def leaves(self) -> int:
        return 1 << self.height

    def leaf(self, cells: Indices) -> Indices:
        """The first leaf of every cell."""
        above = self.leaves // 2
        node = cells * above // self.size
        second = (cells > 0) & ((cells - 1) * above // self.size == node)
        leaf: Indices = 2 * node + second
        return leaf

    def node(self, level: int, cells: Indices) -> Indices:
        """The node of a level that holds each cell."""
        return self.leaf(cells) >> (self.height - level)

    @cached_property
    def edges(self) -> Positions:
        """Where cell 0..D begins, counted in leaves."""
        return np.append(self.leaf(np.arange(self.size)), self.leaves)

    @cached_property
    def cells_before(self) -> Positions:
        """How many cells begin before leaf 0..2^h: those who hold the leaves up to there."""
        return np.searchsorted(self.edges[:-1], np.arange(self.leaves + 1))

    @cached_property
    def owner(self) -> Positions:
        """The cell that owns each leaf."""
        return np.repeat(np.arange(self.size), np.diff(self.edges))

    @cached_property
    def cell_levels(self) -> Positions:
        """The level at which each cell is a node: h, or h - 1 where it owns two leaves."""
        return self.height + 1 - np.diff(self.edges)

    def squares(self, x: Positions, y: Positions) -> Floats:
        """Sum over the leaves of (D_i q)^2 for the leaves x..y-1: a row a range, a column a level, without rounding."""
        spans = 1 << np.arange(self.height, -1, -1)
        left, right = x[:, None] // spans, y[:, None] // spans
        left_part, right_part = x[:, None] / spans - left, y[:, None] / spans - right
        apart = right - left - 1 + (1 - left_part) ** 2 + right_part**2
        averages: Floats = spans * np.where(left == right, (right_part - left_part) ** 2, apart)
        return np.diff(averages, axis=1, prepend=0.0)

    @property
    def slots(self) -> int:
        """How many parts `parts` cuts the axis into."""
        return min(self.leaves, 2 * self.height + 2)

    def parts(self, x: Positions, y: Positions) -> Positions:
        """The axis cut, for the leaves x..y-1, into parts on which every D_i q is constant: first leaf and end of each.

        These are the nodes beside the paths from the root to leaf x and to leaf y-1, and these two leaves. Parts that
        are there already are empty. Shape (ranges, slots, 2).
        """
        if self.slots == self.leaves:
            every = np.stack([np.arange(self.leaves), np.arange(1, self.leaves + 1)], axis=1)
            return np.broadcast_to(every, (x.size, *every.shape))
        spans = 1 << np.arange(self.height - 1, -1, -1)
        one, other = x[:, None] // spans, (y - 1)[:, None] // spans  # the nodes of level 1..h on either path
        beside = np.concatenate([one ^ 1, other ^ 1, one[:, -1:], other[:, -1:]], axis=1)
        width = np.concatenate([spans, spans, [1, 1]])
        once = np.concatenate([(one ^ 1) != other, ((other ^ 1) != one) & (one != other)], axis=1)
        last = np.stack([np.ones(x.size, dtype=bool), one[:, -1] != other[:, -1]], axis=1)
        first = beside * width
        return np.stack([first, first + width * np.concatenate([once, last], axis=1)], axis=2)

    def details(self, x: Positions, y: Positions, leaves: Positions) -> Floats:
        """D_i q of the ranges x..y-1 at some leaves of each: shape (ranges, leaves, levels)."""
        shifts = np.arange(self.height, -1, -1)
        first = leaves[:, :, None] >> shifts << shifts
        end = first + (1 << shifts)
        covered = np.minimum(end, y[:, None, None]) - np.maximum(first, x[:, None, None])
        averages = np.maximum(covered, 0) / (1 << shifts)
        return np.diff(averages, axis=2, prepend=0.0)
