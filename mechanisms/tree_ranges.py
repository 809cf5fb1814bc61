"""Variances of many ranges at once, all levels of the tree together; the formulas are in `tree_variance`.

A range is the difference of two prefixes, its **ends**. On every level an end cuts one node: `part` is the prefix' own
q there, `share` the node's f, `mass` the prefix' sum of q f, `node + part` that of q. What the levels do not hand on to
each other is computed for all of them in arrays of shape (levels, ends, ranges); the two recursions that do are loops
over the levels with a few operations each, so that a single range costs well below a millisecond.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mechanisms.result import Floats

if TYPE_CHECKING:
    from mechanisms.tree_variance import TreeVariance

Ends = NDArray[np.int64]


@dataclass(frozen=True)
class Edge:
    """The tree's edge on level 0..last_ragged: its q in the range, and K there."""

    q: Floats
    coefficient: Floats


def range_variances(context: "TreeVariance", x: Ends, y: Ends) -> tuple[Floats, Floats]:
    """Sum of the levels' variances for cells x..y-1, 0 <= x <= y <= D, and the share f that they hold."""
    tree = context.inference.tree
    # What reaches the end of the domain is as uncertain as what it leaves out, which ends at a cell that exists.
    to_end = y == tree.size
    ends = np.stack([np.where(to_end, 0, x), np.where(to_end, x, y)]).astype(np.float64)
    spans = context.spans[:, None, None]
    node = np.floor(ends / spans)
    part = (ends - node * spans) / spans
    _correct_parts(context, node, part)
    index = node.astype(np.int64)
    index += context.offsets[:, None, None]
    before = context.flat[index]
    index += 1
    share = context.flat[index] - before
    mass = before + part * share
    together = (node[:, 0] == node[:, 1]).astype(np.float64)
    q = np.empty(part.shape)
    q[:, 0] = 1 - part[:, 0] - together * (1 - part[:, 1])
    q[:, 1] = part[:, 1] - together * part[:, 0]
    totals, totals_f = np.diff(node + part, axis=1)[:, 0], np.diff(mass, axis=1)[:, 0]
    # Sums of q^2 and q^2 f are those of q less q (1 - q) of the cut nodes.
    lacking = part * (1 - part)
    lacking[:, 0] -= 2 * together * part[:, 0] * (1 - part[:, 1])
    squares = totals - lacking[:, 0] - lacking[:, 1]
    lacking *= share
    squares_f = totals_f - lacking[:, 0] - lacking[:, 1]

    steps_f = np.diff(_pulls(context, node, q) * np.diff(mass, axis=0), axis=1)[:, 0]
    edge = _edge(context, node, part)
    sums = np.zeros((5, tree.height, x.size))  # of K^2, K^2 f, K f, K, and over pairs
    fanouts = np.array(tree.fanouts, dtype=np.float64)[:, None]
    sums[0] = squares[1:] - fanouts * squares[:-1]
    sums[1] = np.diff(squares_f, axis=0) + 2 * steps_f
    sums[2] = np.diff(totals_f, axis=0)
    _correct_sums(context, sums, totals[1:] - fanouts * totals[:-1], edge)
    for level, pairs in enumerate(context.pairs):
        if pairs is not None:
            sums[4, level] = pairs.of_prefixes(index[level + 1] - context.offsets[level + 1] - 1, part[level + 1])
    for level in range(1, tree.height):
        sums[:, level] += context.handed_on[:, level, None] * sums[:, level - 1]
    return _variance(context, sums, edge), totals_f[-1]


def _correct_parts(context: "TreeVariance", node: Floats, part: Floats) -> None:
    """On the edge, a prefix' q is the mean of the children's, weighted by their blended variances."""
    inference, tree = context.inference, context.inference.tree
    for level in range(tree.last_ragged, -1, -1):
        child, place = node[level + 1], node[level + 1] - (tree.nodes[level] - 1) * tree.fanouts[level]
        weight: Floats | float = inference.blended[level + 1]
        if level < tree.last_ragged:
            weight = np.where(child == tree.nodes[level + 1] - 1, inference.edge_blended[level + 1], weight)
        held = (place * inference.blended[level + 1] + part[level + 1] * weight) / inference.edge_below[level]
        part[level] = np.where(node[level] == tree.nodes[level] - 1, held, part[level])


def _pulls(context: "TreeVariance", node: Floats, q: Floats) -> Floats:
    """(1 - w) K - q of the cut nodes of level 0..h-1, for their children."""
    inference, tree = context.inference, context.inference.tree
    pulls = np.empty((tree.height, *q.shape[1:]))
    coefficient = np.zeros(q.shape[1:])
    for level in range(tree.height):
        keep: Floats | float = 1 - inference.own[level]
        if 0 < level <= tree.last_ragged:
            keep = np.where(node[level] == tree.nodes[level] - 1, 1 - inference.edge_own[level], keep)
        np.multiply(coefficient, keep, out=pulls[level])
        pulls[level] -= q[level]
        coefficient = pulls[level] + q[level + 1]
    return pulls


def _edge(context: "TreeVariance", node: Floats, part: Floats) -> Edge:
    inference, tree = context.inference, context.inference.tree
    ragged = tree.last_ragged + 1
    last = np.array(tree.nodes[:ragged], dtype=np.float64)[:, None, None] - 1
    held = np.where(node[:ragged] == last, part[:ragged], 0.0)
    q = held[:, 1] - held[:, 0]
    coefficient = np.zeros(q.shape)
    for level in range(1, tree.last_ragged + 1):
        coefficient[level] = (1 - inference.edge_own[level - 1]) * coefficient[level - 1] + q[level] - q[level - 1]
    return Edge(q, coefficient)


def _correct_sums(context: "TreeVariance", sums: Floats, totals: Floats, edge: Edge) -> None:
    """The edge has another w and fewer children than the other nodes, whose q need not average to its own."""
    inference, tree = context.inference, context.inference.tree
    for level in range(tree.last_ragged + 1):
        fanout, children = tree.fanouts[level], tree.edge_children[level]
        keep, edge_keep = 1 - inference.own[level], 1 - inference.edge_own[level]
        q, coefficient = edge.q[level], edge.coefficient[level]
        unbalanced = totals[level] + (fanout - children) * q
        sums[0, level] += (fanout - children) * q**2 + 2 * (edge_keep * coefficient - q) * unbalanced
        sums[0, level] += coefficient**2 * (edge_keep**2 * children - keep**2 * fanout)
        sums[1, level] += context.edge_share(level) * coefficient**2 * (edge_keep**2 - keep**2)
        sums[2, level] += context.edge_share(level) * coefficient * (edge_keep - keep)
        if tree.last_ragged:
            sums[3, level] += unbalanced + coefficient * (edge_keep * children - keep * fanout)


def _variance(context: "TreeVariance", sums: Floats, edge: Edge) -> Floats:
    inference, tree = context.inference, context.inference.tree
    own = np.array(inference.own[1:])[:, None]
    sums[[0, 1, 4]] *= own**2
    sums[2:4] *= own
    for level in range(1, tree.last_ragged + 1):
        square = (inference.edge_own[level] ** 2 - inference.own[level] ** 2) * edge.coefficient[level] ** 2
        total = (inference.edge_own[level] - inference.own[level]) * edge.coefficient[level]
        sums[0, level - 1] += square
        sums[1, level - 1] += square * context.edge_share(level)
        sums[2, level - 1] += total * context.edge_share(level)
        sums[3, level - 1] += total
    return np.sum(context.all_levels.variance(*sums), axis=0)
