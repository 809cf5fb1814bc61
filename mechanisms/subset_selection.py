"""Subset selection: w of the D cells, the true one among them with a raised probability.

Device    With probability p the subset holds the true cell and w-1 others, else w others; the others are uniform.
Privacy   A subset has probability p/C(D-1, w-1) if it holds the true cell and (1-p)/C(D-1, w) if not: the ratio
          p(D-w)/((1-p)w) <= e^eps with p = w e/(w e + D - w), rounded down to a multiple of 2^-64.
Estimate  f = (hits/n - q)/(p - q), q = (p(w-1) + (1-p)w)/(D-1), the chance that another cell is in the subset.
Variance  the p, q form of the other oracles; weighted sums by `moments`.   Ye and Barg 2018; Wang et al. 2016

The best oracle for small domains with w = D/(e+1), rounded, at least 1; w = 1 is generalised randomised response.
"""

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN
from fractions import Fraction
from functools import cached_property
from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

from mechanisms.base import Values
from mechanisms.layout import Reports
from mechanisms.oracle import Moments
from mechanisms.randomness import WORD, Random
from mechanisms.registry import register
from mechanisms.thresholds import exponential, log_ratio, probability
from mechanisms.unary import BitOracle, set_bits

_SPARE_DEVIATIONS = 1.3  # how far below the wanted size a first draw aims: few redraws against few cells to add


@register
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
        return max(1, int((self.domain.size / (exponential(self.epsilon) + 1)).to_integral_value(ROUND_HALF_EVEN)))

    @cached_property
    def include(self) -> int:
        """Threshold out of 2^64 of naming the true cell."""
        named = Fraction(exponential(self.epsilon)) * self.chosen
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
        include = random.bernoulli(self.include, cells.size)
        bits = _uniform_subsets(self.chosen - include.astype(np.int64), self.domain.size, cells, random)
        set_bits(bits, cells, include)
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


def _uniform_subsets(
    wanted: NDArray[np.int64], width: int, without: NDArray[np.int64], random: Random
) -> NDArray[np.uint8]:
    """For every row a uniform subset of `wanted` cells that does not hold the cell `without`, as packed bits.

    Independent equal coins make, given how many came up, a uniform subset of that size. So draw coins a little below
    the wanted density, draw rows with too many again, and fill the others up with uniform cells, as many as are
    missing, until none is. Every step treats all cells but one alike, so all subsets of the wanted size stay equally
    likely, whatever the density; and it costs little more than the coins.
    """
    density = float(wanted.max(initial=0)) / width
    aim = max(0.0, density - _SPARE_DEVIATIONS * sqrt(density * (1 - density) / width))
    threshold = int(aim * 4096) << 52  # any density is right; one of twelve digits needs fewer random bits
    nobody = np.zeros(len(wanted), dtype=bool)
    packed = np.empty((len(wanted), (width + 7) // 8), dtype=np.uint8)
    missing = np.full(len(wanted), -1, dtype=np.int64)

    def settle(rows: NDArray[np.intp]) -> None:
        part = packed[rows]
        set_bits(part, without[rows], nobody[rows])
        packed[rows] = part
        missing[rows] = wanted[rows] - np.bitwise_count(part).sum(axis=1, dtype=np.int64)

    while (full := np.flatnonzero(missing < 0)).size:
        packed[full] = random.bits(threshold, full.size, width)
        settle(full)
    while (lacking := np.flatnonzero(missing)).size:
        rows = np.repeat(lacking, missing[lacking])
        cell = random.below(width, rows.size).astype(np.intp)
        bit = np.uint8(1) << (cell & 7).astype(np.uint8)
        np.bitwise_or.at(packed.reshape(-1), rows * packed.shape[1] + (cell >> 3), bit)
        settle(lacking)
    return packed
