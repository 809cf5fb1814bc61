"""How frequent a text must be to be detected: computed before any report, from the parameters of a survey.

A text is detected if its prefix is kept on every level, and if the estimate of its whole share is above the limit of z
standard errors, which holds for all listed texts together. On each level the kept prefixes are those above about
t = 2.66 standard errors. By chance 1 in 256 of the extensions of a prefix is above t, so a kept prefix that no device
has leaves about one such prefix on the next level. With a higher limit such prefixes would die out; with a lower one
they would fill the list. A text of share f is detected with a probability of about

    Phi((f - z se(0))/se(f)) Phi((f - t se(0))/se(f))^G,    se(f) = sqrt((V + f(1-f)) (G+1)/n),

with n reports, G + 1 questions, and V the oracle's n Var for a share of one question.
"""

from math import inf, sqrt
from statistics import NormalDist

from hearsay.mechanisms.estimates.simultaneous import critical_value
from hearsay.mechanisms.text.search import LISTED

PROBABILITY = 0.95
_PREFIX_LIMIT = -NormalDist().inv_cdf(1 / 256)  # t, in standard errors
_HALVINGS = 50


def smallest_detected_share(variance: float, slope: float, questions: int, texts: int, reports: int) -> float | None:
    """The smallest share that is detected with 95% probability, with V = variance + slope f; None if no share is."""
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
    """The probability that a text of share f is detected."""
    per_report = questions / reports  # (G+1)/n
    stderr_of_zero = sqrt(per_report * variance)
    stderr = sqrt(per_report * (variance + slope * f + f * (1 - f)))

    def above(limit: float) -> float:
        return NormalDist().cdf((f - limit * stderr_of_zero) / stderr if stderr else inf)

    return above(critical_value(LISTED * texts)) * above(_PREFIX_LIMIT) ** (questions - 1)
