"""Answers a query about a survey from its estimate."""

from collections.abc import Callable, Sequence
from typing import Protocol

from hearsay.collector.survey.survey import Survey
from hearsay.mechanisms.changes import change
from hearsay.mechanisms.errors import QueryError, UnknownQuery
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import answer, check_reports, parse, parse_text, suggestion


class Side(Protocol):
    """One side of a difference."""

    @property
    def survey(self) -> Survey: ...

    @property
    def reports(self) -> int: ...

    def estimate(self) -> Estimate: ...


def ask(
    survey: Survey,
    reports: int,
    estimate: Callable[[], Estimate],
    question: str | Sequence[str],
    *,
    count: bool = False,
    postprocess: str | None = None,
    simultaneous: bool = False,
    against: Side | None = None,
) -> list[Answer]:
    """The answers to a query, given as one line or as its words; a QueryError states why there is no answer.

    `estimate` is called only if there are at least `minimum_reports`. With `against` every answer is a difference, to
    the same answer of that side.
    """
    try:
        asked = parse_text(question) if isinstance(question, str) else parse(question)
    except UnknownQuery as unknown:
        if reports < max(survey.minimum_reports, 1):
            raise
        raise suggestion(unknown.verb, estimate()) from None
    check_reports(reports, survey.minimum_reports)
    if against is not None:
        refuse_options(count, postprocess, simultaneous)
        check_reports(against.reports, against.survey.minimum_reports)
        return change(asked, estimate(), against.estimate())
    return answer(
        asked,
        estimate(),
        count=count,
        postprocess=postprocess,
        default=survey.postprocess,
        simultaneous=simultaneous,
    )


def refuse_options(count: bool, postprocess: str | None, simultaneous: bool) -> None:
    """Differences are of raw shares, and their adjusted p-values hold for all answers together."""
    for name, given in (
        ("count", count),
        ("postprocess", postprocess not in (None, "none")),
        ("simultaneous", simultaneous),
    ):
        if given:
            raise QueryError(f"{name} does not apply to differences (against), which are of raw shares; leave it out")
