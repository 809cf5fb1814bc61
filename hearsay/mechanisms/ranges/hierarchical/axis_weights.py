"""How the levels of a tree over one axis of a grid share the work of answering.

On a grid a device reports at a tuple of levels, one of each axis' tree, and the root of a tree is a level like any
other: it carries the other axes' margin. Along one axis the best unbiased way to combine equally uncertain levels is
least squares, without a known total. As in `tree_variance`, a prefix of t cells enters node u with
K_u = (1 - w_p) K_p + q_u - q_p, now starting from K = q at the root, and the node's own estimate with W_u = w_u K_u.
Along several axes the weights multiply, and the products are unbiased because the factors are: the sum over the levels
of W at the nodes above a cell is 1 inside the prefix and 0 outside.
"""

import numpy as np

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.ranges.hierarchical.tree import Tree


def prefix_weights(tree: Tree) -> list[Floats]:
    """W of level 0..h (list), for the prefixes of 0..D cells (rows) at every node (columns)."""
    blended, own = _blend(tree)
    cells = np.arange(tree.size)
    q = [(cells[None, :] < np.arange(tree.size + 1)[:, None]).astype(np.float64)]
    for level in range(tree.height - 1, -1, -1):
        parents = np.arange(tree.nodes[level + 1]) // tree.fanouts[level]
        shares = np.zeros((tree.nodes[level + 1], tree.nodes[level]))
        shares[np.arange(parents.size), parents] = blended[level + 1]
        q.append(q[-1] @ (shares / shares.sum(axis=0)))
    q.reverse()
    coefficient = q[0]
    weights = [coefficient * own[0]]
    for level in range(1, tree.height + 1):
        parents = np.arange(tree.nodes[level]) // tree.fanouts[level - 1]
        coefficient = (coefficient * (1 - own[level - 1]) - q[level - 1])[:, parents] + q[level]
        weights.append(coefficient * own[level])
    return weights


def _blend(tree: Tree) -> tuple[list[Floats], list[Floats]]:
    """Variance after blending and weight of the own estimate, for every node of level 0..h, with variance 1 a level."""
    blended, own = [np.ones(tree.size)], [np.ones(tree.size)]
    for level in range(tree.height - 1, -1, -1):
        parents = np.arange(tree.nodes[level + 1]) // tree.fanouts[level]
        below = np.bincount(parents, weights=blended[-1])
        own.append(below / (below + 1))
        blended.append(own[-1])
    return blended[::-1], own[::-1]
