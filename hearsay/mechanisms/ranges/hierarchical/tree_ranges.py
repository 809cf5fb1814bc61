"""Variances of many ranges at once, all levels of the tree together; the formulas are in `tree_variance`.

A range is the difference of two prefixes, its **ends**. On every level an end cuts one node: `part` is the prefix' own
q there, `share` the node's f, `mass` the prefix' sum of q f, `node + part` that of q. What the levels do not hand on to
each other is computed for all of them in arrays of shape (levels, ends, ranges), from the units down; the two
recursions that do are loops over the levels with a few operations each, so that a single range costs well below a
millisecond.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats

if TYPE_CHECKING:
    from hearsay.mechanisms.ranges.hierarchical.tree_variance import TreeVariance

Ends = NDArray[np.int64]


def range_variances(context: "TreeVariance", x: Ends, y: Ends) -> tuple[Floats, Floats]:
    """Sum of all shifted levels' variances for cells x..y-1, 0 <= x <= y <= D, and the share f that they hold."""
    tree = context.inference.tree
    node, part = _cuts(context, x, y)
    index = node.astype(np.int64)
    cut = index[0].copy()
    index += context.offsets[:, None, None]
    before = context.flat[index]
    index += 1
    share = context.flat[index]
    share -= before
    mass = part * share
    mass += before
    shares = mass[:, 1] - mass[:, 0]
    top = context.top.quadratic(cut, part[0])
    if tree.height == 1:
        return top[0], shares[-1]
    # The sums of q^2 and q^2 f are those of q and q f less q (1 - q) of the cut nodes.
    together = node[:, 0] == node[:, 1]
    lacking = 1 - part
    lacking *= part
    lacking[:, 0] -= 2 * together * (part[:, 0] * (1 - part[:, 1]))
    square, square_f, total_f = (np.empty((tree.height, x.size)) for _ in range(3))
    missing = lacking[:, 0] + lacking[:, 1]
    fanouts = np.array(tree.fanouts[1:], dtype=np.float64)[:, None]
    np.subtract(fanouts * missing[:-1], missing[1:], out=square[1:])
    lacking *= share
    missing = shares - lacking[:, 0]
    missing -= lacking[:, 1]
    np.subtract(missing[1:], missing[:-1], out=square_f[1:])
    np.subtract(shares[1:], shares[:-1], out=total_f[1:])
    pulls = _pulls(context, node, _parts_of_cut_nodes(part, together), context.top.coefficient(cut, cut, part[0]))
    pulls *= mass[1:] - mass[:-1]
    square_f[1:] += 2 * (pulls[:, 1] - pulls[:, 0])
    square[0], square_f[0] = top[1], top[2]
    total_f[0], total = context.top.linear(cut, part[0])
    sums = Sums(square, square_f, total_f)
    if tree.last_ragged:
        _correct_edge(context, sums, node, part, total)
    if any(context.pairs):
        sums.paired = np.zeros(square.shape)
        sums.paired[0] = top[3]
        for level, pairs in enumerate(context.pairs, start=1):
            if pairs is not None:
                sums.paired[level] = pairs.of_prefixes(index[level] - context.offsets[level] - 1, part[level])
    return top[0] + sums.variance(context), shares[-1]


def range_slopes(context: "TreeVariance", x: Ends, y: Ends) -> Floats:
    """How much the variance of the share of cells x..y-1 can change with it, at most."""
    node, part = _cuts(context, x, y)
    cut = node[0].astype(np.int64)
    q = _parts_of_cut_nodes(part, node[:, 0] == node[:, 1])
    pulls = _pulls(context, node, q, context.top.coefficient(cut, cut, part[0]))
    return context.slopes.of_ranges(node, part[0], q, pulls)


def _cuts(context: "TreeVariance", x: Ends, y: Ends) -> tuple[Floats, Floats]:
    """Of the nodes of level 1..h that the two ends cut: which they are, and what a prefix holds of them."""
    # What reaches the end of the domain is as uncertain as what it leaves out, which ends at a cell that exists.
    to_end = y == context.inference.tree.size
    ends = np.stack([np.where(to_end, 0, x), np.where(to_end, x, y)]).astype(np.float64)
    part = ends / context.spans[:, None, None]
    node = np.floor(part)
    part -= node
    _correct_parts(context, node, part)
    return node, part


def _correct_parts(context: "TreeVariance", node: Floats, part: Floats) -> None:
    """On the edge, a prefix' q is the mean of the children's, weighted by their blended variances."""
    inference, tree = context.inference, context.inference.tree
    for level in range(tree.last_ragged, 0, -1):
        child, before = node[level], node[level] - (tree.nodes[level] - 1) * tree.fanouts[level]
        weight: Floats | float = inference.blended[level + 1]
        if level < tree.last_ragged:
            weight = np.where(child == tree.nodes[level + 1] - 1, inference.edge_blended[level + 1], weight)
        part_of_edge = (before * inference.blended[level + 1] + part[level] * weight) / inference.edge_below[level]
        part[level - 1] = np.where(node[level - 1] == tree.nodes[level] - 1, part_of_edge, part[level - 1])


