"""Subset selection: w of the D cells, the true one among them with a raised probability.

Device    Draw w-1 uniform others; add the true cell with probability p, else one more of the others.
Privacy   A subset has probability p/C(D-1, w-1) if it holds the true cell and (1-p)/C(D-1, w) if not: the ratio
          p(D-w)/((1-p)w) <= e^eps with p = w e/(w e + D - w), rounded down to a multiple of 2^-64.
Estimate  f = (hits/n - q)/(p - q), q = (p(w-1) + (1-p)w)/(D-1), the chance that another cell is in the subset.
Variance  the p, q form of the other oracles; weighted sums by `moments`.   Ye and Barg 2018; Wang et al. 2016

The best oracle for small domains with w = D/(e+1), rounded, at least 1; w = 1 is generalised randomised response.
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Values
from hearsay.mechanisms.exact.randomness import WORD, Random
from hearsay.mechanisms.exact.subsets import uniform_subsets
from hearsay.mechanisms.exact.thresholds import exponential, log_ratio, probability
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.oracles.oracle import Moments
from hearsay.mechanisms.oracles.unary import BitOracle, set_bits


@dataclass(frozen=True)
class SubsetSelection(BitOracle):
    """A cell is hit when it is in the reported subset."""

    ID = "ss"
    SUMMARY = "subset selection: a random subset that holds the value more often than not; best for small domains"
    EXAMPLES = (
        {"epsilon": 1.1, "domain": {"kind": "categorical", "size": 6}},
        {"epsilon": 0.5, "domain": {"kind": "ordinal", "size": 11}},
        {"epsilon": 3.0, "domain": {"kind": "categorical", "size": 4}},
    )

    @cached_property
    def chosen(self) -> int:
        """w: how many cells a report names."""
        return max(1, round(self.domain.size / (exponential(self.epsilon) + 1)))

    @cached_property
    def include(self) -> int:
        """Threshold out of 2^64 of naming the true cell."""
        named = exponential(self.epsilon) * self.chosen
        return min(int(WORD * named / (named + self.domain.size - self.chosen)), WORD - 1)

    def hit_chances(self) -> tuple[float, float, float]:
        p = probability(self.include)
        q = (self.chosen - p) / (self.domain.size - 1)  # the subset's size is certain: p + (D-1) q = w
        return float(p), float(q), float(p - q)

    @property
    def spent_epsilon(self) -> float:
        p = probability(self.include)
        return log_ratio(p / self.chosen, (1 - p) / (self.domain.size - self.chosen))

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values)
        # w-1 others, and one more that the true cell takes the place of: the same steps whatever the coin shows.
        bits, one_more = uniform_subsets(self.chosen - 1, self.domain.size, cells, random)
        include = random.bernoulli(self.include, cells.size)
        set_bits(bits, np.where(include, cells, one_more), np.ones(cells.size, dtype=bool))
        return {"bits": bits}

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Exactly w bits are set."""
        return np.bitwise_count(reports["bits"]).sum(axis=1, dtype=np.int64) == self.chosen

    @cached_property
    def moments(self) -> Moments:
        """From the chances that a report names two given cells: the true one and another, or two others."""
        p, q, gap = self.hit_chances()
        size, w = self.domain.size, self.chosen
        with_truth = p * (w - 1) / (size - 1)
        two_others = (p * (w - 1) * (w - 2) + (1 - p) * w * (w - 1)) / ((size - 1) * (size - 2)) if w > 1 else 0.0
        return Moments(
            a=(q - two_others) / gap**2,
            b=(gap - 2 * with_truth + 2 * two_others) / gap**2,
            c=(two_others - q * q) / gap**2,
            d=2 * (with_truth - two_others - q * gap) / gap**2,
        )

    def channel(self) -> NDArray[np.float64]:
        p, _, _ = self.hit_chances()
        size, w = self.domain.size, self.chosen
        strings = self.strings()
        possible = strings.sum(axis=1) == w
        inside, outside = p / comb(size - 1, w - 1), (1 - p) / comb(size - 1, w)
        return np.where(possible, np.where(strings.T, inside, outside), 0.0)
