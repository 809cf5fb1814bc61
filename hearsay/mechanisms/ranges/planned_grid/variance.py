"""What an answer costs: sum over tuples of scale_t [a sum W^2 + b sum W^2 f - (sum W f)^2], for weights W of `tuples`.

The weights sum to 0 over the boxes, so of an oracle's moments only a and b are left. With D_i q orthogonal to each
other, sum W^2 is a sum over levels (`TupleInference.of_squares`). The rest takes shares f of the leaves:

Ranges    Every axis is cut into the parts on which q is constant at all levels (`BinaryAxis.parts`). W is the same on a
          product of parts, f is looked up in a table of cumulative shares.
Cells     W at a box depends on the level at which its path leaves that of the cell, axis by axis: w[d]. So sum W^2 f is
          a sum over the boxes e above the cell of (w[e]^2 less its neighbours before) f_e, and sum W f is m_t times the
          cell's own sum of L_i D_i f: sweeps over all cells at once. A cell that owns two leaves is a node one level
          up; for nodes of level g, i goes up to g, and everything is multiplied by the leaves of a node.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.ranges.hierarchical.tree import UNKNOWN
from hearsay.mechanisms.ranges.planned_grid.axis import BinaryAxis, Places
from hearsay.mechanisms.ranges.planned_grid.sweeps import (
    Levels,
    averaged,
    blended,
    cumulative,
    falls,
    rises,
    spread_over,
    sums_from,
    sums_up_to,
    up_to,
)
from hearsay.mechanisms.ranges.planned_grid.tuples import TupleInference

_MOST_ENTRIES = 1 << 23  # beyond, on many axes, all boxes of a range are less than all pairs of levels
Ends = Sequence[tuple[Places, Places]]  # of every axis, counted in leaves: first ones and first ones after


@dataclass(frozen=True)
class TupleVariance:
    """Variances for true shares `shares` of the cells; None: evenly filled ones."""

    axes: tuple[BinaryAxis, ...]
    inference: TupleInference
    shares: Floats | None

    @cached_property
    def _coins(self) -> Floats:
        """What sum (D_i q)^2 costs by itself, and by the shares where these are even."""
        inference = self.inference
        a = [noise.scale * noise.a for noise in inference.noise]
        if self.shares is None:
            boxes = [inference.leaves / inference.spans[levels] for levels in inference.asked]
            more = zip(a, inference.noise, boxes, strict=True)
            a = [own + noise.scale * noise.b / count for own, noise, count in more]
        return inference.of_squares(a) + UNKNOWN * inference.unknown

    @cached_property
    def _slopes(self) -> list[float]:
        """What somebody more or less at a box changes in the variance of every tuple, at most, per unit of W^2."""
        return [noise.slope if noise.scale < UNKNOWN else 0.0 for noise in self.inference.noise]

    @cached_property
    def _by_shares(self) -> Floats:
        """scale b m^2 of every tuple: the factor of f times the square of the sum of L_i D_i q."""
        return self.inference.table([noise.scale * noise.b for noise in self.inference.noise]) * self._squared

    @cached_property
    def _by_means(self) -> Floats:
        """scale m^2: the factor of the square of the sum of L_i D_i f."""
        return self.inference.table([noise.scale * noise.mean for noise in self.inference.noise]) * self._squared

    @property
    def _squared(self) -> Floats:
        squared: Floats = self.inference.information**2
        return squared

    def ranges(self, ends: Ends) -> tuple[Floats, Floats]:
        """Variance of every range, and how much it can change with the share."""
        squares = [axis.squares(x, y) for axis, (x, y) in zip(self.axes, ends, strict=True)]
        variance = _weighed(self._coins, squares)
        if self.shares is None:
            return variance, np.zeros(variance.shape)
        if entries(self.axes) > _MOST_ENTRIES:
            found = np.array([self._on_leaves(query) for query in self._inside(ends)])
            return found[:, 0], found[:, 1]
        parts = [axis.parts(x, y) for axis, (x, y) in zip(self.axes, ends, strict=True)]
        details = [axis.details(x, y, part[:, :, 0]) for axis, (x, y), part in zip(self.axes, ends, parts, strict=True)]
        held = self._held(parts)
        return variance + self._of_shares(details, held) - self._of_means(details, held), self._steepest(details)

    def _held(self, parts: list[Places]) -> Floats:
        """Shares of the products of parts: shape (ranges, parts of the first axis, of the second, ...)."""
        place: Places = np.zeros(1, dtype=np.int64)
        for number, (axis, part) in enumerate(zip(self.axes, parts, strict=True)):
            cells = axis.cells_before[part].reshape(len(part), *(1,) * number, -1)
            place = place[..., None] * (axis.size + 1) + cells
        held = self._cumulative.reshape(-1)[place]
        for number in range(len(self.axes)):
            before = (slice(None),) * (number + 1)
            held = held[(*before, slice(1, None, 2))] - held[(*before, slice(0, None, 2))]
        return held

    @cached_property
    def _cumulative(self) -> Floats:
        """Shares of all that is before, with one entry more along every axis."""
        assert self.shares is not None
        return cumulative(self.shares)

    def _of_shares(self, details: list[Floats], held: Floats) -> Floats:
        """Sum over tuples of scale b sum W^2 f, with the square of the sum over levels written out as pairs."""
        found = held
        for detail in details:
            found = _contracted(found, _pairs(detail))
        return found.reshape(len(held), -1) @ self._of_pairs.reshape(-1)

    def _steepest(self, details: list[Floats]) -> Floats:
        """The largest sum over tuples of slope W^2 that some place of the grid has: what a share there can change."""
        found = np.broadcast_to(self._of_steep_pairs, (len(details[0]), *self._of_steep_pairs.shape))
        for detail in details:
            found = _contracted(found, _pairs(detail).transpose(0, 2, 1))
        return found.reshape(len(found), -1).max(axis=1)

    @cached_property
    def _of_pairs(self) -> Floats:
        return self._pair_table(self._by_shares)

    @cached_property
    def _of_steep_pairs(self) -> Floats:
        return self._pair_table(self.inference.table(self._slopes) * self._squared)

    def _pair_table(self, by_tuple: Floats) -> Floats:
        """L_i L_j times the sum of a number over the tuples that are nowhere coarser than i or j.

        Pairs of levels of the first axis, then of the second, and so on.
        """
        axes = range(len(self.axes))
        inverse, factors = self.inference.inverse, sums_from(by_tuple)
        finer = np.ix_(*(np.maximum.outer(*(np.arange(axis.height + 1),) * 2).reshape(-1) for axis in self.axes))
        pairs = np.multiply.outer(inverse, inverse).transpose([side + axis for axis in axes for side in (0, len(axes))])
        table: Floats = pairs.reshape(factors[finer].shape) * factors[finer]
        return table

    def _of_means(self, details: list[Floats], held: Floats) -> Floats:
        """Sum over tuples of scale (sum W f)^2."""
        means = held
        for detail in details:
            means = _contracted(means, detail)
        means = means * self.inference.inverse
        for axis in range(1, means.ndim):
            means = np.cumsum(means, axis=axis)
        found: Floats = (means**2).reshape(len(held), -1) @ self._by_means.reshape(-1)
        return found

    @cached_property
    def _leaves(self) -> Floats:
        """The shares at the leaves where devices report."""
        assert self.shares is not None
        leaves = np.zeros([axis.leaves for axis in self.axes])
        leaves[np.ix_(*(axis.edges[:-1] for axis in self.axes))] = self.shares
        return leaves

    def cells(self) -> Floats:
        """Variance of every cell."""
        variance = np.empty([axis.size for axis in self.axes])
        for levels in product(*(np.unique(axis.cell_levels).tolist() for axis in self.axes)):
            along = list(zip(self.axes, levels, strict=True))
            cells = [np.flatnonzero(axis.cell_levels == level) for axis, level in along]
            nodes = [axis.edges[own] >> (axis.height - level) for (axis, level), own in zip(along, cells, strict=True)]
            variance[np.ix_(*cells)] = self._nodes(levels)[np.ix_(*nodes)]
        return variance

    def _nodes(self, levels: Levels) -> Floats:
        """Variance of every box of a tuple."""
        inference, span = self.inference, float(self.inference.spans[levels])
        squares = [_node_squares(axis, level) for axis, level in zip(self.axes, levels, strict=True)]
        coins = float(_weighed(up_to(self._coins, levels), squares)[0])
        of_shares, of_means = np.zeros([level + 1 for level in levels]), np.zeros([level + 1 for level in levels])
        for asked in inference.asked:
            common = tuple(min(own, level) for own, level in zip(asked, levels, strict=True))
            weights = sums_up_to(falls(up_to(inference.inverse, common)) / up_to(inference.spans, common))
            up_to(of_shares, common)[...] += self._by_shares[asked] * rises(weights**2)
            of_means[common] += self._by_means[asked]
        variance = blended(averaged(self._leaves, levels), of_shares * up_to(inference.spans, levels))
        blocks = [
            (
                common,
                of_means[common]
                * blended(averaged(self._leaves, common), falls(up_to(inference.inverse, common))) ** 2,
            )
            for common in zip(*(part.tolist() for part in np.nonzero(of_means)), strict=True)
        ]
        if blocks:
            variance -= spread_over(blocks, levels)
        return coins + span**2 * variance

    def _inside(self, ends: Ends) -> Iterator[Floats]:
        """Every range as a query on the leaves."""
        for number in range(len(ends[0][0])):
            query = np.ones(())
            for axis, (x, y) in zip(self.axes, ends, strict=True):
                leaves = np.arange(axis.leaves)
                query = np.multiply.outer(query, (leaves >= x[number]) & (leaves < y[number]))
            yield query

    def linear(self, query: Floats) -> tuple[float, float]:
        """Variance of the sum of share times query over all cells, and how much it can change with a cell's share."""
        return self._on_leaves(query[np.ix_(*(axis.owner for axis in self.axes))])

    def _on_leaves(self, query: Floats) -> tuple[float, float]:
        """The same of a sum over all leaves."""
        inference, variance, steep = self.inference, 0.0, []
        if inference.unknown.any() and self._tells_nothing(query):
            return UNKNOWN, 0.0
        for levels, noise, slope in zip(inference.asked, inference.noise, self._slopes, strict=True):
            if noise.scale < UNKNOWN:
                inverse = falls(up_to(inference.inverse, levels))
                weights = inference.information[levels] * blended(averaged(query, levels), inverse)
                f = averaged(self._leaves, levels) * inference.spans[levels]
                sums = (weights**2).sum(), (weights**2 * f).sum(), (weights * f).sum()
                variance += float(noise.variance(*sums, 0.0, 0.0))
                steep.append((levels, slope * weights**2))
        return variance, float(spread_over(steep, inference.heights).max()) if steep else 0.0

    def _tells_nothing(self, leaves: Floats) -> bool:
        """Whether a query on the leaves takes anything that no report tells."""
        left = blended(leaves, falls(self.inference.unknown))
        return bool(np.abs(left).max() > 1e-9 * max(float(np.abs(leaves).max()), 1e-300))


