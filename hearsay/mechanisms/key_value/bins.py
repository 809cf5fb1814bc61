"""Percentiles of the values of a key's holders, from a histogram of {absent, B bins} (P V.B).

The cumulative share of holders up to an edge, C_b/f, reaches a rank u where C_b - u f changes its sign. Both are sums
of bins of one multinomial draw, so D_b = C_b - u f is a score with values (1 - u) up to the edge, -u above and 0 for
absent, and its error where D = 0 hangs on f alone, which is taken at its upper limit. The point is the first crossing
of the isotonic curve, straight inside a bin; the band are the edges where D is not clearly below or above 0.
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
    """A key estimate that also knows the histogram of values: `shown` has keys x dimensions x symbols."""

    shown: Floats = field(kw_only=True)
    per_key: Floats = field(kw_only=True)
    chances: tuple[float, float] = field(kw_only=True)  # q and P - q of the coin

    @property
    def bins(self) -> int:
        return self.shown.shape[2] - 1

    def quantiles(self, ranks: Floats, key: int, dimension: int = 0) -> Measured:
        """Values in -1..1 below which the given parts of the holders lie, with a band."""
        if not ((ranks > 0) & (ranks < 1)).all():
            raise QueryError("quantile must be above 0 and below 1")
        q, gap = self.chances
        shown, n = self.shown[key, dimension], float(self.per_key[key, dimension])
        edges = np.linspace(-1.0, 1.0, self.bins + 1)
        if not n > 0:
            unknown = np.full(len(ranks), np.nan)
            return Measured(unknown, unknown, np.full(len(ranks), -1.0), np.full(len(ranks), 1.0))
        most = 1.0 if self.scores is None else float(np.clip(self.share_ends[1][key], 0.0, 1.0))
        value, stderr, low, high = (np.empty(len(ranks)) for _ in range(4))
        half_step = 1 / (2 * Z95 * gap * n)
        upto = np.tri(self.bins + 1, self.bins, -1)  # row b: the bins below edge b
        for number, rank in enumerate(ranks):
            scores = np.hstack([np.zeros((self.bins + 1, 1)), upto - rank])
            mean = (scores @ shown - q * scores.sum(axis=1)) / gap
            # If the rank were reached at an edge, D would be 0 there and its mean square f u(1-u) beside the coin's.
            error = np.sqrt((q * (scores**2).sum(axis=1) + gap * most * rank * (1 - rank)) / n) / gap + half_step
            rising = pooled(mean)
            value[number] = crossing(edges, rising)
            at = int(np.clip(np.searchsorted(edges, value[number]), 1, self.bins))
            slope = (rising[at] - rising[at - 1]) / (edges[at] - edges[at - 1])
            stderr[number] = error[at] / slope if slope > 0 else np.nan
            low[number] = crossing(edges, np.maximum.accumulate(mean + Z95 * error))
            high[number] = crossing(edges, np.minimum.accumulate((mean - Z95 * error)[::-1])[::-1])
        # Inside a bin nothing is known, many values may be equal: the band takes whole bins.
        low = edges[np.clip(np.searchsorted(edges, np.minimum(low, value), side="right") - 1, 0, self.bins)]
        high = edges[np.clip(np.searchsorted(edges, np.maximum(high, value)), 0, self.bins)]
        return Measured(value, stderr, low, high)


def crossing(edges: Floats, rising: Floats) -> float:
    """Where a rising curve through the edges reaches 0, cut to the edges."""
    above = int(np.searchsorted(rising, 0.0))
    if above == 0:
        return float(edges[0])
    if above == len(edges):
        return float(edges[-1])
    before, after = rising[above - 1], rising[above]
    return float(edges[above - 1] + (edges[above] - edges[above - 1]) * -before / (after - before))


def exact_bins(domain: KeyValue, values: Any, bins: int) -> BinEstimate:
    """What devices really hold, bin by bin, without error."""
    pairs = domain.check(values)
    shown = np.zeros((domain.size, domain.dimensions, bins + 1))
    for dimension in range(domain.dimensions):
        cells = pairs.keys * bins + bins_of(pairs.values[:, dimension], bins)
        holders = np.bincount(cells, minlength=domain.size * bins).reshape(-1, bins)
        shown[:, dimension, 1:] = holders / max(len(pairs), 1)
    shown[:, :, 0] = 1 - shown.sum(axis=2)
    endless = np.full(shown.shape[:2], np.inf)
    sums = exact_sums(domain, pairs)
    return BinEstimate(domain, len(pairs), *sums, shown=shown, per_key=endless, chances=(0.0, 1.0))
