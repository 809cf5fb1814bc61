"""How much the variance of a range can change with its share: what one more at a cell adds, where that is most.

With rate = scale max(b, ...) of a shifted level's `level_noise`, somebody more at a cell adds at most

    sum over shifted levels of rate W^2, with W of the cell's node at each.

On the units this is the square of a norm of the query, looked up like everything in `crown_variance`: between cuts a
norm is at most what lies between its values at the cuts. Below a unit that the range does not cut K only shrinks, which
enters as one shifted level more. Below a cut one, the path to the cut cell is followed: of the children of a cut node
those outside the range have K = pull, those inside pull + 1 (`tree_ranges`), and below them it shrinks.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.one_thread import in_one_thread
from hearsay.mechanisms.ranges.hierarchical.crown_variance import CrownVariance
from hearsay.mechanisms.ranges.hierarchical.tree import Inference
from hearsay.mechanisms.ranges.level_noise import LevelNoise

Nodes = NDArray[np.int64]
_ONE_BY_ONE = 8  # ranges whose four corners of the table are computed by themselves


@dataclass(frozen=True)
class TreeSensitivity:
    """`noise` is that of level 2..h; `top` has all above."""

    inference: Inference
    top: CrownVariance
    noise: tuple[LevelNoise, ...]

    @cached_property
    def _own(self) -> Floats:
        """The largest w of level 1..h."""
        inference = self.inference
        own = np.array(inference.own[1:])
        ragged = inference.tree.last_ragged
        own[:ragged] = np.maximum(own[:ragged], inference.edge_own[1 : ragged + 1])
        return own

    @cached_property
    def _rates(self) -> Floats:
        """Of level 2..h, for K instead of W."""
        return np.array([level.slope for level in self.noise]) * self._own[1:] ** 2

    @cached_property
    def _kept(self) -> Floats:
        """What of the level above's K reaches level 2..h, at most."""
        inference = self.inference
        keep = 1 - np.array(inference.own[1:-1])
        ragged = min(inference.tree.last_ragged, keep.size)
        keep[:ragged] = np.maximum(keep[:ragged], 1 - np.array(inference.edge_own[1 : ragged + 1]))
        return keep

    @cached_property
    def _tails(self) -> Floats:
        """What K^2 of a node of level 2..h that no end cuts costs at its level and all below."""
        tails = self._rates.copy()
        for level in range(tails.size - 2, -1, -1):
            tails[level] += self._kept[level + 1] ** 2 * tails[level + 1]
        return tails

    @cached_property
    def _weights(self) -> tuple[Floats, Nodes, Floats]:
        """By prefix (columns): the weighted windows, which of them hold each unit, and the weight below each unit."""
        crown, noise = self.top.crown, self.top.noise
        rates = np.repeat([level.slope for level in noise], crown.sizes)
        of_windows = (np.sqrt(rates) * crown.precisions)[:, None] * (crown.design @ self.top.prefixes)
        windows = np.array(crown.windows) + np.cumsum([0, *crown.sizes[:-1]])[:, None]
        tail = self._kept[0] ** 2 * self._tails[0] if self.noise else 0.0
        return of_windows, windows.astype(np.int64), np.sqrt(tail) * self.top.coefficients

    def _norm(self, left: Nodes, right: Nodes) -> Floats:
        """The root of the largest sum over the units, for the units between two cuts; four pairs of cuts a range.

        Whether the table is looked up or a few of its entries are computed depends on nothing but their number: the
        same question has the same answer, to the last digit, whatever was asked before.
        """
        if left.shape[1] > _ONE_BY_ONE:
            return self._norms[left, right]
        of_windows, windows, below = self._weights
        squares = ((of_windows[:, right] - of_windows[:, left]) ** 2)[windows].sum(axis=0)
        squares += (below[:, right] - below[:, left]) ** 2
        return np.sqrt(squares.max(axis=0))

    @cached_property
    def _norms(self) -> Floats:
        """`_norm` of all pairs of cuts, shape (units + 1, units + 1)."""
        crown = self.top.crown
        of_windows, windows, below = self._weights
        largest = np.zeros((crown.units + 1, crown.units + 1))
        with in_one_thread():
            for unit in range(crown.units):
                weights = np.vstack([of_windows[windows[:, unit]], below[unit]])
                alone, one = np.sum(weights**2, axis=0), np.ones(crown.units + 1)
                # |a - b|^2 as a product: a'a + b'b - 2 a'b
                squares = np.vstack([weights, alone, one]).T @ np.vstack([-2 * weights, one, alone])
                np.maximum(largest, squares, out=largest)
        return np.sqrt(largest)

    def of_ranges(self, node: Floats, part: Floats, q: Floats, pulls: Floats) -> Floats:
        """Between two prefixes, of which all arrays have one row each: the nodes that they cut on level 1..h, what the
        prefixes hold of the cut units, what the range holds of the cut nodes, and the pulls of level 1..h-1.
        """
        (left, right), (x, y) = node[0].astype(np.int64), part
        corners = self._norm(np.stack([left, left, left + 1, left + 1]), np.stack([right, right + 1, right, right + 1]))
        low, high = corners[0] * (1 - y) + corners[1] * y, corners[2] * (1 - y) + corners[3] * y
        cut = part > 0
        cut |= (left == right) & cut[::-1]
        below: Floats = np.where(cut, self._below_cuts(node, q, pulls), 0.0).max(axis=0)
        return (low * (1 - x) + high * x) ** 2 + below

    def _below_cuts(self, node: Floats, q: Floats, pulls: Floats) -> Floats:
        """The largest sum over level 2..h under the cut units: the cut cell's own, or a cell's that leaves its path."""
        tree = self.inference.tree
        path, largest = np.zeros(q.shape[1:]), np.zeros(q.shape[1:])
        for level, (pull, rate, tail) in enumerate(zip(pulls, self._rates, self._tails, strict=True), start=1):
            above, fanout = node[level - 1], tree.fanouts[level]
            child = node[level] - fanout * above
            last = np.where(above == tree.nodes[level] - 1, tree.edge_children[level], fanout) - 1
            outside, inside = np.stack([child[0] > 0, child[1] < last[1]]), np.stack([child[0] < last[0], child[1] > 0])
            together = above[0] == above[1]
            outside |= together & outside[::-1]
            inside = np.where(together, child[1] - child[0] > 1, inside)
            beside = np.maximum(outside * pull**2, inside * (pull + 1) ** 2)
            largest = np.maximum(largest, path + tail * beside)
            path += rate * (pull + q[level]) ** 2
        return np.maximum(largest, path)
