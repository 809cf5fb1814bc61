"""The few answers that every snapshot and every scrape shows."""

from estimator.answers import Answer
from estimator.query import answer, parse_text
from mechanisms.errors import QueryError
from mechanisms.result import Estimate

DECILES = "quantile 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9"
TOP = "top 10"


def headline(estimate: Estimate, postprocess: str = "none") -> list[Answer]:
    """Deciles where the mechanism can say them, else the ten most frequent cells, with the survey's post-processing."""
    if estimate.domain.kind in ("ordinal", "count"):
        try:
            return answer(parse_text(DECILES), estimate, default=postprocess)
        except QueryError:  # an ordinal domain under a mechanism that knows single cells only
            pass
    return answer(parse_text(TOP), estimate, default=postprocess)