def _parts_of_cut_nodes(part: Floats, together: NDArray[np.bool_]) -> Floats:
    """q of the cut nodes: what the range holds of them."""
    q = part.copy()
    q[:, 0] = (1 - part[:, 0]) - together * (1 - part[:, 1])
    q[:, 1] -= together * part[:, 0]
    return q


def _pulls(context: "TreeVariance", node: Floats, q: Floats, coefficient: Floats) -> Floats:
    """(1 - w) K - q of the cut nodes of level 1..h-1, for their children; K of the cut units is given."""
    inference, tree = context.inference, context.inference.tree
    pulls = np.empty((tree.height - 1, *q.shape[1:]))
    for level in range(1, tree.height):
        keep: Floats | float = 1 - inference.own[level]
        if level <= tree.last_ragged:
            keep = np.where(node[level - 1] == tree.nodes[level] - 1, 1 - inference.edge_own[level], keep)
        np.multiply(coefficient, keep, out=pulls[level - 1])
        pulls[level - 1] -= q[level - 1]
        coefficient = pulls[level - 1] + q[level]
    return pulls


@dataclass
class Sums:
    """What the noise of level 1..h needs of K: what each level adds, before it is handed on to the next.

    `total` and `edge`, K of the tree's edge, matter on ragged trees only, `paired` where characters are divided by
    their own counts.
    """

    square: Floats
    square_f: Floats
    total_f: Floats
    total: Floats | None = None
    paired: Floats | None = None
    edge: Floats | None = None

    def variance(self, context: "TreeVariance") -> Floats:
        """Of the levels 2..h together."""
        own = np.array(context.inference.own[2:])[:, None]
        handed_on = zip(
            (self.square, self.square_f, self.total_f, self.total, self.paired),
            context.handed_on,
            (own**2, own**2, own, own, own**2),
            strict=True,
        )
        weighted: list[Floats | float] = []
        for sums, shares, weight in handed_on:
            if sums is None:
                weighted.append(0.0)
                continue
            for level in range(1, len(sums)):
                sums[level] += shares[level - 1] * sums[level - 1]
            weighted.append(sums[1:])
            sums[1:] *= weight
        if self.edge is not None:
            self._weigh_edge(context, self.edge, weighted)
        return np.sum(context.all_levels.variance(*weighted), axis=0)

    @staticmethod
    def _weigh_edge(context: "TreeVariance", edge: Floats, weighted: list[Any]) -> None:
        """On the edge the own estimate has another weight."""
        inference = context.inference
        square, square_f, total_f, total, _ = weighted
        for level in range(2, inference.tree.last_ragged + 1):
            K, share = edge[level - 1], context.edge_share(level)
            more = (inference.edge_own[level] ** 2 - inference.own[level] ** 2) * K**2
            square[level - 2] += more
            square_f[level - 2] += more * share
            more = (inference.edge_own[level] - inference.own[level]) * K
            total_f[level - 2] += more * share
            total[level - 2] += more


def _correct_edge(context: "TreeVariance", sums: Sums, node: Floats, part: Floats, total: Floats) -> None:
    """The edge has another w and fewer children than the other nodes, whose q need not average to its own."""
    inference, tree = context.inference, context.inference.tree
    last = np.array(tree.nodes[1:], dtype=np.float64)[:, None, None] - 1
    edge_parts = np.where(node == last, part, 0.0)
    q = edge_parts[:, 1] - edge_parts[:, 0]
    totals = node + part
    whole = totals[:, 1] - totals[:, 0]
    sums.total, sums.edge = np.zeros(whole.shape), np.zeros(whole.shape)
    sums.total[0] = total
    K = context.top.coefficient(tree.nodes[1] - 1, node[0].astype(np.int64), part[0])
    for level in range(1, tree.last_ragged + 1):
        sums.edge[level - 1] = K
        fanout, children = tree.fanouts[level], tree.edge_children[level]
        keep, edge_keep = 1 - inference.own[level], 1 - inference.edge_own[level]
        above, share = q[level - 1], context.edge_share(level)
        lacking = whole[level] - fanout * whole[level - 1]
        unbalanced = lacking + (fanout - children) * above
        sums.square[level] += lacking + (fanout - children) * above**2 + 2 * (edge_keep * K - above) * unbalanced
        sums.square[level] += K**2 * (edge_keep**2 * children - keep**2 * fanout)
        sums.square_f[level] += share * K**2 * (edge_keep**2 - keep**2)
        sums.total_f[level] += share * K * (edge_keep - keep)
        sums.total[level] = unbalanced + K * (edge_keep * children - keep * fanout)
        K = edge_keep * K + q[level] - above
