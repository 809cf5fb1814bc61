"""A question in words, put to what is known of a survey."""

from collections.abc import Sequence

from hearsay.collector.survey.survey import Survey
from hearsay.mechanisms import State
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import answer, check_reports, parse, parse_text


def ask(
    survey: Survey,
    state: State,
    question: str | Sequence[str],
    *,
    count: bool = False,
    postprocess: str | None = None,
    simultaneous: bool = False,
) -> list[Answer]:
    """The answers to a query of docs/queries.md, in one line or in words; QueryError says why there is none."""
    asked = parse_text(question) if isinstance(question, str) else parse(question)
    check_reports(survey.mechanism.reports(state), survey.minimum_reports)
    return answer(
        asked,
        survey.mechanism.estimate(state),
        minimum_reports=survey.minimum_reports,
        count=count,
        postprocess=postprocess,
        default=survey.postprocess,
        simultaneous=simultaneous,
    )
