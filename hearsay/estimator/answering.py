"""Answers a query about a survey from its estimate."""

from collections.abc import Callable, Sequence

from hearsay.collector.survey.survey import Survey
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import answer, check_reports, parse, parse_text


def ask(
    survey: Survey,
    reports: int,
    estimate: Callable[[], Estimate],
    question: str | Sequence[str],
    *,
    count: bool = False,
    postprocess: str | None = None,
    simultaneous: bool = False,
) -> list[Answer]:
    """The answers to a query, given as one line or as its words; a QueryError states why there is no answer.

    `estimate` is called only if there are at least `minimum_reports`.
    """
    asked = parse_text(question) if isinstance(question, str) else parse(question)
    check_reports(reports, survey.minimum_reports)
    return answer(
        asked,
        estimate(),
        minimum_reports=survey.minimum_reports,
        count=count,
        postprocess=postprocess,
        default=survey.postprocess,
        simultaneous=simultaneous,
    )
