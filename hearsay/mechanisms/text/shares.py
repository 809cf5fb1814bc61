"""Shares of whole texts, from the reports to question 0."""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats, Measured
from hearsay.mechanisms.estimates.intervals import Spread, between, score
from hearsay.mechanisms.text.bucket_oracle import BucketOracle
from hearsay.mechanisms.text.code import Octets
from hearsay.mechanisms.text.hashing import LevelHash

_LISTED_FROM = 5.5  # standard errors: texts with a larger share are nearly always listed


@dataclass(frozen=True)
class WholeTexts:
    """The share of every bucket of question 0, which `asked` of `reports` devices answered."""

    hash: LevelHash
    buckets: Floats
    asked: int
    reports: int
    spread: Spread  # n Var of a share without collisions
    step: float  # by how much one report changes a share, times `reports`
    skew: float  # skewness of the estimated share of a rare text

    @classmethod
    def of(cls, oracle: BucketOracle, buckets: Floats, asked: int, hashed: LevelHash, reports: int) -> "WholeTexts":
        """From `buckets`, the share of every bucket as estimated from `asked` reports."""
        K = oracle.domain.size
        most = K / (K - 1)
        part = reports / asked if asked else inf  # about G + 1
        constant, at_one = oracle.moments.variance(np.array([0.0, 1.0])).tolist()
        slope = at_one - constant
        # A bucket's share is 1/K + f/most. `sampled` is its binomial variance: only a sample of the devices is asked.
        noise = Spread(most**2 * (constant + slope / K), most * slope)
        sampled = Spread(most / K, most * (1 - 2 / K), -1.0)
        spread = Spread(*(part * a + (part - 1) * b for a, b in zip(noise, sampled, strict=True))) if asked else noise
        score_step = most * oracle.step
        return cls(
            hashed,
            buckets,
            asked,
            reports,
            spread,
            score_step * part if asked else score_step,
            _skewness(most**2 * (constant + slope / K), score_step, asked),
        )

    def values(self, codes: Octets) -> Floats:
        """The estimated share of every text: its bucket's share, corrected for the expected share of other texts."""
        K = self.hash.buckets
        return (self.buckets[self.hash(codes)] - 1 / K) * (K / (K - 1))

    def measured(self, codes: Octets, collisions: Floats) -> Measured:
        """Shares with intervals. `collisions` is the variance that other texts in the same buckets add."""
        value = self.values(codes)
        if not self.asked:
            return Measured(np.zeros(len(value)), np.full(len(value), inf), np.zeros(len(value)), np.ones(len(value)))
        spread = self._with(collisions)
        stderr = np.sqrt(spread(np.clip(value, 0.0, 1.0)) / self.reports)
        return between(value, stderr, *score(value, [spread], self.reports, self.step))

    def above_zero(self, codes: Octets, collisions: Floats, z: float) -> NDArray[np.bool_]:
        """For which texts the score interval of z standard errors is above 0.

        If few reports name the bucket of a text that no device has, its estimate is skewed: the limit z is corrected
        for skewness (Cornish and Fisher 1938).
        """
        value = self.values(codes)
        if not self.asked:
            return np.zeros(len(value), dtype=bool)
        limit = z + (z**2 - 1) * self.skew / 6
        stderr_of_zero = np.sqrt(self._with(collisions)(0.0) / self.reports)
        return np.asarray(value - self.step / (2 * self.reports) > limit * stderr_of_zero)

    @property
    def unlisted_variance(self) -> float:
        """A bound on the variance that unlisted texts add to a bucket: the sum of their squared shares over K - 1.

        Their shares sum to at most one, and each is at most 5.5 standard errors, since texts with larger shares are
        nearly always listed. So their squares sum to at most 5.5 standard errors.
        """
        if not self.asked:
            return 1.0
        largest = _LISTED_FROM * sqrt(float(self.spread(0.0)) / self.reports)
        return min(largest, 1.0) / (self.hash.buckets - 1)

    def _with(self, collisions: Floats) -> Spread:
        constant, linear, square = self.spread
        return Spread(constant + self.reports * collisions, linear, square)


def _skewness(variance: float, step: float, reports: int) -> float:
    """The skewness of a mean of scores with two values that differ by `step`. One has the small chance q.

    A score has variance q(1-q) step^2 and skewness (1-2q)/sqrt(q(1-q)).
    """
    if not reports:
        return 0.0
    product = min(variance / step**2, 0.25)  # q(1-q)
    return sqrt(1 - 4 * product) / sqrt(product * reports)
