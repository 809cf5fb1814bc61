"""Generalised randomised response: the true value with probability p, each other value with probability q.

Device    Tell the truth with probability t = p - q, else report a value drawn from all D, the true one included.
Privacy   q = (1-t)/D and p/q = 1 + t D/(1-t) <= e^eps with t = (e-1)/(e-1+D), rounded down to a multiple of 2^-64; so
          p = e^eps/(e^eps + D - 1).
Estimate  f = (count/n - q)/(p - q), unbiased.
Variance  [f p(1-p) + (1-f) q(1-q)]/(n (p-q)^2); weighted sums of cells by `moments`.        Kulkarni 2.4.2

The best oracle while D < 3 e^eps + 2; its error grows with the domain.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Values
from hearsay.mechanisms.exact.randomness import WORD, Random
from hearsay.mechanisms.exact.thresholds import down, exponential, log_ratio, probability
from hearsay.mechanisms.layout import Reports, by_parts, smallest_unsigned
from hearsay.mechanisms.oracles.oracle import HitOracle, Moments
from hearsay.mechanisms.oracles.output_histogram import OutputHistogram
from hearsay.mechanisms.portable import Node, value_coin


@dataclass(frozen=True)
class GRR(OutputHistogram, HitOracle):
    """A cell is hit when it is the reported one."""

    ID = "grr"
    OUTPUT, HITS = "value", "hist"
    SUMMARY = "generalised randomised response: the value itself or a random other one; best for few values"
    EXAMPLES = (
        {"epsilon": 1.1, "domain": {"kind": "categorical", "size": 5}},
        {"epsilon": 0.7, "domain": {"kind": "grid", "sizes": [2, 3]}},
        {"epsilon": 2.0, "domain": {"kind": "binary", "categories": ["no", "yes"]}},
    )

    @cached_property
    def truth(self) -> int:
        """Threshold out of 2^64 of telling the truth whatever the draw."""
        gain = exponential(self.epsilon) - 1
        return min(down(gain / (gain + self.domain.size)), WORD - 1)

    def _exact(self) -> tuple[Fraction, Fraction]:
        t = probability(self.truth)
        q = (1 - t) / self.domain.size
        return t + q, q

    def hit_chances(self) -> tuple[float, float, float]:
        p, q = self._exact()
        return float(p), float(q), float(p - q)

    @property
    def spent_epsilon(self) -> float:
        return log_ratio(*self._exact())

    @property
    def outputs(self) -> int:
        return self.domain.size

    def perturb(self, values: Values, random: Random) -> Reports:
        return by_parts(lambda cells: {"value": self.randomise(cells, random)}, self.domain.flatten(values))

    def randomise(self, cells: NDArray[np.integer[Any]], random: Random) -> NDArray[Any]:
        """Each cell itself, or one drawn from all. The cells are not checked: a mechanism has made them itself."""
        size = self.domain.size
        drawn = random.narrow_below(size, cells.size)
        sent = np.where(random.bernoulli(self.truth, cells.size), cells.astype(drawn.dtype), drawn)
        return sent.astype(smallest_unsigned(size), copy=False)

    def portable(self) -> Node:
        return value_coin(self.domain.size, self.truth)

    @cached_property
    def moments(self) -> Moments:
        """The score of weights w is (w_y - q sum w)/(p - q) for the reported cell y."""
        _, q, gap = self.hit_chances()
        return Moments(a=q / gap**2, b=1 / gap, c=-((q / gap) ** 2), d=-2 * q / gap)

    def range_span(self, x: int, y: int) -> float:
        """A report hits one cell."""
        return 1 / self.hit_chances()[2]

    def channel(self) -> NDArray[np.float64]:
        p, q, _ = self.hit_chances()
        table = np.full((self.domain.size, self.domain.size), q)
        np.fill_diagonal(table, p)
        return table
