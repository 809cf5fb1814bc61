"""The variance of an answer: sum over tuples t of scale_t [a sum W^2 + b sum W^2 f - mean (sum W f)^2].

    q     the query, a number for every leaf          f     the share of a leaf, or of a box
    t, i  tuples of levels, one level for each axis   W     the weights of t's boxes in the answer (`tuples`)
    D_i q what the levels i add to the coarser ones   m_t   information of t,  s_t  leaves of one of its boxes
    L_i   1/(sum over t >= i of m_t)                  a, b, mean, scale   of the tuple's noise (`level_noise`)

    W = m_t sum over i <= t of L_i D_i q,     i <= t: nowhere finer

The weights sum to 0 over the boxes, so of an oracle's moments only a, b and the mean are left.

**sum W^2** (`_coins`). The D_i q are orthogonal to each other, so it is a sum over i of G_i sum (D_i q)^2
(`TupleInference.of_squares`), and on a product of axes sum (D_i q)^2 is a product (`BinaryAxis.squares`).

**sum W^2 f and sum W f of ranges.** Every axis is cut into the parts on which all D_i q are constant
(`BinaryAxis.parts`), and f of a product of parts is looked up in a table of cumulative shares (`_part_shares`). The
square of the sum over i is written out as a sum over pairs i, j (`_pair_table`):

    sum over t of scale b sum W^2 f = sum over i, j of [L_i L_j sum over t >= i, j of scale b m_t^2] sum f D_i q D_j q.

**The same for single cells** (`_nodes`). W at a box depends only on the level at which its path leaves that of the
cell, axis by axis: w[d]. So sum W^2 f is a sum over the boxes e above the cell of (w[e]^2 less its neighbours before)
f_e, and sum W f is m_t times the cell's own sum of L_i D_i f: sweeps over all cells at once. A cell that owns two
leaves is a node one level up; for nodes of level g, i goes up to g, and everything is multiplied by the leaves of a
node.

**Four cells**, two axes of two cells each. All devices answer at the finest tuple t = (1, 1), whose four boxes are the
cells; every estimate has the variance 1, so s = 1 and m = 1, and L_i = 1 but for the roots, whose sum is known. For
cell (0, 0), q = 1, 0, 0, 0: D_(0,0) q = 1/4 everywhere, and W = q - 1/4 = 3/4, -1/4, -1/4, -1/4. With a = 1 and b = 0
the variance is sum W^2 = 9/16 + 3/16 = 3/4. For both cells of the first row q = 1, 1, 0, 0, W = 1/2, 1/2, -1/2, -1/2,
and the variance is 1.

>>> from hearsay.mechanisms.ranges.level_noise import LevelNoise
>>> noise = LevelNoise(scale=1.0, a=1.0, b=0.0, c=0.0, d=0.0, mean=0.0, pairs=0.0)
>>> axes, inference = (BinaryAxis(2), BinaryAxis(2)), TupleInference((1, 1), ((1, 1),), (noise,))
>>> grid = TupleVariance(axes, inference, np.full((2, 2), 0.25))
>>> grid.cells().tolist()
[[0.75, 0.75], [0.75, 0.75]]
>>> row = [(np.array([0]), np.array([1])), (np.array([0]), np.array([2]))]  # on the first axis, on the second
>>> grid.ranges(row)[0].tolist()
[1.0]
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.ranges.hierarchical.tree import UNKNOWN
from hearsay.mechanisms.ranges.planned_grid.axis import BinaryAxis, Positions
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
Ends = Sequence[tuple[Positions, Positions]]  # of every axis, counted in leaves: first ones and first ones after


@dataclass(frozen=True)
class TupleVariance:
    """Variances for true shares `shares` of the cells; None: evenly filled ones."""

    axes: tuple[BinaryAxis, ...]
    inference: TupleInference
    shares: Floats | None

    @cached_property
    def _coins(self) -> Floats:
        """G_i: what sum (D_i q)^2 costs by itself; where the shares are even, with b f, since f is known."""
        inference = self.inference
        a = [noise.scale * noise.a for noise in inference.noise]
        if self.shares is None:
            boxes = [inference.leaves / inference.spans[t] for t in inference.asked]
            even = zip(a, inference.noise, boxes, strict=True)
            a = [own + noise.scale * noise.b / count for own, noise, count in even]
        return inference.of_squares(a) + UNKNOWN * inference.unknown

    @cached_property
    def _slopes(self) -> list[float]:
        """What somebody more or less at a box changes in the variance of every tuple, at most, per unit of W^2."""
        return [noise.slope if noise.scale < UNKNOWN else 0.0 for noise in self.inference.noise]

    @cached_property
    def _by_shares(self) -> Floats:
        """scale b m^2 of every tuple: the factor of f (sum of L_i D_i q)^2."""
        return self.inference.table([noise.scale * noise.b for noise in self.inference.noise]) * self._m_squared

    @cached_property
    def _by_means(self) -> Floats:
        """scale mean m^2 of every tuple: the factor of (sum of f L_i D_i q)^2."""
        return self.inference.table([noise.scale * noise.mean for noise in self.inference.noise]) * self._m_squared

    @property
    def _m_squared(self) -> Floats:
        squared: Floats = self.inference.information**2
        return squared

    def ranges(self, ends: Ends) -> tuple[Floats, Floats]:
        """Variance of every range, and how much it can change with the share."""
        along = list(zip(self.axes, ends, strict=True))
        coins = _weighed(self._coins, [axis.squares(x, y) for axis, (x, y) in along])
        if self.shares is None:
            return coins, np.zeros(coins.shape)
        if entries(self.axes) > _MOST_ENTRIES:
            each = np.array([self._on_leaves(query) for query in self._inside(ends)])
            return each[:, 0], each[:, 1]
        parts = [axis.parts(x, y) for axis, (x, y) in along]
        D = [axis.details(x, y, part[:, :, 0]) for (axis, (x, y)), part in zip(along, parts, strict=True)]
        f = self._part_shares(parts)
        return coins + self._of_shares(D, f) - self._of_means(D, f), self._steepest(D)

    def _part_shares(self, parts: list[Positions]) -> Floats:
        """f of the products of parts: shape (ranges, parts of the first axis, of the second, ...)."""
        corner: Positions = np.zeros(1, dtype=np.int64)
        for number, (axis, part) in enumerate(zip(self.axes, parts, strict=True)):
            cells = axis.cells_before[part].reshape(len(part), *(1,) * number, -1)
            corner = corner[..., None] * (axis.size + 1) + cells
        f = self._cumulative.reshape(-1)[corner]
        for number in range(len(self.axes)):  # the end of a part less its beginning, axis by axis
            before = (slice(None),) * (number + 1)
            f = f[(*before, slice(1, None, 2))] - f[(*before, slice(0, None, 2))]
        return f

    @cached_property
    def _cumulative(self) -> Floats:
        """Shares of all that is before, with one entry more along every axis."""
        assert self.shares is not None
        return cumulative(self.shares)

    def _of_shares(self, D: list[Floats], f: Floats) -> Floats:
        """Sum over tuples of scale b sum W^2 f: the pair table times sum f D_i q D_j q."""
        products = f
        for along_axis in D:
            products = _contracted(products, _pairs(along_axis))
        return products.reshape(len(f), -1) @ self._of_pairs.reshape(-1)

    def _steepest(self, D: list[Floats]) -> Floats:
        """The largest sum over tuples of slope W^2 among the parts of the grid: what a share there can change."""
        squares = np.broadcast_to(self._of_steep_pairs, (len(D[0]), *self._of_steep_pairs.shape))
        for along_axis in D:
            squares = _contracted(squares, _pairs(along_axis).transpose(0, 2, 1))
        return squares.reshape(len(squares), -1).max(axis=1)

    @cached_property
    def _of_pairs(self) -> Floats:
        return self._pair_table(self._by_shares)

    @cached_property
    def _of_steep_pairs(self) -> Floats:
        return self._pair_table(self.inference.table(self._slopes) * self._m_squared)

    def _pair_table(self, by_tuple: Floats) -> Floats:
        """L_i L_j times the sum of a number over the tuples t >= i, j: nowhere coarser than i or j.

        Pairs of levels of the first axis, then of the second, and so on.
        """
        axes = range(len(self.axes))
        L, from_here = self.inference.inverse, sums_from(by_tuple)
        finer = np.ix_(*(np.maximum.outer(*(np.arange(axis.height + 1),) * 2).reshape(-1) for axis in self.axes))
        pairs = np.multiply.outer(L, L).transpose([side + axis for axis in axes for side in (0, len(axes))])
        table: Floats = pairs.reshape(from_here[finer].shape) * from_here[finer]
        return table

    def _of_means(self, D: list[Floats], f: Floats) -> Floats:
        """Sum over tuples of scale mean (sum W f)^2: for every t the sum over i <= t of L_i sum f D_i q."""
        means = f
        for along_axis in D:
            means = _contracted(means, along_axis)
        means = means * self.inference.inverse
        for axis in range(1, means.ndim):
            means = np.cumsum(means, axis=axis)
        variance: Floats = (means**2).reshape(len(f), -1) @ self._by_means.reshape(-1)
        return variance

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

    def _nodes(self, g: Levels) -> Floats:
        """Variance of every box of the tuple g."""
        inference, leaves = self.inference, float(self.inference.spans[g])
        coins = self._node_coins(g)
        by_share, by_mean = self._node_factors(g)
        variance = blended(averaged(self._leaves, g), by_share * up_to(inference.spans, g))
        means = [
            (t, by_mean[t] * blended(averaged(self._leaves, t), falls(up_to(inference.inverse, t))) ** 2)
            for t in zip(*(levels.tolist() for levels in np.nonzero(by_mean)), strict=True)
        ]
        if means:
            variance -= spread_over(means, g)
        return coins + leaves**2 * variance

    def _node_coins(self, g: Levels) -> float:
        """sum over i of G_i sum (D_i q)^2, the same for every box."""
        squares = [_node_squares(axis, level) for axis, level in zip(self.axes, g, strict=True)]
        return float(_weighed(up_to(self._coins, g), squares)[0])

    def _node_factors(self, g: Levels) -> tuple[Floats, Floats]:
        """For every tuple up to g: the factor of the share of its box, and that of the squared sum of L_i D_i f."""
        inference = self.inference
        by_share, by_mean = np.zeros([level + 1 for level in g]), np.zeros([level + 1 for level in g])
        for t in inference.asked:
            common = tuple(min(own, level) for own, level in zip(t, g, strict=True))
            w = sums_up_to(falls(up_to(inference.inverse, common)) / up_to(inference.spans, common))
            up_to(by_share, common)[...] += self._by_shares[t] * rises(w**2)
            by_mean[common] += self._by_means[t]
        return by_share, by_mean

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
        for t, noise, slope in zip(inference.asked, inference.noise, self._slopes, strict=True):
            if noise.scale < UNKNOWN:
                L = up_to(inference.inverse, t)
                W = inference.information[t] * blended(averaged(query, t), falls(L))
                f = averaged(self._leaves, t) * inference.spans[t]
                variance += float(noise.variance((W**2).sum(), (W**2 * f).sum(), (W * f).sum(), 0.0, 0.0))
                steep.append((t, slope * W**2))
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


def _pairs(D: Floats) -> Floats:
    """D_i q D_j q of one axis: shape (ranges, parts, pairs of levels)."""
    return (D[:, :, :, None] * D[:, :, None, :]).reshape(*D.shape[:2], -1)


def _node_squares(axis: BinaryAxis, level: int) -> Floats:
    """Sum (D_i q)^2 of a node of the level, for i up to it."""
    spans = 2.0 ** (axis.height - np.arange(level + 1))
    return np.diff(spans[-1] ** 2 / spans, prepend=0.0)[None, :]


def entries(axes: Sequence[BinaryAxis]) -> int:
    """Numbers that the variance of one range holds."""
    return prod(max(axis.slots, (axis.height + 1) ** 2) for axis in axes)
