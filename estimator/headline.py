"""The few answers that every snapshot and every scrape shows."""

from estimator.answers import Answer
from estimator.query import answer, parse_text
from mechanisms.errors import QueryError
from mechanisms.result import Estimate

DECILES = "quantile 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9"
TOP = "top 10"
WORKLOAD = "linear"


def headline(estimate: Estimate, postprocess: str = "none") -> list[Answer]:
    """The survey's workload where it has one, deciles where the mechanism can say them, else the most frequent cells.

    With the survey's post-processing.
    """
    for question in (WORKLOAD, DECILES):
        try:
            return answer(parse_text(question), estimate, default=postprocess)
        except QueryError:  # no workload; not one axis, or a mechanism that knows single cells only
            pass
    return answer(parse_text(TOP), estimate, default=postprocess)
