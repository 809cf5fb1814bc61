"""The laws of queries that ship as `hearsay.checks`, on every kind of query in the catalogue."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from hearsay.checks import QUERY_LAWS, BrokenLaw, Example, agree, check_query
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.checks.queries import cases, has_an_example
from hearsay.mechanisms.estimates.estimate import Measured
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.cells import Point
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.queries.ranges import Prefix
from hearsay.mechanisms.queries.view import View

KINDS = [kind for verb in catalogue.QUERIES for kind in catalogue.queries(verb)]
EXAMPLES = list(cases(KINDS))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__qualname__)
def test_every_kind_of_query_has_an_answer_by_hand(kind: type[Query]) -> None:
    has_an_example(kind)


@pytest.mark.parametrize("law", QUERY_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize(("kind", "example"), EXAMPLES, ids=lambda part: getattr(part, "question", ""))
def test_every_law_holds(kind: type[Query], example: Example, law: Callable[[type[Query], Example], None]) -> None:
    law(kind, example)


class WithoutExample(Point):
    """Has none of its own."""

    EXAMPLES = ()


class AnothersExample(Prefix):
    """Has that of `point`."""

    EXAMPLES = Point.EXAMPLES


class WrongConstant(Point):
    """One per cent too much."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return [replace(answer, value=1.01 * (answer.value or 0.0)) for answer in super().answer(estimate, view)]


class TooSure(Point):
    """Intervals of a third of their width."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return [
            replace(answer, interval=(answer.value - answer.stderr / 2, answer.value + answer.stderr / 2))
            for answer in super().answer(estimate, view)
        ]


class LostInterval(Point):
    """Picks value and standard error out of what the estimate says, and leaves the interval behind."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        measured = estimate.points(np.array([self.cell]))
        return view.show(Measured.plain(measured.value, measured.stderr), [(1, None)])


@dataclass(frozen=True, slots=True)
class WrongTable(Answer):
    """Shows the standard error's square as the standard error."""

    def table(self) -> dict[str, Any]:
        return {**Answer.table(self), "stderr": (self.stderr or 0.0) ** 2}


class WrongJson(Point):
    """Answers rightly, and shows something else."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        (right,) = super().answer(estimate, view)
        return [WrongTable(right.query, right.value, right.stderr, right.item, interval=right.interval)]


class NoJson(Point):
    """Names what it answers by something that JSON does not have."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return [replace(answer, item={1}) for answer in super().answer(estimate, view)]


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (WithoutExample, "example: query point .* has no EXAMPLES"),
        (AnothersExample, "example: query prefix needs an example of its own, got one of point"),
        (WrongConstant, "truth: answer 1 of 'point 1' is 0.5, got 0.505"),
        (TooSure, "coverage: .* of the 95% intervals of point 1 1 in 'point 1' cover"),
        (LostInterval, "interval: answers to 'point 1' lose the interval that the estimate gives"),
        (WrongJson, "json: row 1 of 'point 1' has stderr"),
        (NoJson, "json: an answer to 'point 1' is no JSON"),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_a_broken_query_is_caught(kind: type[Query], law: str) -> None:
    with pytest.raises(BrokenLaw, match=law):
        check_query(kind)


def test_rows_that_are_missing_or_rounded_too_much_do_not_agree() -> None:
    answer = Answer("point 1", 0.123456, 0.01, 1)
    agree([answer], [answer.table()])
    agree([answer], [{**answer.table(), "value": 0.1235}], digits=3)
    for rows in ([], [{**answer.table(), "value": 0.1235}], [{**answer.table(), "low": None}]):
        with pytest.raises(BrokenLaw):
            agree([answer], rows)
