"""Exact variances of range queries on a tree after constrained inference, O(log D) each.

    f_u   the share of node u                     p     the parent of u
    q_u   what one unit of u adds to the answer   w_u   the weight of u's own estimate in its blend (`Inference.own`)
    z_u   the blend of u's own estimate and its   K_u   how often z_u enters the answer
          children's (`tree`)                     W_u   how often u's own estimate enters the answer
    B     the fan-out                             V, U  the variance of an own estimate, and of a blend

**Weights.** q is 1 inside the range and 0 outside; for a node that the range cuts it is the mean of its children's q,
weighted by their blended variances. Unrolling the inference from the root down,

    K_u = (1 - w_p) K_p + q_u - q_p,     W_u = w_u K_u.

On the units K is what the crown gives (`crown_variance`); the crown also has the units' own estimates, so w = 0 there.

**Sums.** The noise of a level needs five sums over its nodes (`level_noise`),

    sum K^2,   sum K^2 f,   sum K f,   sum K   and   P = sum over pairs K_u K_v F(u xor v).

Below a node that the range does not cut, q is constant and K only shrinks. So each sum follows from the one of the
level above (written with ') and from the nodes that are cut. With [.] for what a sum over q has more than at the level
above,

    sum K f    = (1 - w)   sum' K f   + [sum q f]
    sum K^2 f  = (1 - w)^2 sum' K^2 f + [sum q^2 f] + 2 sum over cut parents p of ((1 - w) K_p - q_p) [sum q f below p].

With 1 instead of f, each node of the level above counts B times, and the last sum is 0. The factor (1 - w) K_p - q_p is
called the **pull** of p: K_u = pull + q_u.

**Edge.** The last node of a level of a ragged tree has its own w and fewer children. Its K is tracked, and what it has
more than a full node would have is added (`_correct_edge`).

**Four cells.** Two levels of fan-out 2, every estimate with variance V = 1. For cell 0: q = 1, 0, 0, 0 on the cells and
1/2, 0 on the units, where the crown gives K = 1/12, -1/12. So on the cells K = 1/12 + 1 - 1/2 = 7/12,
1/12 + 0 - 1/2 = -5/12, -1/12 and -1/12, and W = K, since w = 1 there. The cells add sum W^2 = 76/144, the units' own
estimates 2/36: together 7/12, instead of 1 without inference. For cells 0 and 1 together q is 1 on the first unit,
which nothing cuts: K = 1/6, -1/6 on the units and on the cells alike, so the cells add 4/36, the units 2/9: 1/3.

>>> from hearsay.mechanisms.ranges.hierarchical.hierarchy import Hierarchy
>>> from hearsay.mechanisms.ranges.hierarchical.planned_level import PlannedLevel
>>> level = PlannedLevel.parse("2 grr 1")
>>> inference = Hierarchy(4, (level, level), crown_units=2).inference([1.0, 1.0])
>>> noise = LevelNoise(scale=1.0, a=1.0, b=0.0, c=0.0, d=0.0, mean=0.0, pairs=0.0)  # Var = sum W^2
>>> top = CrownVariance(inference.crown, (noise,), np.array([0.5, 0.5]), (None,), None)
>>> tree = TreeVariance(inference, top, (noise,), 10**9, np.linspace(0.0, 1.0, 5), (None,))
>>> tree.cells().round(4).tolist()
[0.5833, 0.5833, 0.5833, 0.5833]
>>> tree.ranges(np.array([0, 0]), np.array([1, 2])).round(4).tolist()
[0.5833, 0.3333]
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

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
        """What of the sums of K^2, K^2 f, K f, K and of P reaches level 2..h from the level above."""
        keep = 1 - np.array(self.inference.own[1:-1])  # 1 - w
        B = np.array(self.inference.tree.fanouts[1:])
        return np.stack([keep**2 * B, keep**2, keep, keep * B, keep**2 * B])

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
        """Whether some level has few reports."""
        return any(level.has_few_reports() for level in (*self.top.noise, *self.noise))

    @cached_property
    def slopes(self) -> TreeSensitivity:
        return TreeSensitivity(self.inference, self.top, self.noise)

    def sensitivity(self, x: Ends, y: Ends) -> Floats:
        """How much the variance of the share of cells x..y-1 can change with it, at most."""
        return range_slopes(self, x, y)

    def ranges(self, x: Ends, y: Ends) -> Floats:
        """Variance of the share of cells x..y-1, for 0 <= x <= y <= D."""
        variance, f = range_variances(self, x, y)
        return variance - self._one_level_only(f)

    def cells(self) -> Floats:
        """Variance of every single cell, in O(D).

        Cells are taken together whose path from the root leaves the edge at the same level: their q are alike.
        """
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
        """Cells whose path leaves the edge at level `departure`, at one of its nodes first..stop-1.

        q is the same for all of them, a number per level. K differs between units, so arrays have one row per unit:
        with one column where a value is the same below the whole unit, with one per node where it depends on f.
        """
        inference, tree = self.inference, self.inference.tree
        q = self._path_q(departure)
        units = np.arange(first, stop) if departure == 1 else np.array([tree.nodes[1] - 1])
        sums = _Sums(self, units, q[1])
        K = q[1] * np.diff(self.top.coefficients)[units, units][:, None]
        f = np.diff(self.prefixes(1))[units][:, None]
        for level in range(2, tree.height + 1):
            B, parent_on_edge = tree.fanouts[level - 1], level - 1 < departure
            start, end = self._nodes_on_path(level, departure, first, stop)
            w = inference.edge_own if parent_on_edge else inference.own
            pull = (1 - w[level - 1]) * K - q[level - 1]
            nodes = (end - start) // units.size
            if nodes > f.shape[1]:
                f = np.repeat(f, B, axis=1)[:, :nodes]
                sums.repeat_for_children(B, nodes)
            f_parent, f = f, np.diff(self.prefixes(level)[start : end + 1]).reshape(units.size, nodes)
            gained = q[level] * f - q[level - 1] * f_parent  # [sum q f]
            pairs = self.pairs[level - 2]
            sums.descend(
                level,
                _Change(
                    K2=q[level] ** 2 - B * q[level - 1] ** 2,
                    K2_f=q[level] ** 2 * f - q[level - 1] ** 2 * f_parent + 2 * pull * gained,
                    K=q[level] - B * q[level - 1],
                    K_f=gained,
                    P=0.0 if pairs is None else q[level] ** 2 * pairs.alone,
                    edge_q_parent=q[level - 1] if parent_on_edge else 0.0,
                    edge_q=q[level] if level < departure else 0.0,
                ),
            )
            K = pull + q[level]
        variance: Floats = (sums.variance - self._one_level_only(f)).reshape(-1)
        return variance

    def _path_q(self, departure: int) -> list[float]:
        """q of level 0..h on the path to a cell: 1 over the cells of a full node; on the edge by blended variances."""
        inference, tree = self.inference, self.inference.tree
        q = [1 / span for span in tree.spans]
        for level in range(departure - 1, 0, -1):
            U = inference.blended if level + 1 == departure else inference.edge_blended
            q[level] = q[level + 1] * U[level + 1] / inference.edge_below[level]
        return q

    def _nodes_on_path(self, level: int, departure: int, first: int, stop: int) -> tuple[int, int]:
        """The nodes of a level above the cells in question, from and up to: the edge alone before the departure."""
        tree = self.inference.tree
        if level < departure:
            return tree.nodes[level] - 1, tree.nodes[level]
        start, end = (node * tree.spans[departure] // tree.spans[level] for node in (first, stop))
        return start, end

    def _one_level_only(self, f: Floats) -> Floats:
        """f(R)(1 - f(R))/n, which every estimate saves because a device answers at one shifted level only.

        The last term of docs/explanation/ranges.md: the sum over the levels of W at a cell's nodes is 1 in the range
        and 0 outside, up to a constant.
        """
        clipped = np.clip(f, 0.0, 1.0)
        return clipped * (1 - clipped) / max(self.reports, 1)


class _Change(NamedTuple):
    """What the range adds to each sum at a level, beyond what the level above hands on."""

    K2: Number
    K2_f: Number
    K: Number
    K_f: Number
    P: Number
    edge_q_parent: Number  # q of the edge of the level above, where the range cuts it
    edge_q: Number  # and of this level


class _Sums:
    """The five sums over one level's nodes for queries of q on one unit each, and the variance of all levels so far."""

    def __init__(self, context: TreeVariance, units: Ends, q: float) -> None:
        self.context = context
        top, tree = context.top, context.inference.tree
        variance, K2, K2_f, P = (values[:, None] for values in top.alone(units))
        self.variance: Number = np.where(variance < UNKNOWN, q**2 * variance, UNKNOWN)
        self.K2: Number = q**2 * K2
        self.K2_f: Number = q**2 * K2_f
        self.P: Number = q**2 * P
        K_f, K = (q * np.diff(line)[units][:, None] for line in top.lines.T)
        self.K_f: Number = K_f
        self.K: Number = K if tree.last_ragged else 0.0
        self.edge_K: Number = q * np.diff(top.coefficients[tree.nodes[1] - 1])[units][:, None]

    def repeat_for_children(self, B: int, count: int) -> None:
        """Repeat each parent's entry for its children, in the sums that have one entry per node."""
        for name in ("K2_f", "K_f", "variance"):
            values = getattr(self, name)
            if values.shape[1] > 1:  # one column stands for all of them
                setattr(self, name, np.repeat(values, B, axis=1)[:, :count])

    def descend(self, level: int, change: _Change) -> None:
        """Go one level down, and add the level's variance."""
        inference, tree = self.context.inference, self.context.inference.tree
        B, keep = tree.fanouts[level - 1], 1 - inference.own[level - 1]  # 1 - w
        self.K2 = keep**2 * B * self.K2 + change.K2
        self.K2_f = keep**2 * self.K2_f + change.K2_f
        self.K_f = keep * self.K_f + change.K_f
        self.P = keep**2 * B * self.P + change.P
        if level - 1 <= tree.last_ragged:
            self._correct_edge(level, keep, change)
        elif tree.last_ragged:
            self.K = keep * B * self.K
        self._add_variance(level)

    def _correct_edge(self, level: int, keep: float, change: _Change) -> None:
        """The edge of the level above has another w and fewer children, whose q need not average to its own."""
        inference, tree = self.context.inference, self.context.inference.tree
        B, children = tree.fanouts[level - 1], tree.edge_children[level - 1]
        edge_keep, f = 1 - inference.edge_own[level - 1], self.context.edge_share(level - 1)
        q, K = change.edge_q_parent, self.edge_K
        unbalanced = change.K + (B - children) * q  # [sum q] with the children that there are
        self.K2 += (B - children) * q**2 + 2 * (edge_keep * K - q) * unbalanced
        self.K2 += K**2 * (edge_keep**2 * children - keep**2 * B)
        self.K2_f += f * K**2 * (edge_keep**2 - keep**2)
        self.K_f += f * K * (edge_keep - keep)
        self.K = keep * B * self.K + unbalanced
        self.K += K * (edge_keep * children - keep * B)
        self.edge_K = edge_keep * K + change.edge_q - q

    def _add_variance(self, level: int) -> None:
        """The noise of the level for W = w K, with the edge's own w where it has one."""
        inference, noise = self.context.inference, self.context.noise[level - 2]
        w = inference.own[level]
        W2, W2_f, W, W_f = w**2 * self.K2, w**2 * self.K2_f, w * self.K, w * self.K_f
        if level <= inference.tree.last_ragged:
            w_edge, f, K = inference.edge_own[level], self.context.edge_share(level), self.edge_K
            W2 += (w_edge**2 - w**2) * K**2
            W2_f += (w_edge**2 - w**2) * K**2 * f
            W += (w_edge - w) * K
            W_f += (w_edge - w) * K * f
        self.variance = self.variance + noise.variance(W2, W2_f, W_f, W, w**2 * self.P)
