"""Means over ranges of ordered keys: a tree whose nodes count both signs (Kulkarni 7.1.2).

Device    Sample one pair of the set padded to l (`padding`; 1 if all devices hold one pair), and round its value to a
          sign. Draw a level of the tree, the root included, and report the pair's (node, sign) by the oracle of the
          level. A dummy is one more cell.
Privacy   That of the oracle: the choice of pair and level spends nothing, and a device reports once.
Estimate  A range is a union of as few nodes as possible. With plus and minus the sums of their estimated shares, the
          share of the range is F = l (plus + minus), and its total S = l (plus - minus).
Variance  The oracle's moments give the variance of any weighted sum of a level's cells; Cov(F, S) = l^2 [Var plus -
          Var minus]. Means by Fieller. A device counts once for each of its pairs in the range.
Few       With few reports in a level the estimated variance is itself uncertain. Intervals of shares then use the
          variance at the share that is tested (`intervals.leaning`). The interval of a mean m also includes every m
          that is not rejected with the variance under m: with weights 1 - m on plus and -1 - m on minus,
          sum w^2 f = F/l (1 - m^2), where F is taken at its upper limit, with a continuity correction of half a report.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.charts import Chart
from hearsay.mechanisms.estimates.estimate import Estimate, Floats, Measured, Points
from hearsay.mechanisms.estimates.intervals import leaning
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.key_value.domain import KeyValue
from hearsay.mechanisms.key_value.estimate import first_questions, following, key_charts, stored
from hearsay.mechanisms.key_value.fieller import Ratio, hull
from hearsay.mechanisms.key_value.padding import PADDING, PaddedSets, padded_signs, sample_padded
from hearsay.mechanisms.key_value.queries import KeyMeans
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.options import integer
from hearsay.mechanisms.oracles.grr import GRR
from hearsay.mechanisms.oracles.linear_hashing import OLH
from hearsay.mechanisms.oracles.oracle import FrequencyOracle, Moments
from hearsay.mechanisms.ranges.hierarchical.tree import UNKNOWN, Tree
from hearsay.mechanisms.ranges.level_mechanism import ByLevel
from hearsay.mechanisms.ranges.level_noise import level_shares
from hearsay.mechanisms.ranges.levels import SampledLevels, cumulative_thresholds

Ends = NDArray[np.int64]


@dataclass(frozen=True)
class Level:
    """The estimates of a level: cumulative shares of plus and of minus before each node, and their noise."""

    plus: Floats
    minus: Floats
    reports: int
    moments: Moments

    def variance(self, square: Floats, square_f: Floats, total: Floats, mean: Floats) -> Floats:
        """The variance of a weighted sum of cells, for devices that are a sample.

        The arguments are the sums over the cells of w^2, w^2 f, w and w f.
        """
        square_f = np.clip(square_f, 0.0, 1.0)
        limit = np.sqrt(square_f)
        mean = np.clip(mean, -limit, limit)
        m = self.moments
        moment = m.a * square + m.b * square_f + m.c * total**2 + m.d * total * mean - mean**2
        return moment / self.reports if self.reports else np.where(square > 0, UNKNOWN, 0.0)

    def steepest(self, count: Floats) -> Floats:
        """The largest derivative of the variance of the share of `count` nodes by that share."""
        rise = self.moments.b + 2 * count * self.moments.d
        return np.maximum(np.abs(rise), np.abs(rise - 2)) / max(self.reports, 1)


class RangeParts(NamedTuple):
    """Shares and totals of ranges, and sums over the levels that a range has nodes of."""

    ratio: Ratio
    known: NDArray[np.bool_]  # whether all these levels have reports
    slope: Floats  # the largest derivative of a level's variance of the share by the share
    noise: Floats  # sum of 2 a nodes/reports: the variance of the total of a range without devices, over l^2
    skew: Floats  # sum of 4 c nodes^2/reports


@dataclass(frozen=True)
class RangeMeanEstimate(Estimate, Points, KeyMeans):
    """Shares and means of any range of keys."""

    domain: KeyValue
    reports: int
    tree: Tree
    levels: tuple[Level, ...]
    length: int

    def ratios(self, low: Ends, high: Ends) -> Ratio:
        """Shares and totals of the pairs with a key in low..high."""
        return self.parts(low, high).ratio

    def parts(self, low: Ends, high: Ends) -> RangeParts:
        """The parts of the ranges low..high, both ends included."""
        x, y = low, high + 1
        plus, minus, slope, noise, skew = (np.zeros(x.size) for _ in range(5))
        share_variance, total_variance, covariance = (np.zeros(x.size) for _ in range(3))
        known = np.ones(x.size, dtype=np.bool_)
        above_low = above_high = np.zeros(x.size, dtype=np.int64)
        for depth, level in enumerate(self.levels):
            span, nodes = self.tree.spans[depth], self.tree.nodes[depth]
            first, last = -(-x // span), np.where(y == self.tree.size, nodes, y // span)
            last = np.maximum(first, last)
            covered, fanout = above_high > above_low, self.tree.fanouts[depth - 1] if depth else 1
            inner_low = np.where(covered, above_low * fanout, last)
            inner_high = np.where(covered, np.minimum(above_high * fanout, nodes), last)
            count = ((inner_low - first) + (last - inner_high)).astype(np.float64)
            p, m = (sign[inner_low] - sign[first] + sign[last] - sign[inner_high] for sign in (level.plus, level.minus))
            plus, minus = plus + p, minus + m
            share_variance += level.variance(2 * count, p + m, 2 * count, p + m)
            total_variance += level.variance(2 * count, p + m, np.zeros(x.size), p - m)
            covariance += level.variance(count, p, count, p) - level.variance(count, m, count, m)
            known &= (count == 0) | (level.reports > 0)
            slope = np.maximum(slope, np.where(count > 0, level.steepest(count), 0.0))
            noise += 2 * level.moments.a * count / max(level.reports, 1)
            skew += 4 * level.moments.c * count**2 / max(level.reports, 1)
            above_low, above_high = first, last
        scale = self.length
        ratio = Ratio(
            scale * (plus + minus),
            scale * (plus - minus),
            scale**2 * share_variance,
            scale**2 * total_variance,
            scale**2 * covariance,
        )
        return RangeParts(ratio, known, slope, noise, skew)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return stored(self.points(np.arange(self.domain.size)), self.means, self.domain)

    def headline(self) -> tuple[str, ...]:
        return first_questions(self.domain)

    def charts(self) -> tuple[Chart, ...]:
        return key_charts(self.domain)

    def points(self, keys: Ends) -> Measured:
        """Shares of devices that hold single keys."""
        return self._shares(self.parts(keys, keys))

    def _shares(self, parts: RangeParts) -> Measured:
        """Shares of devices: the interval of the share of sampled pairs, F/l, multiplied by l."""
        ratio, scale = parts.ratio, self.length
        stderr = np.sqrt(np.maximum(ratio.share_variance, 0.0)) / scale
        stderr = np.where(parts.known, np.maximum(stderr, 1 / max(self.reports, 1)), np.inf)
        interval = leaning(ratio.share / scale, stderr, parts.slope, parts.slope / 2, self.z)
        low, high = (
            np.where(parts.known, scale * end, whole) for end, whole in zip(interval.ends(), (0.0, 1.0), strict=True)
        )
        return Measured(ratio.share, scale * interval.stderr, low, high)

    def _means(self, low: Ends, high: Ends) -> Measured:
        """Means of ranges of keys."""
        parts = self.parts(low, high)
        ratio, scale = parts.ratio, self.length
        sampling = parts.slope * np.clip(self._shares(parts).ends()[1] / scale, 0.0, 1.0)
        under_mean = (parts.noise + sampling, np.zeros(low.size), np.maximum(parts.noise + parts.skew - sampling, 0.0))
        ends = hull(
            ratio.share,
            ratio.total,
            [
                (ratio.total_variance, ratio.covariance, ratio.share_variance),
                (under_mean[0] * scale**2, under_mean[1], under_mean[2] * scale**2),
            ],
            scale * parts.slope,
        )
        least, most = (np.where(parts.known, end, whole) for end, whole in zip(ends, (-1.0, 1.0), strict=True))
        stderr = np.where(parts.known, following(ratio.stderr(), least, most), np.inf)
        return Measured(ratio.mean(), stderr, least, most)

    def range_means(self, low: int, high: int) -> Measured:
        """The mean value of all pairs in low..high, in -1..1."""
        return self._means(np.array([low]), np.array([high]))

    @cached_property
    def means(self) -> Measured:
        """The mean of every key."""
        keys = np.arange(self.domain.size)
        value, stderr, low, high = (part[:, None] for part in self._means(keys, keys) if part is not None)
        return Measured(value, stderr, low, high)


@dataclass(frozen=True)
class RangeMeans(PaddedSets, ByLevel):
    """Reports of a level, a node and a sign."""

    ESTIMATE: ClassVar[type[RangeMeanEstimate]] = RangeMeanEstimate
    ID = "hierarchical"
    SUMMARY = "means over ranges of ordered keys: a tree of histograms with both signs"
    OPTIONS = (integer("fanout", 4, 2, 1 << 10, "children of a node"), *PADDING)
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "epsilon": 1.5,
            "domain": {"kind": "key-value", "keys": 5, "ordered": True, "pairs": 1},
            "options": {"fanout": 2},
        },
    )

    def check(self) -> None:
        if not self.domain.ordered or self.domain.dimensions != 1:
            raise SpecificationError(
                what="domain", expected="ordered, with one value a pair, for hierarchical on key-value data"
            )

    @cached_property
    def tree(self) -> Tree:
        return Tree.regular(self.domain.size, self.options["fanout"])

    @cached_property
    def levels(self) -> SampledLevels:
        """The oracles of all levels; the first is the root's."""
        oracles: list[FrequencyOracle] = []
        for nodes in self.tree.nodes:
            small = GRR.over(2 * nodes + 1, self.epsilon)
            large = OLH.over(2 * nodes + 1, self.epsilon)
            oracles.append(small if small.moments.a < large.moments.a else large)
        return SampledLevels(tuple(oracles), cumulative_thresholds([Fraction(1)] * len(oracles)))

    def _cell(self, level: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cell of 2 key + sign (-1 for a dummy) in a level, where level 1 is the root."""
        nodes = self.tree.nodes[level - 1]
        cells = 2 * (pairs // 2 // self.tree.spans[level - 1]) + pairs % 2
        return np.where(pairs < 0, 2 * nodes, cells)

    def perturb(self, values: Any, random: Random) -> Reports:
        pairs = self.domain.check(values)
        key, pair = sample_padded(pairs, self.length, self.domain.size, random)
        plus = padded_signs(pairs, pair, 0, random)
        return self.levels.perturb(np.where(pair >= 0, 2 * key + plus, -1), self._cell, random)

    def estimate(self, state: State) -> RangeMeanEstimate:
        levels, counts = [], self.levels.counts(state)
        for number, (oracle, count) in enumerate(zip(self.levels.oracles, counts, strict=True), start=1):
            shares = level_shares(oracle, self.levels.state(state, number), own_counts=False)[:-1].reshape(-1, 2)
            minus, plus = (np.concatenate([[0.0], np.cumsum(shares[:, sign])]) for sign in (0, 1))
            levels.append(Level(plus, minus, count, oracle.moments))
        return RangeMeanEstimate(self.domain, sum(counts), self.tree, tuple(levels), self.length)

    def channel(self) -> NDArray[np.float64]:
        """Rows: `domain.every_set` with signs for values."""
        sets = self.domain.every_set(2)
        single = self.levels.channel(np.arange(-1, 2 * self.domain.size), self._cell)
        rows = []
        for number in range(len(sets)):
            one = sets[number : number + 1]
            length = max(self.length, len(one.keys))
            chosen = 1 + 2 * one.keys + (one.values[:, 0] > 0)
            rows.append((single[chosen].sum(axis=0) + (length - len(chosen)) * single[0]) / length)
        return np.array(rows)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        each = reports / len(self.levels.oracles)
        deepest, root = self.levels.oracles[-1].moments, self.levels.oracles[0].moments
        return {
            "point": self.length * float(np.sqrt(2 * (deepest.a + deepest.c) / each)),
            "mean": self.length * float(np.sqrt((2 * root.a + root.b) / each)),
        }
