"""Randomised response over g = 2^t buckets: what devices do that hash their value and report the bucket.

Privacy   The bucket has probability p or q = (1-p)/(g-1), with ratio at most e^eps.
Estimate  A character that the bucket shows has its sign with mean c = p - q.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import keep_threshold, log_ratio, probability


def bucket_chances(keep: int, buckets: int) -> tuple[Fraction, Fraction]:
    """p and q of the coin really flipped, which keeps the bucket with `keep` out of 2^64."""
    p = probability(keep)
    return p, (1 - p) / (buckets - 1)


@dataclass(frozen=True)
class BucketCoin(Mechanism):
    """A mechanism that sends a bucket through such a coin."""

    @property
    @abstractmethod
    def buckets(self) -> int:
        """g = 2^t."""

    @cached_property
    def keep(self) -> int:
        """Threshold out of 2^64 of reporting the true bucket."""
        return keep_threshold(self.epsilon, self.buckets)

    @cached_property
    def correlation(self) -> float:
        """c = p - q of the coin really flipped."""
        p, q = bucket_chances(self.keep, self.buckets)
        return float(p - q)

    @property
    def spent_epsilon(self) -> float:
        return log_ratio(*bucket_chances(self.keep, self.buckets))

    def randomise(self, bucket: NDArray[np.uint8], random: Random) -> NDArray[np.uint8]:
        """Randomised response: each bucket itself with probability p, or any other one with q."""
        lie = ~random.bernoulli(self.keep, bucket.size)
        shift = random.narrow_below(self.buckets - 1, bucket.size) + np.uint8(1) if self.buckets > 2 else np.uint8(1)
        return np.where(lie, (bucket + shift) & np.uint8(self.buckets - 1), bucket).astype(np.uint8, copy=False)
