"""A question in words, put to what is known of a survey."""

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
    """The answers to a query of docs/queries.md, in one line or in words; QueryError says why there is none.

    `estimate` is called only where there are reports enough.
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