def _weighed(table: Floats, squares: list[Floats]) -> Floats:
    """For every range the sum over all tuples of the table times the product of the axes' squares."""
    result = np.broadcast_to(table, (len(squares[0]), *table.shape))
    for axis in squares:  # takes the first axis away
        result = np.einsum("qi,qi...->q...", axis, result)
    return np.asarray(result)


def _contracted(tensor: Floats, matrices: Floats) -> Floats:
    """For every range its matrix applied along the first axis, which is taken away and comes back as the last one."""
    first = tensor.reshape(*tensor.shape[:2], -1)
    return (first.transpose(0, 2, 1) @ matrices).reshape(len(tensor), *tensor.shape[2:], -1)


def _pairs(detail: Floats) -> Floats:
    """Products of two levels' details: shape (ranges, parts, pairs of levels)."""
    return (detail[:, :, :, None] * detail[:, :, None, :]).reshape(*detail.shape[:2], -1)


def _node_squares(axis: BinaryAxis, level: int) -> Floats:
    """Sum (D_i q)^2 of a node of the level, for i up to it."""
    spans = 2.0 ** (axis.height - np.arange(level + 1))
    return np.diff(spans[-1] ** 2 / spans, prepend=0.0)[None, :]


def entries(axes: Sequence[BinaryAxis]) -> int:
    """Numbers that the variance of one range holds."""
    return prod(max(axis.slots, (axis.height + 1) ** 2) for axis in axes)
