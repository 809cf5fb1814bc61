"""Haar's levels along one axis of a grid, and how a range, a cell or a sum of cells is made of their coefficients.

The axis is padded to 2^h cells. Depth 0 is the root, whose coefficient is the sum of all cells; depth i of 1..h has
2^(i-1) nodes of 2^(h-i+1) cells, whose coefficients are left half less right half. A cell is then root/2^h plus the sum
over the depths of (+ in the left half, - in the right half) coefficient/(cells of a node). The coefficients of an axis
lie in one row: the root, then depth after depth, 2^h of them.

Nobody is beyond the axis, so what reaches its end reaches the padded end and has no cut there; the last cell too.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.hadamard import power_of_two_at_least

Positions = NDArray[np.int64]


class Parts(NamedTuple):
    """What ranges of cells are made of: by range and part the coefficient's position in the row, and its weight."""

    positions: Positions
    weights: Floats


@dataclass(frozen=True)
class HaarAxis:
    """The depths of an axis of `size` cells."""

    size: int

    @cached_property
    def height(self) -> int:
        return power_of_two_at_least(self.size).bit_length() - 1

    @cached_property
    def nodes(self) -> Positions:
        """Of depth 0..h."""
        return np.array([1, *(1 << depth for depth in range(self.height))])

    @cached_property
    def starts(self) -> Positions:
        """Where the coefficients of depth 0..h begin in the row."""
        return np.array([0, *(1 << depth for depth in range(self.height))])

    @cached_property
    def shifts(self) -> Positions:
        """A cell v lies in node v >> shift, in its right half where the bit below is 1; at the root it never is."""
        return np.arange(self.height + 1, 0, -1)

    @cached_property
    def firsts(self) -> Positions:
        """Where the parts of depth 0..h begin: one at the root, one at the only node below, then one for either end."""
        return np.array([0, 1, *range(2, 2 * self.height, 2)])

    def parts(self, x: Positions, y: Positions) -> Parts:
        """The cells x..y-1: at every depth but the root the nodes that either end cuts, once where it is the same."""
        y = np.where(y == self.size, 1 << self.height, y)
        positions = np.zeros((x.size, self.height + 1, 2), dtype=np.int64)
        weights = np.zeros((x.size, self.height + 1, 2))
        weights[:, 0, 0] = (y - x) / (1 << self.height)
        shifts, sizes = self.shifts[1:], 1 << self.shifts[1:]
        for cut, (end, sign) in enumerate(((x, -1.0), (y, 1.0))):
            inside = end[:, None] & (sizes - 1)
            weights[:, 1:, cut] = sign * np.minimum(inside, sizes - inside) / sizes
            # The padded end is beyond the last node, and cuts nothing: any position will do.
            positions[:, 1:, cut] = np.minimum(end[:, None] >> shifts, self.nodes[1:] - 1) + self.starts[1:]
        same = positions[:, :, 0] == positions[:, :, 1]
        weights[:, :, 0] += np.where(same, weights[:, :, 1], 0.0)
        weights[:, :, 1] = np.where(same, 0.0, weights[:, :, 1])
        kept = [0, *range(2, 2 * self.height + 2)]  # the root has one part,
        kept.remove(3)  # and so has the only node below it
        return Parts(positions.reshape(x.size, -1)[:, kept], weights.reshape(x.size, -1)[:, kept])

    @cached_property
    def cells(self) -> Parts:
        """Every cell has one coefficient a depth: by cell and depth its position and weight."""
        cells = np.arange(self.size)
        positions, weights = self.parts(cells, cells + 1)
        return Parts(positions[:, self.firsts], weights[:, self.firsts])

    def rebuild(self, rows: Floats, power: int = 1) -> Floats:
        """Cells (first axis) from rows of coefficients (first axis), by the weights to a power."""
        cells = rows[:1] / float(1 << self.height) ** power
        for start, shift in zip(self.starts[1:], self.shifts[1:], strict=True):
            own = rows[start : 2 * start] / float(1 << shift) ** power
            halves = np.empty((2 * len(own), *rows.shape[1:]))
            np.add(cells, own, out=halves[0::2])
            np.add(cells, own * (-1) ** power, out=halves[1::2])
            cells = halves
        positions, weights = (table[-1] for table in self.cells)
        cells[self.size - 1] = np.tensordot(weights**power, rows[positions], axes=1)
        return cells[: self.size]

    def weigh(self, queries: Floats) -> Floats:
        """The weights of the coefficients (first axis) in sums of cells (first axis) with the given coefficients."""
        return self._sums(queries, self.cells.weights.T)

    @cached_property
    def even(self) -> Floats:
        """The coefficients of evenly filled cells."""
        right = (np.arange(self.size) >> (self.shifts[:, None] - 1) & 1).astype(np.float64)
        return self._sums(np.full(self.size, 1 / self.size), 1 - 2 * right)

    def _sums(self, values: Floats, weights: Floats) -> Floats:
        """Of the values of a node's cells, weighted by depth and cell."""
        rows = np.zeros((1 << self.height, *values.shape[1:]))
        for start, shift, weight in zip(self.starts, self.shifts, weights, strict=True):
            weighted = weight.reshape(-1, *(1,) * (values.ndim - 1)) * values
            sums = np.add.reduceat(weighted, np.arange(0, self.size, 1 << shift), axis=0)
            rows[start : start + len(sums)] = sums
        return rows

    def by_depth(self, rows: Floats) -> Floats:
        """Sums of the coefficients of every depth (first axis)."""
        return np.add.reduceat(rows, self.starts, axis=0)

    def to_row(self, depths: Floats) -> Floats:
        """A number of every depth (first axis) for each of its coefficients."""
        return np.repeat(depths, self.nodes, axis=0)
