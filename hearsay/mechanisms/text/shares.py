"""Shares of whole texts, from the devices that were asked about them."""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.estimates.estimate import Floats, Measured
from hearsay.mechanisms.estimates.intervals import Spread, between, score
from hearsay.mechanisms.text.bucket_oracle import BucketOracle
from hearsay.mechanisms.text.code import Octets
from hearsay.mechanisms.text.hashing import LevelHash


@dataclass(frozen=True)
class WholeTexts:
    """The share of every bucket of question 0, from `asked` of `reports` devices."""

    hash: LevelHash
    buckets: Floats
    asked: int
    reports: int
    spread: Spread  # n Var of a share without collisions
    step: float  # what one report of `asked` changes a share by, times `reports`
    skew: float  # of a rare text's share

    @classmethod
    def of(cls, oracle: BucketOracle, state: State, hashed: LevelHash, reports: int) -> "WholeTexts":
        asked, K = oracle.reports(state), oracle.domain.size
        most = K / (K - 1)
        part = reports / asked if asked else inf  # about G + 1
        constant, after = oracle.moments.variance(np.array([0.0, 1.0])).tolist()
        slope = after - constant
        # A bucket's share is 1/K + f/most; `sampled` is its binomial variance, as only a part of the devices is asked.
        noise = Spread(most**2 * (constant + slope / K), most * slope)
        sampled = Spread(most / K, most * (1 - 2 / K), -1.0)
        spread = Spread(*(part * a + (part - 1) * b for a, b in zip(noise, sampled, strict=True))) if asked else noise
        score_step = most * oracle.step
        return cls(
            hashed,
            oracle.shares(state),
            asked,
            reports,
            spread,
            score_step * part if asked else score_step,
            _skewness(most**2 * (constant + slope / K), score_step, asked),
        )

    def values(self, codes: Octets) -> Floats:
        """The estimated share of every text: its bucket's, less what others bring there on average."""
        K = self.hash.buckets
        return (self.buckets[self.hash(codes)] - 1 / K) * (K / (K - 1))

    def measured(self, codes: Octets, squares: float) -> Measured:
        """Shares with intervals; `squares` is the sum of all texts' squared shares, as far as it is known."""
        value = self.values(codes)
        if not self.asked:
            return Measured(np.zeros(len(value)), np.full(len(value), inf), np.zeros(len(value)), np.ones(len(value)))
        spread = self._with_collisions(value, squares)
        stderr = np.sqrt(spread(np.clip(value, 0.0, 1.0)) / self.reports)
        return between(value, stderr, *score(value, [spread], self.reports, self.step))

    def above_zero(self, codes: Octets, squares: float, z: float) -> NDArray[np.bool_]:
        """Which texts' score intervals of z standard errors lie above 0.

        Where a bucket of nobody is named by few reports, its share is skewed: the limit is that of Cornish and Fisher.
        """
        value = self.values(codes)
        if not self.asked:
            return np.zeros(len(value), dtype=bool)
        limit = z + (z**2 - 1) * self.skew / 6
        spread = self._with_collisions(value, squares)
        return np.asarray(value - self.step / (2 * self.reports) > limit * np.sqrt(spread(0.0) / self.reports))

    def _with_collisions(self, value: Floats, squares: float) -> Spread:
        others = np.maximum(squares - np.clip(value, 0.0, 1.0) ** 2, 0.0)
        constant, linear, square = self.spread
        return Spread(constant + others * (self.reports / (self.hash.buckets - 1)), linear, square)


def _skewness(variance: float, step: float, reports: int) -> float:
    """Of a mean of scores that take two values `step` apart: one with the small chance q, variance q(1-q) step^2."""
    if not reports:
        return 0.0
    product = min(variance / step**2, 0.25)  # q(1-q)
    return sqrt(1 - 4 * product) / sqrt(product * reports)
