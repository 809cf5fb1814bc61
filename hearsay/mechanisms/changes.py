"""Asking two estimates for their difference, and one question of many windows for its trend.

The mathematics is in `queries.difference` and `queries.trend`; docs/how-to/changes.md shows how to read the answers.
"""

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.difference import differences
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.queries.trend import GRAMMAR, VERB
from hearsay.mechanisms.queries.view import View
from hearsay.mechanisms.questions import Question, check_limit, parse, query_for, words_of

TREND = VERB  # what a line about all windows begins with


def change(question: Question, one: Estimate, other: Estimate, limit: int | None = None) -> list[Answer]:
    """The answers of `one` less those of `other`, about the populations that both were drawn from.

    Both must have the same domain; their mechanisms may differ. Always raw: the bias of post-processing differs
    between the sides.
    """
    if one.domain.table() != other.domain.table():
        raise QueryError("differences need two surveys of the same domain; the domains of these differ")
    asked = [_query(question, estimate, limit) for estimate in (one, other)]
    # Two mechanisms may answer a verb by different classes: then the numbers are not about the same thing.
    if type(asked[0]) is not type(asked[1]):
        raise QueryError(f"the two surveys answer {question.verb} in different ways, which have no difference")
    query, view = asked[0].settled(one, other), View(question.text)
    return differences(query.population(one, view), query.population(other, view))


def in_population(question: Question, estimate: Estimate) -> Answer:
    """The one answer to a question, with its error about the population; QueryError where it has several."""
    query = _query(question, estimate)
    answers = [] if query.answers(estimate.domain) != 1 else query.population(estimate, View(question.text))
    if type(query).MANY or len(answers) != 1:
        raise QueryError(f"{VERB} needs a query with one answer, such as point V, range A B or quantile Q")
    return answers[0]


def parse_trend(text: str) -> Question:
    """The question that is asked of every window, from a line that begins with TREND."""
    verb, *words = words_of(text)
    if verb != VERB or not words or words[0] == VERB:
        raise QueryError(f"{VERB} needs the query whose trend is asked for; it is asked as: {GRAMMAR}")
    return parse(words)


def _query(question: Question, estimate: Estimate, limit: int | None = None) -> Query:
    kind = query_for(question, estimate)
    kind.check_words(question.arguments)
    query = kind.parse(question.arguments, estimate.domain)
    check_limit(query, estimate.domain, limit)
    return query
