"""Quantiles of the values of a key's holders, from a histogram of {absent, B bins} (Ye et al. 2019, V.B).

Let f be the share of holders, and C_b the share of holders whose value is below edge b. The quantile of rank u is where
D_b = C_b - u f changes its sign. D_b is the mean of a score: 1 - u for a value below the edge, -u above it, and 0 for
absent. Where D_b = 0, its standard error depends only on f, which is taken at its upper limit. The estimate is the
first zero of the isotonic fit of D, linear inside a bin. The band has the edges at which D is not significantly below
or above 0.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Z95, Floats, Measured
from hearsay.mechanisms.estimates.postprocess import pooled
from hearsay.mechanisms.key_value.domain import KeyValue
from hearsay.mechanisms.key_value.estimate import KeyEstimate, exact_sums
from hearsay.mechanisms.key_value.pairs import bins_of
from hearsay.mechanisms.key_value.queries import KeyQuantiles


@dataclass(frozen=True)
class BinEstimate(KeyEstimate, KeyQuantiles):
    """An estimate of keys with histograms of their values."""

    shown: Floats = field(kw_only=True)  # the share of each symbol among the reports: keys x dimensions x symbols
    per_key: Floats = field(kw_only=True)  # reports: keys x dimensions
    chances: tuple[float, float] = field(kw_only=True)  # q and g = p - q of the randomised response

    @property
    def bins(self) -> int:
        return self.shown.shape[2] - 1

    def quantiles(self, ranks: Floats, key: int, dimension: int = 0) -> Measured:
        """The quantiles of the given ranks among a key's holders, in -1..1, each with its band."""
        if not ((ranks > 0) & (ranks < 1)).all():
            raise QueryError(what="quantile", expected="above 0 and below 1")
        q, gap = self.chances
        shown, n = self.shown[key, dimension], float(self.per_key[key, dimension])
        edges = np.linspace(-1.0, 1.0, self.bins + 1)
        if not n > 0:
            unknown = np.full(len(ranks), np.nan)
            return Measured(unknown, unknown, np.full(len(ranks), -1.0), np.full(len(ranks), 1.0))
        most = 1.0 if self.scores is None else float(np.clip(self.share_ends[1][key], 0.0, 1.0))
        value, stderr, low, high = (np.empty(len(ranks)) for _ in range(4))
        half_step = 1 / (2 * Z95 * gap * n)
        below = np.tri(self.bins + 1, self.bins, -1)  # row b: the bins below edge b
        for number, rank in enumerate(ranks):
            scores = np.hstack([np.zeros((self.bins + 1, 1)), below - rank])
            mean = (scores @ shown - q * scores.sum(axis=1)) / gap  # D at every edge
            # If the quantile is at an edge, D is 0 there, and the mean square of its score is f u(1-u).
            error = np.sqrt((q * (scores**2).sum(axis=1) + gap * most * rank * (1 - rank)) / n) / gap + half_step
            rising = pooled(mean)
            value[number] = crossing(edges, rising)
            edge = int(np.clip(np.searchsorted(edges, value[number]), 1, self.bins))
            slope = (rising[edge] - rising[edge - 1]) / (edges[edge] - edges[edge - 1])
            stderr[number] = error[edge] / slope if slope > 0 else np.nan
            low[number] = crossing(edges, np.maximum.accumulate(mean + Z95 * error))
            high[number] = crossing(edges, np.minimum.accumulate((mean - Z95 * error)[::-1])[::-1])
        # The distribution inside a bin is unknown, and many values may be equal: the band consists of whole bins.
        low = edges[np.clip(np.searchsorted(edges, np.minimum(low, value), side="right") - 1, 0, self.bins)]
        high = edges[np.clip(np.searchsorted(edges, np.maximum(high, value)), 0, self.bins)]
        return Measured(value, stderr, low, high)


def crossing(edges: Floats, rising: Floats) -> float:
    """Where a rising piecewise linear curve reaches 0, clipped to the first and last edge."""
    above = int(np.searchsorted(rising, 0.0))
    if above == 0:
        return float(edges[0])
    if above == len(edges):
        return float(edges[-1])
    before, after = rising[above - 1], rising[above]
    return float(edges[above - 1] + (edges[above] - edges[above - 1]) * -before / (after - before))


def exact_bins(domain: KeyValue, values: Any, bins: int) -> BinEstimate:
    """The true histograms of all keys, as an estimate without error."""
    pairs = domain.check(values)
    shown = np.zeros((domain.size, domain.dimensions, bins + 1))
    for dimension in range(domain.dimensions):
        cells = pairs.keys * bins + bins_of(pairs.values[:, dimension], bins)
        holders = np.bincount(cells, minlength=domain.size * bins).reshape(-1, bins)
        shown[:, dimension, 1:] = holders / max(len(pairs), 1)
    shown[:, :, 0] = 1 - shown.sum(axis=2)
    endless = np.where(shown[:, :, 1:].any(axis=2), np.inf, 0.0)  # nothing is known of the values of nobody
    sums = exact_sums(domain, pairs)
    return BinEstimate(domain, len(pairs), *sums, shown=shown, per_key=endless, chances=(0.0, 1.0))
