"""The few answers that every snapshot and every scrape shows."""

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.auc import LABEL
from hearsay.mechanisms.queries.query import answer, parse_text

DECILES = "quantile 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9"
TOP = "top 10"
WORKLOAD = "linear"
AREA = "auc"


def headline(estimate: Estimate, postprocess: str = "none") -> list[Answer]:
    """The survey's workload where it has one, deciles where the mechanism can say them, else the most frequent cells.

    With the survey's post-processing. Labelled scores begin with the area under their curve.
    """
    for question in (WORKLOAD, DECILES):
        try:
            return answer(parse_text(question), estimate, default=postprocess)
        except QueryError:  # no workload; not one axis, or a mechanism that knows single cells only
            pass
    return _area(estimate) + answer(parse_text(TOP), estimate, default=postprocess)


def _area(estimate: Estimate) -> list[Answer]:
    """Only where an axis is named `label`: any other axis of two cells may mean anything."""
    if not any(axis.name == LABEL for axis in estimate.domain.axes):
        return []
    try:
        return answer(parse_text(AREA), estimate)
    except QueryError:  # not two cells, a mechanism that cannot, or nobody with one of the labels
        return []
