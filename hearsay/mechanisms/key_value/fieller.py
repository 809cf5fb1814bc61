"""Means as ratios with honest intervals.

A key's mean is m = s/f with s the mean over all devices of [holds the key] x value, and f the share of holders. Both
are estimated with noise. The interval is the set of all m that the data do not contradict,

    |s - m f| <= z se(s - m f),    se^2 = Var s - 2 m Cov(f, s) + m^2 Var f,

cut to -1..1 (Fieller 1954): it keeps its coverage where f is close to 0, where value +- z stderr does not. There it may
be the whole of -1..1: then nothing is known.
"""

from typing import NamedTuple

import numpy as np

from hearsay.mechanisms.estimates.estimate import Z95, Floats


class Ratio(NamedTuple):
    """Share and total of many keys (any shape), with their variances and covariance."""

    share: Floats
    total: Floats
    share_variance: Floats
    total_variance: Floats
    covariance: Floats

    def mean(self) -> Floats:
        """total/share; not a number where no share was found."""
        known = self.share > 0
        return np.where(known, self.total / np.where(known, self.share, 1.0), np.nan)

    def stderr(self) -> Floats:
        """By the delta method at the mean cut to -1..1; not a number where the mean is unknown."""
        known = self.share > 0
        variance = self.variance_at(np.clip(np.nan_to_num(self.mean()), -1.0, 1.0))
        return np.where(known, np.sqrt(np.maximum(variance, 0.0)) / np.where(known, self.share, 1.0), np.nan)

    def variance_at(self, mean: Floats) -> Floats:
        """Var(total - mean share)."""
        return self.total_variance - 2 * mean * self.covariance + mean**2 * self.share_variance

    def interval(self, z: float = Z95) -> tuple[Floats, Floats]:
        """The ends of Fieller's set inside -1..1."""
        square = z * z
        a = self.share**2 - square * self.share_variance
        b = -2 * (self.share * self.total - square * self.covariance)
        c = self.total**2 - square * self.total_variance
        with np.errstate(all="ignore"):
            root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
            first, second = (-b - root) / (2 * a), (-b + root) / (2 * a)
        smaller, larger = np.minimum(first, second), np.maximum(first, second)
        # a > 0: all between the roots. a <= 0: all outside them, so an end of -1..1 stays unless a root shuts it off.
        inner_low, inner_high = np.clip(smaller, -1.0, 1.0), np.clip(larger, -1.0, 1.0)
        with np.errstate(invalid="ignore"):
            outer = b * b - 4 * a * c > 0
            left_open, right_open = smaller >= -1.0, larger <= 1.0
        outer_low = np.where(outer & ~left_open & right_open, inner_high, -1.0)
        outer_high = np.where(outer & ~right_open & left_open, inner_low, 1.0)
        between = a > 0
        low, high = np.where(between, inner_low, outer_low), np.where(between, inner_high, outer_high)
        unknown = ~np.isfinite(a + b + c)
        return np.where(unknown, -1.0, low), np.where(unknown, 1.0, high)
