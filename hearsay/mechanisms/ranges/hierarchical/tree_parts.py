"""Ranges on a tree without consistency: the sum of the raw estimates of the fewest nodes that make up the range.

At most 2(B - 1) nodes a level, in two runs: those inside the range whose parent is not. Each has weight 1, so the sums
that a level's noise needs are a count and a share. The whole domain is the root, which is known.  Kulkarni 5.3
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.ranges import Ends, RangeEstimate, standard_error
from hearsay.mechanisms.ranges.hierarchical.tree import UNKNOWN, Tree
from hearsay.mechanisms.ranges.level_noise import LevelNoise


@dataclass(frozen=True)
class PartsEstimate(RangeEstimate):
    """Raw shares of every level: `before` has the share before each node of level 1..h."""

    tree: Tree
    noise: tuple[LevelNoise, ...]
    before: tuple[Floats, ...]

    @classmethod
    def of(
        cls, domain: Cells, reports: int, tree: Tree, noise: tuple[LevelNoise, ...], raw: list[Floats]
    ) -> "PartsEstimate":
        """From the raw estimates of level 1..h."""
        before = tuple(np.concatenate([[0.0], np.cumsum(shares)]) for shares in raw)
        cells = raw[-1].copy()
        made = cls(domain, reports, cells, np.zeros(0), tree, noise, before)
        variance = made._level_variance(tree.height, np.ones(cells.size), cells) - made._one_level_only(cells)
        # The last cell may be all there is of a larger node, whose level has better things to say about it.
        end = np.array([domain.size], dtype=np.int64)
        cells[-1:], variance[-1:] = made.answer(end - 1, end)
        return replace(made, stderr=standard_error(variance, reports))

    def answer(self, x: Ends, y: Ends) -> tuple[Floats, Floats]:
        tree = self.tree
        value, variance = np.zeros(x.size), np.zeros(x.size)
        whole = y - x == tree.size
        above_low, above_high = np.zeros(x.size, dtype=np.int64), whole.astype(np.int64)
        for level in range(1, tree.height + 1):
            span, fanout, nodes = tree.spans[level], tree.fanouts[level - 1], tree.nodes[level]
            low, high = -(-x // span), np.where(y == tree.size, nodes, y // span)
            high = np.maximum(low, high)
            covered = above_high > above_low
            middle_low = np.where(covered, above_low * fanout, high)
            middle_high = np.where(covered, np.minimum(above_high * fanout, nodes), high)
            before = self.before[level - 1]
            count = (middle_low - low) + (high - middle_high)
            share = before[middle_low] - before[low] + before[high] - before[middle_high]
            value += share
            variance += self._level_variance(level, count.astype(np.float64), share)
            above_low, above_high = low, high
        value[whole] = 1.0
        return value, variance - self._one_level_only(value)

    @property
    def few_reports(self) -> bool:
        return any(level.is_few() for level in self.noise)

    def sensitivity(self, x: Ends, y: Ends) -> tuple[Floats | float, Floats | float]:
        """A node counts with weight 1 on whichever level it is."""
        slope = max((each.slope for each in self.noise if each.scale < UNKNOWN), default=0.0)
        return slope, slope / 2

    def _level_variance(self, level: int, count: Floats, share: Floats) -> Floats:
        """Of the sum of `count` nodes with the given share."""
        noise, share = self.noise[level - 1], np.clip(share, 0.0, 1.0)
        moment = noise.a * count + noise.b * share + noise.c * count**2 + noise.d * count * share
        variance: Floats = noise.scale * (moment - noise.mean * share**2)
        return variance

    def _one_level_only(self, share: Floats) -> Floats:
        clipped = np.clip(share, 0.0, 1.0)
        return clipped * (1 - clipped) / max(self.reports, 1)

    @cached_property
    def _prefix_values(self) -> Floats:
        return self.cdf().value

    def prefix_values(self) -> Floats:
        return self._prefix_values
