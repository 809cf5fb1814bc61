"""A question in words, put to what is known of a survey."""

from hearsay.collector.survey.survey import Survey
from hearsay.mechanisms import State
from hearsay.mechanisms.asking import answer, check_reports, parse_text
from hearsay.mechanisms.queries.answer import Answer


def ask(
    survey: Survey,
    state: State,
    question: str,
    *,
    count: bool = False,
    postprocess: str | None = None,
    simultaneous: bool = False,
) -> list[Answer]:
    """The answers to a query as `docs/queries.md` writes it; QueryError where it cannot be answered, and why."""
    query = parse_text(question)
    check_reports(survey.mechanism.reports(state), survey.minimum_reports)
    return answer(
        query,
        survey.mechanism.estimate(state),
        minimum_reports=survey.minimum_reports,
        count=count,
        postprocess=postprocess,
        default=survey.postprocess,
        simultaneous=simultaneous,
    )
