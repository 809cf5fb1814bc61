"""Exact variances of range queries on a tree after constrained inference, O(log D) each.

Let q_u be what one unit of node u adds to the answer: 1 inside the range, 0 outside, and for a node that the range cuts
the mean of its children's q weighted by their blended variances. Unrolling the inference, node u's blend z_u enters the
answer with K_u = (1 - w_p) K_p + q_u - q_p (p its parent), and its raw estimate with W_u = w_u K_u; on the units K is
what the crown gives (`crown_variance`). Below a node that the range does not cut q is constant and K only shrinks, so
the sums that a level's noise needs,

    sum K,   sum K^2,   sum K f,   sum K^2 f,   P = sum over pairs K_u K_v F(u xor v),

follow from those of the level above and from the few nodes that are cut:

    sum K f    = (1 - w)   sum' K f   + [sum q f]
    sum K^2 f  = (1 - w)^2 sum' K^2 f + [sum q^2 f] + 2 sum over cut parents p of ((1 - w) K_p - q_p) [sum q f below p]

with ' for the level above and [.] for the change from it; with 1 in the place of f the brackets are [.]_l - B [.]_(l-1)
and the last sum vanishes. The edge of a ragged tree has its own w: its K is tracked, and the difference added.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.ranges.hierarchical.crown_variance import CrownVariance
from hearsay.mechanisms.ranges.hierarchical.tree import UNKNOWN, Inference
from hearsay.mechanisms.ranges.hierarchical.tree_ranges import range_slopes, range_variances
from hearsay.mechanisms.ranges.hierarchical.tree_sensitivity import TreeSensitivity
from hearsay.mechanisms.ranges.level_noise import LevelNoise, Number
from hearsay.mechanisms.ranges.xor_pairs import XorPairs

Ends = NDArray[np.int64]
_CELLS_AT_A_TIME = 1 << 16  # so that a walk down the levels stays in cache


@dataclass(frozen=True)
class TreeVariance:
    """Variances of ranges and of single cells, for estimated shares with prefix sums `cumulative` (D + 1 of them).

    `noise` and `pairs` are those of level 2..h; `top` has all above.
    """

    inference: Inference
    top: CrownVariance
    noise: tuple[LevelNoise, ...]
    reports: int
    cumulative: Floats
    pairs: tuple[XorPairs | None, ...]

    @cached_property
    def spans(self) -> Floats:
        """Cells under a full node of level 1..h."""
        return np.array(self.inference.tree.spans[1:], dtype=np.float64)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where level 1..h start in `flat`."""
        return np.concatenate([[0], np.cumsum(np.array(self.inference.tree.nodes[1:-1], dtype=np.int64) + 1)])

    @cached_property
    def flat(self) -> Floats:
        """The prefix sums over the nodes of level 1..h, one level after the other."""
        tree = self.inference.tree
        levels = [
            self.cumulative[np.minimum(np.arange(nodes + 1) * span, tree.size)]
            for nodes, span in zip(tree.nodes[1:-1], tree.spans[1:-1], strict=True)
        ]
        return np.concatenate([*levels, self.cumulative])

    def prefixes(self, level: int) -> Floats:
        """Prefix sums over the nodes of a level."""
        start = self.offsets[level - 1]
        return self.flat[start : start + self.inference.tree.nodes[level] + 1]

    @cached_property
    def handed_on(self) -> Floats:
        """What of the sums of K^2, K^2 f, K f, K and over pairs reaches level 2..h from the level above."""
        keep = 1 - np.array(self.inference.own[1:-1])
        fanouts = np.array(self.inference.tree.fanouts[1:])
        return np.stack([keep**2 * fanouts, keep**2, keep, keep * fanouts, keep**2 * fanouts])

    @cached_property
    def all_levels(self) -> LevelNoise:
        """The noise of level 2..h as columns."""
        return LevelNoise(*np.array(self.noise).T[:, :, None])

    def edge_share(self, level: int) -> float:
        """f of a level's last node."""
        prefixes = self.prefixes(level)
        return float(prefixes[-1] - prefixes[-2])

    @property
    def few_reports(self) -> bool:
        """Whether some place has few reports."""
        return any(level.is_few() for level in (*self.top.noise, *self.noise))

    @cached_property
    def slopes(self) -> TreeSensitivity:
        return TreeSensitivity(self.inference, self.top, self.noise)

    def sensitivity(self, x: Ends, y: Ends) -> Floats:
        """How much the variance of the share of cells x..y-1 can change with it, at most."""
        return range_slopes(self, x, y)

    def ranges(self, x: Ends, y: Ends) -> Floats:
        """Variance of the share of cells x..y-1, for 0 <= x <= y <= D."""
        variance, share = range_variances(self, x, y)
        return variance - self._one_place_only(share)

    def cells(self) -> Floats:
        """Variance of every single cell, in O(D)."""
        tree = self.inference.tree
        result = np.empty(tree.size)
        for departure in range(1, tree.last_ragged + 2):
            first = (tree.nodes[departure - 1] - 1) * tree.fanouts[departure - 1]
            stop, span = tree.nodes[departure] - (departure <= tree.last_ragged), tree.spans[departure]
            step = max(1, _CELLS_AT_A_TIME // span)
            for start in range(first, stop, step):
                end = min(start + step, stop)
                result[start * span : end * span] = self._cells_below(departure, start, end)
        return result

    def _cells_below(self, departure: int, first: int, stop: int) -> Floats:
        """Cells whose path leaves the tree's edge at level `departure`, at one of its nodes first..stop-1.

        Their q are alike on their whole path, so these are plain numbers; K differs between units, and arrays have one
        row a unit: of one column for what is the same below the whole unit, of one a node for what holds f.
        """
        inference, tree = self.inference, self.inference.tree
        q = [1 / span for span in tree.spans]
        for level in range(departure - 1, 0, -1):
            child = inference.blended if level + 1 == departure else inference.edge_blended
            q[level] = q[level + 1] * child[level + 1] / inference.edge_below[level]
        units = np.arange(first, stop) if departure == 1 else np.array([tree.nodes[1] - 1])
        sums = _Sums(self, units, q[1])
        coefficient = q[1] * np.diff(self.top.coefficients)[units, units][:, None]
        share = np.diff(self.prefixes(1))[units][:, None]
        for level in range(2, tree.height + 1):
            fanout, on_edge = tree.fanouts[level - 1], level - 1 < departure
            if level < departure:
                start, end = tree.nodes[level] - 1, tree.nodes[level]
            else:
                start, end = (node * tree.spans[departure] // tree.spans[level] for node in (first, stop))
            own = inference.edge_own if on_edge else inference.own
            pull = (1 - own[level - 1]) * coefficient - q[level - 1]
            nodes = (end - start) // units.size
            if nodes > share.shape[1]:
                share = np.repeat(share, fanout, axis=1)[:, :nodes]
                sums.widen(fanout, nodes)
            above, share = share, np.diff(self.prefixes(level)[start : end + 1]).reshape(units.size, nodes)
            gained = q[level] * share - q[level - 1] * above
            pairs = self.pairs[level - 2]
            sums.descend(
                level,
                squares=q[level] ** 2 - fanout * q[level - 1] ** 2,
                squares_f=q[level] ** 2 * share - q[level - 1] ** 2 * above + 2 * pull * gained,
                totals=q[level] - fanout * q[level - 1],
                totals_f=gained,
                edge_q=(q[level - 1] if on_edge else 0.0, q[level] if level < departure else 0.0),
                paired=0.0 if pairs is None else q[level] ** 2 * pairs.alone,
            )
            coefficient = pull + q[level]
        variance: Floats = (sums.variance - self._one_place_only(share)).reshape(-1)
        return variance

    def _one_place_only(self, share: Floats) -> Floats:
        """f(R)(1 - f(R))/n, which every estimate saves because a device answers at one place only.

        The last term of docs/ranges.md: the sum over the places of W at a cell's nodes is 1 in the range and 0 outside,
        up to a constant.
        """
        clipped = np.clip(share, 0.0, 1.0)
        return clipped * (1 - clipped) / max(self.reports, 1)


class _Sums:
    """The sums over one level's nodes for queries of q on one unit each, and the variance of all places so far."""

    def __init__(self, context: TreeVariance, units: Ends, q: float) -> None:
        self.context = context
        top = context.top
        variance, square, square_f, paired = (values[:, None] for values in top.alone(units))
        self.variance: Number = np.where(variance < UNKNOWN, q**2 * variance, UNKNOWN)
        self.square: Number = q**2 * square
        self.square_f: Number = q**2 * square_f
        self.paired: Number = q**2 * paired
        total_f, total = (q * np.diff(line)[units][:, None] for line in top.lines.T)
        self.total_f: Number = total_f
        self.total: Number = total if context.inference.tree.last_ragged else 0.0
        last = context.inference.tree.nodes[1] - 1
        self.edge: Number = q * np.diff(top.coefficients[last])[units][:, None]

    def widen(self, fanout: int, count: int) -> None:
        """Repeat each parent's entry for its children."""
        for name in ("square_f", "total_f", "variance"):
            values = getattr(self, name)
            if values.shape[1] > 1:  # one column stands for all of them
                setattr(self, name, np.repeat(values, fanout, axis=1)[:, :count])

    def descend(
        self,
        level: int,
        squares: Number,
        squares_f: Number,
        totals: Number,
        totals_f: Number,
        edge_q: tuple[Number, Number],
        paired: Number,
    ) -> None:
        """Go one level down, given what the range adds to each sum, and add the level's variance."""
        inference, tree = self.context.inference, self.context.inference.tree
        fanout, keep = tree.fanouts[level - 1], 1 - inference.own[level - 1]
        self.square = keep**2 * fanout * self.square + squares
        self.square_f = keep**2 * self.square_f + squares_f
        self.total_f = keep * self.total_f + totals_f
        self.paired = keep**2 * fanout * self.paired + paired
        if level - 1 <= tree.last_ragged:
            self._correct_edge(level, keep, totals, edge_q)
        elif tree.last_ragged:
            self.total = keep * fanout * self.total
        self._add_variance(level)

    def _correct_edge(self, level: int, keep: float, totals: Number, edge_q: tuple[Number, Number]) -> None:
        """The edge of the level above has another w and fewer children, whose q need not average to its own."""
        inference, tree = self.context.inference, self.context.inference.tree
        fanout, children = tree.fanouts[level - 1], tree.edge_children[level - 1]
        edge_keep, share = 1 - inference.edge_own[level - 1], self.context.edge_share(level - 1)
        q, q_below = edge_q
        unbalanced = totals + (fanout - children) * q
        self.square += (fanout - children) * q**2 + 2 * (edge_keep * self.edge - q) * unbalanced
        self.square += self.edge**2 * (edge_keep**2 * children - keep**2 * fanout)
        self.square_f += share * self.edge**2 * (edge_keep**2 - keep**2)
        self.total_f += share * self.edge * (edge_keep - keep)
        self.total = keep * fanout * self.total + unbalanced
        self.total += self.edge * (edge_keep * children - keep * fanout)
        self.edge = edge_keep * self.edge + q_below - q

    def _add_variance(self, level: int) -> None:
        inference, noise = self.context.inference, self.context.noise[level - 2]
        own = inference.own[level]
        square, square_f = own**2 * self.square, own**2 * self.square_f
        total, total_f = own * self.total, own * self.total_f
        if level <= inference.tree.last_ragged:
            edge_own, share = inference.edge_own[level], self.context.edge_share(level)
            square += (edge_own**2 - own**2) * self.edge**2
            square_f += (edge_own**2 - own**2) * self.edge**2 * share
            total += (edge_own - own) * self.edge
            total_f += (edge_own - own) * self.edge * share
        paired = own**2 * self.paired
        self.variance = self.variance + noise.variance(square, square_f, total_f, total, paired)
