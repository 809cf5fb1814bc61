"""Trees over an ordered domain, and constrained inference on them.

Level 0 is the root, level h the single cells; every node of level l - 1 has `fanouts[l - 1]` children, except the last
one of a level (its **edge**), which has as many as the domain fills: absent nodes are left out, not estimated.

Constrained inference (Hay et al. 2010, Kulkarni 5.4) for level variances V_l, equal to weighted least squares with the
root known to be 1. Upwards, with S the sum of the children's variances U:

    z = w raw + (1 - w) sum z_child,   w = S/(S + V),   U = V S/(S + V)        (leaves: z = raw, U = V)

and downwards out = z + (U/S)(out_parent - sum of z over the siblings). All nodes of a level share w and U but the edge.
The nodes of level 1, the **units**, are estimated together by `crown`, which takes the place of the levels above them.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.ranges.hierarchical.crown import Crown

UNKNOWN = 1e100  # variance of a level without reports: finite, so that no infinity meets another


@dataclass(frozen=True)
class Tree:
    """The shape: how many cells, and the fan-out of every level from the root down."""

    size: int
    fanouts: tuple[int, ...]

    @classmethod
    def regular(cls, size: int, fanout: int) -> "Tree":
        """The same fan-out everywhere, with as few levels as possible."""
        height = 1
        while fanout**height < size:
            height += 1
        return cls(size, (fanout,) * height)

    @property
    def height(self) -> int:
        return len(self.fanouts)

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """Cells under a full node of level 0..h."""
        return tuple(prod(self.fanouts[level:]) for level in range(self.height + 1))

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """Nodes of level 0..h."""
        return tuple(-(-self.size // span) for span in self.spans)

    @cached_property
    def last_ragged(self) -> int:
        """The deepest level whose edge is not a full node; the root counts as one."""
        return max([0] + [level for level, span in enumerate(self.spans) if self.size % span])

    @cached_property
    def edge_children(self) -> tuple[int, ...]:
        """Children of the edge of level 0..h-1."""
        return tuple(
            self.nodes[level + 1] - (self.nodes[level] - 1) * self.fanouts[level] for level in range(self.height)
        )

    def node(self, level: int, cells: Indices) -> Indices:
        """The nodes of a level above the given cells."""
        return cells // self.spans[level]


@dataclass(frozen=True)
class Inference:
    """Constrained inference: the nodes of level 1, the units, by the crown, and the trees below them level by level."""

    tree: Tree
    variances: tuple[float, ...]  # of level 2..h
    windows: tuple[Indices, ...]  # for every partition of the units the window of each
    window_variances: tuple[float, ...]

    @cached_property
    def _blended(self) -> tuple[list[float], list[float], list[float], list[float], list[float]]:
        tree, height = self.tree, self.tree.height
        variances = (UNKNOWN, *self.variances)  # the units' own estimates are among the crown's windows
        own = [0.0] * height + [1.0]
        blended = [0.0] * height + [variances[-1]]
        edge_own, edge_blended, edge_below = list(own), list(blended), [0.0] * (height + 1)
        for level in range(height - 1, 0, -1):
            below, variance = tree.fanouts[level] * blended[level + 1], variances[level - 1]
            ragged_child = level + 1 <= tree.last_ragged
            edge_below[level] = (tree.edge_children[level] - ragged_child) * blended[level + 1]
            edge_below[level] += edge_blended[level + 1] if ragged_child else 0.0
            own[level] = below / (below + variance)
            blended[level] = own[level] * variance
            edge_own[level] = edge_below[level] / (edge_below[level] + variance)
            edge_blended[level] = edge_own[level] * variance
        return own, blended, edge_own, edge_blended, edge_below

    @property
    def own(self) -> list[float]:
        """w of a full node, level 0..h."""
        return self._blended[0]

    @property
    def blended(self) -> list[float]:
        """U of a full node, level 0..h."""
        return self._blended[1]

    @property
    def edge_own(self) -> list[float]:
        """w of the edge; means something up to the last ragged level only."""
        return self._blended[2]

    @property
    def edge_blended(self) -> list[float]:
        """U of the edge."""
        return self._blended[3]

    @property
    def edge_below(self) -> list[float]:
        """S of the edge: the sum of its children's U."""
        return self._blended[4]

    @cached_property
    def crown(self) -> Crown:
        """Least squares on the units."""
        units, span = self.tree.nodes[1], self.tree.spans[1]
        below, cells = np.full(units, self.blended[1]), np.full(units, float(span))
        cells[-1] = self.tree.size - (units - 1) * span
        if self.tree.last_ragged:
            below[-1] = self.edge_blended[1]
        return Crown(self.windows, self.window_variances, below, cells)

    def leaves(self, of_windows: list[Floats], raw: list[Floats]) -> Floats:
        """The consistent estimate of every cell from the estimates of all windows and those of level 2..h.

        The latter may be overwritten.
        """
        tree = self.tree
        z, sums = [np.zeros(tree.nodes[1]), *raw], [np.empty(0)] * tree.height
        for level in range(tree.height - 1, 0, -1):
            sums[level] = sum_children(z[level], tree.fanouts[level], tree.nodes[level])
            blend = self.own[level] * z[level - 1] + (1 - self.own[level]) * sums[level]
            if level <= tree.last_ragged:
                own = self.edge_own[level]
                blend[-1] = own * z[level - 1][-1] + (1 - own) * sums[level][-1]
            z[level - 1] = blend
        out = self.crown.shares(of_windows, z[0])
        for level in range(1, tree.height):
            out = self._spread(level, z[level], out - sums[level])
        return out

    def _spread(self, level: int, z: Floats, excess: Floats) -> Floats:
        """Share what the parents of `level` have more than their children, by the children's variances."""
        fanout, ragged = self.tree.fanouts[level], level <= self.tree.last_ragged
        first_of_edge = (self.tree.nodes[level] - 1) * fanout
        own = z[first_of_edge:].copy() if ragged else None
        share = excess / fanout
        for position in range(fanout):
            part = z[position::fanout]
            part += share[: part.size]
        if own is not None:
            weights = np.full(own.size, self.blended[level + 1])
            if level + 1 <= self.tree.last_ragged:
                weights[-1] = self.edge_blended[level + 1]
            z[first_of_edge:] = own + weights / self.edge_below[level] * excess[-1]
        return z


def sum_children(values: Floats, fanout: int, parents: int) -> Floats:
    """Sum every `fanout` neighbours; the last sum may have fewer."""
    total = np.zeros(parents)
    for position in range(fanout):
        part = values[position::fanout]
        total[: part.size] += part
    return total
