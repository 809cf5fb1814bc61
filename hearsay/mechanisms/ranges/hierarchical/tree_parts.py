"""Ranges on a tree without consistency: the sum of the raw estimates of the fewest nodes that make up the range.

On each level these are the nodes inside the range whose parent is not: at most 2(B - 1), in one run at either end of
the range. The whole domain is the root, whose share is 1.  Kulkarni 5.3

Variance  In the formula of `level_noise` every weight W is 0 or 1, so sum W^2 = N is the number of nodes, and
          sum W^2 f = m is their share. There are no pairs P: without consistency no oracle uses own counts.
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
    """Raw shares of level 1..h as cumulative sums: `before[level - 1][u]` is the sum over the nodes before node u."""

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
        # On a ragged tree the last cell may be a whole node of a higher level; `answer` takes that node's estimate.
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
            # Nodes low..high-1 lie inside the range; middle_low..middle_high-1 of them have a parent inside it.
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
        return any(level.has_few_reports() for level in self.noise)

    def sensitivity(self, x: Ends, y: Ends) -> tuple[Floats | float, Floats | float]:
        """A node counts with weight 1 on whichever level it is."""
        slope = max((each.slope for each in self.noise if each.scale < UNKNOWN), default=0.0)
        return slope, slope / 2

    def _level_variance(self, level: int, count: Floats, share: Floats) -> Floats:
        """Variance of the sum of the estimates of `count` nodes, which together have the given share."""
        noise, share = self.noise[level - 1], np.clip(share, 0.0, 1.0)
        moment = noise.a * count + noise.b * share + noise.c * count**2 + noise.d * count * share
        variance: Floats = noise.scale * (moment - noise.mean * share**2)
        return variance

    def _one_level_only(self, share: Floats) -> Floats:
        """f(1 - f)/n, taken off the sum of the levels' variances: a device answers for one level only."""
        clipped = np.clip(share, 0.0, 1.0)
        return clipped * (1 - clipped) / max(self.reports, 1)

    @cached_property
    def _prefix_values(self) -> Floats:
        return self.cdf().value

    def prefix_values(self) -> Floats:
        return self._prefix_values
