"""Estimates of a key-value survey: for every key the share of devices that hold it, and the mean of their values.

`share` is the share of holders, `total` the mean over all devices of [holds the key] x value. With their variances and
covariance, means of single keys and of ranges of ordered keys have Fieller's intervals. If a report can name one key
only (pckv-grr), estimates of different keys i and j are correlated: n Cov = -hits_i hits_j.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.charts import Chart
from hearsay.mechanisms.estimates.estimate import Z95, Estimate, Floats, Measured, Points
from hearsay.mechanisms.estimates.intervals import MUCH_WIDER, between
from hearsay.mechanisms.key_value.domain import KeyValue
from hearsay.mechanisms.key_value.fieller import KeyScores, Ratio
from hearsay.mechanisms.key_value.pairs import Pairs
from hearsay.mechanisms.key_value.queries import KeyMeans, in_units

_ALL_LISTED = 32  # a headline lists all keys up to so many
_LEAST_REPORTS = 4  # of a key; with fewer an estimated variance is useless


def stored(share: Measured, means: Measured | None, domain: KeyValue) -> dict[str, NDArray[Any]]:
    """The arrays of a snapshot: shares, and means in own units with their intervals, by key (and dimension)."""
    arrays: dict[str, NDArray[Any]] = {"estimate": share.value, "stderr": share.stderr}
    if means is not None and domain.dimensions:
        own = in_units(means, domain)
        for name, part in (
            ("mean", own.value),
            ("mean_stderr", own.stderr),
            ("mean_low", own.low),
            ("mean_high", own.high),
        ):
            assert part is not None
            arrays[name] = part[:, 0] if domain.dimensions == 1 else part
    return arrays


def first_questions(domain: KeyValue) -> tuple[str, ...]:
    """Headline queries: all shares and means if there are few keys, else the most frequent keys."""
    if domain.size > _ALL_LISTED:
        return ("top 10",)
    return ("frequencies", "means") if domain.dimensions else ("frequencies",)


def key_charts(domain: KeyValue) -> tuple[Chart, ...]:
    """Charts of shares and means of all keys, or of the most frequent ones if there are many."""
    if domain.size > _ALL_LISTED:
        return (Chart("bars", f"top {_ALL_LISTED}", "Devices that hold the key"),)
    if domain.dimensions != 1:  # no values, or several, whose means are named by dimension
        shares = Chart("bars", "frequencies", "Devices that hold the key")
        return (shares, Chart("table", "means", "Means among holders")) if domain.dimensions else (shares,)
    return (Chart("keys", "frequencies", "Devices that hold the key, and their mean value", also="means"),)


@dataclass(frozen=True)
class KeyEstimate(Estimate, Points, KeyMeans):
    """Shares by key, and totals by key and value dimension, with values scaled to -1..1."""

    domain: KeyValue
    reports: int
    share: Floats
    share_stderr: Floats
    total: Floats
    share_variance: Floats  # for devices that are a sample, as ratios need it
    total_variance: Floats
    covariance: Floats
    hits: tuple[Floats, Floats] | None = None
    biased_means: Floats | None = None  # means of a biased estimator; the intervals are still those of the ratio
    biased_stderr: Floats | None = None
    scores: KeyScores | None = None  # for intervals of few reports; without it intervals are plain
    share_scores: KeyScores | None = None  # the same, if it is known for shares only

    def arrays(self) -> dict[str, NDArray[Any]]:
        return stored(Measured.plain(self.share, self.share_stderr), self.means, self.domain)

    def headline(self) -> tuple[str, ...]:
        return first_questions(self.domain)

    def charts(self) -> tuple[Chart, ...]:
        return key_charts(self.domain)

    @property
    def cost(self) -> int:
        return self.domain.size * (4 + 6 * self.domain.dimensions)

    def points(self, keys: NDArray[np.int64]) -> Measured:
        """Shares of devices that hold the keys."""
        scores = self.scores or self.share_scores
        if scores is None:
            return Measured.plain(self.share[keys], self.share_stderr[keys])
        stderr = np.where(scores.reports[keys] > 0, self.share_stderr[keys], np.inf)
        low, high = self.share_ends
        return between(self.share[keys], stderr, low[keys], high[keys], self.z)

    @cached_property
    def share_ends(self) -> tuple[Floats, Floats]:
        """The ends of the score intervals of all shares."""
        scores = self.scores or self.share_scores
        assert scores is not None
        return scores.share_ends(self.share, self.z)

    @cached_property
    def ratio(self) -> Ratio:
        """Share and total of every key and value dimension, with their noise."""
        return Ratio(
            np.broadcast_to(self.share[:, None], self.total.shape),
            self.total,
            np.broadcast_to(self.share_variance[:, None], self.total.shape),
            self.total_variance,
            self.covariance,
        )

    @cached_property
    def means(self) -> Measured:
        """The mean of every key and value dimension, in -1..1."""
        if self.scores is None:
            low, high = self._plain_ends(
                self.ratio, None if self.share_scores is None else self.share_scores.value_reports
            )
        else:
            low, high = self.scores.mean_ends(self.share, self.total)
        if self.biased_means is not None and self.biased_stderr is not None:
            return Measured(self.biased_means, self.biased_stderr, low, high)
        stderr = following(self.ratio.stderr(), low, high)
        if self.scores is not None:  # a key without reports has an infinite error
            stderr = np.where(self.scores.value_reports > 0, stderr, np.inf)
        return Measured(self.ratio.mean(), stderr, low, high)

    @staticmethod
    def _plain_ends(ratio: Ratio, reports: Floats | None) -> tuple[Floats, Floats]:
        """Fieller's interval, with Student's quantile if the number of reports is known; -1..1 if there are too few."""
        if reports is None:
            return ratio.interval()
        low, high = ratio.interval(student(reports - 1))
        known = reports >= _LEAST_REPORTS
        return np.where(known, low, -1.0), np.where(known, high, 1.0)

    def range_ratio(self, low: int, high: int) -> Ratio:
        """Share and total of all pairs with a key in low..high, inclusive; a device counts once per pair."""
        inside = slice(low, high + 1)
        sums = Ratio(*(part[inside].sum(axis=0) for part in self.ratio))
        if self.hits is None or not self.reports:
            return sums
        share, total = (part[inside] for part in self.hits)

        def cross(one: Floats, other: Floats) -> Floats:
            return (one.sum(axis=0) * other.sum(axis=0) - (one * other).sum(axis=0)) / self.reports

        return sums._replace(
            share_variance=sums.share_variance - cross(share, share),
            total_variance=sums.total_variance - cross(total, total),
            covariance=sums.covariance - cross(share, total),
        )

    def range_means(self, low: int, high: int) -> Measured:
        """The mean value of all pairs with a key in low..high, one row per value dimension, in -1..1."""
        ratio = self.range_ratio(low, high)
        if self.scores is None:
            reports = None if self.share_scores is None else self.share_scores.value_reports[low : high + 1].sum(axis=0)
            return Measured(ratio.mean(), ratio.stderr(), *self._plain_ends(ratio, reports))
        ends = self.scores.range_ends(self.share, self.total, low, high)
        known = (self.scores.value_reports[low : high + 1] > 0).all(axis=0)
        return Measured(ratio.mean(), np.where(known, following(ratio.stderr(), *ends), np.inf), *ends)


def student(freedom: Floats) -> Floats:
    """The two-sided 95% quantile of Student's distribution with at least 3 degrees of freedom, by its expansion."""
    k = np.maximum(freedom, 3.0)
    return np.asarray(Z95 + (Z95**3 + Z95) / (4 * k) + (5 * Z95**5 + 16 * Z95**3 + 3 * Z95) / (96 * k**2))


def following(stderr: Floats, low: Floats, high: Floats) -> Floats:
    """Standard errors of the delta method; if few reports make an interval much wider, the one of the interval."""
    by_interval = (high - low) / (2 * Z95)
    return np.where(by_interval > MUCH_WIDER * stderr, by_interval, stderr)


def exact_keys(domain: KeyValue, values: Any) -> KeyEstimate:
    """The true shares and totals, as an estimate without error."""
    return KeyEstimate(domain, len(domain.check(values)), *exact_sums(domain, values))


def exact_sums(domain: KeyValue, pairs: Pairs) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    """The true shares and totals, with errors of zero, in the order of the fields of `KeyEstimate`."""
    n, keys = max(len(pairs), 1), domain.size
    share = np.bincount(pairs.keys, minlength=keys) / n
    columns = [np.bincount(pairs.keys, column, minlength=keys) / n for column in pairs.values.T]
    total = np.stack(columns, axis=1) if columns else np.zeros((keys, 0))
    return share, np.zeros(keys), total, np.zeros(keys), np.zeros_like(total), np.zeros_like(total)
