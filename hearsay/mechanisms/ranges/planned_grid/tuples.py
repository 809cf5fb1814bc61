"""Least squares on all tuples of levels at once, with the total known to be 1.

A tuple t has B_t boxes of s_t leaves, each estimated with variance V_t; A_t sums leaves to boxes. H = sum of A'A/V is
what is known about the leaves. All A'A are diagonal in the same directions, since every node of an axis' level has as
many leaves: on what the levels i = (i1, i2, ...) add, D_i (`sweeps`), A'A is s_t where t is nowhere coarser than i and
0 elsewhere. So the best estimate needs no matrix:

    f = 1/leaves + sum over i != roots of L_i D_i sum_t A'y/V,    L_i = 1/(sum over t >= i of m_t),   m_t = s_t/V_t,

and a query q on the leaves gives the boxes of t the weights W = m_t sum over i <= t, i != roots, of L_i D_i q, whose
sum is 0. What no report tells anything about has L = 0: it stays as if evenly filled, and its variance is unknown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.ranges.hierarchical.tree import UNKNOWN
from hearsay.mechanisms.ranges.level_noise import LevelNoise
from hearsay.mechanisms.ranges.planned_grid.sweeps import Levels, blended, falls, spread_over, sums_from


@dataclass(frozen=True)
class TupleInference:
    """The tuples that are asked, with the noise of each, on axes of the given heights."""

    heights: Levels
    asked: tuple[Levels, ...]
    noise: tuple[LevelNoise, ...]

    @cached_property
    def spans(self) -> Floats:
        """s of every tuple."""
        spans = np.ones(())
        for height in self.heights:
            spans = np.multiply.outer(spans, 2.0 ** np.arange(height, -1, -1))
        return spans

    @property
    def leaves(self) -> float:
        return float(self.spans.flat[0])

    def table(self, values: Sequence[float]) -> Floats:
        """A number for every tuple that is asked, in a table with 0 for the others."""
        table = np.zeros(self.spans.shape)
        for levels, value in zip(self.asked, values, strict=True):
            table[levels] = value
        return table

    @cached_property
    def information(self) -> Floats:
        """m of every tuple; 0 where there is no report."""
        boxes = self.leaves / self.spans
        return self.spans * self.table(
            [
                1 / noise.contrast_variance(int(boxes[levels])) if noise.scale < UNKNOWN else 0.0
                for levels, noise in zip(self.asked, self.noise, strict=True)
            ]
        )

    @cached_property
    def inverse(self) -> Floats:
        """L of every tuple."""
        total = sums_from(self.information)
        inverse: Floats = np.divide(1.0, total, out=np.zeros(total.shape), where=total > 0)
        inverse.flat[0] = 0.0
        return inverse

    @cached_property
    def unknown(self) -> Floats:
        """1 for the levels about which no report tells anything."""
        unknown = (self.inverse == 0).astype(np.float64)
        unknown.flat[0] = 0.0
        return unknown

    def of_squares(self, coefficients: Sequence[float]) -> Floats:
        """The table G with: sum over t of coefficient_t sum W^2 = sum over i of G_i sum (D_i q)^2, sums over leaves."""
        each = self.table(coefficients) * self.information**2 / self.spans
        table: Floats = self.inverse**2 * sums_from(each)
        return table

    def shares(self, estimates: Sequence[Floats]) -> Floats:
        """The estimate of every leaf from those of all tuples' boxes, each a tensor of one number a box."""
        blocks = [
            (levels, self.information[levels] / self.spans[levels] * boxes)
            for levels, boxes in zip(self.asked, estimates, strict=True)
        ]
        leaves = blended(spread_over(blocks, self.heights), falls(self.inverse))
        leaves += 1 / self.leaves
        return leaves
