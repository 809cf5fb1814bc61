"""How frequent a text must be to be told: planned before any report.

A text is told when its prefix is kept at every level and its whole share is above the limit for all listed texts. A
prefix that nobody holds is kept while it is above about t = 2.66 standard errors at every level: 1 in 256 of the
extensions of a kept prefix is, so that above it noise dies out from level to level, and below it fills the list. With
se(f) = sqrt((V + f(1-f)) (G+1)/n), V that of the oracle, a text of share f is told with a probability of about

    Phi((f - z se(0))/se(f)) Phi((f - t se(0))/se(f))^G.
"""

from math import inf, sqrt
from statistics import NormalDist

from hearsay.mechanisms.estimates.simultaneous import critical_value
from hearsay.mechanisms.text.search import LISTED

PROBABILITY = 0.95
_NOISE_LIMIT = -NormalDist().inv_cdf(1 / 256)
_HALVINGS = 50


def smallest_share_told(variance: float, slope: float, questions: int, texts: int, reports: int) -> float | None:
    """The least share told with 95% probability, where V = variance + slope f; None: no share is."""
    if reports <= 0 or _chance(1.0, variance, slope, questions, texts, reports) < PROBABILITY:
        return None
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _chance(middle, variance, slope, questions, texts, reports) < PROBABILITY:
            low = middle
        else:
            high = middle
    return high


def _chance(f: float, variance: float, slope: float, questions: int, texts: int, reports: int) -> float:
    """That a text of share f is told."""
    part = questions / reports
    nobody, error = sqrt(part * variance), sqrt(part * (variance + slope * f + f * (1 - f)))

    def above(limit: float) -> float:
        return NormalDist().cdf((f - limit * nobody) / error if error else inf)

    return above(critical_value(LISTED * texts)) * above(_NOISE_LIMIT) ** (questions - 1)
