"""The laws of queries that ship as `hearsay.checks`, on every kind of query in the catalogue."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from hearsay.checks import QUERY_LAWS, BrokenLaw, Example, agree, check_query
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.checks.queries import cases, has_an_example
from hearsay.mechanisms.estimates.estimate import Measured
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.cells import Frequencies, Point
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
        return [WrongTable(**{field.name: getattr(right, field.name) for field in fields(right)})]


class NoJson(Point):
    """Says something that JSON does not have."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return [replace(answer, note={1}) for answer in super().answer(estimate, view)]


def changed(change: Callable[[Answer], Answer], base: type[Query] = Point) -> type[Query]:
    """A query whose answers are changed after they are right."""

    class Changed(base):  # type: ignore[misc,valid-type]
        def answer(self, estimate: Any, view: View) -> list[Answer]:
            return [change(answer) for answer in super().answer(estimate, view)]

    return Changed


def shown_as(base: type[Query], **shown: Any) -> type[Query]:
    """A query that does not look at all that it is asked for."""

    class Shown(base):  # type: ignore[misc,valid-type]
        def answer(self, estimate: Any, view: View) -> list[Answer]:
            return super().answer(estimate, replace(view, **shown))

    return Shown


def stretched(answer: Answer, times: float) -> Answer:
    """With an interval so many times as wide, the standard error as it was."""
    low, centre, high = answer.low or 0.0, answer.unbiased or 0.0, answer.high or 0.0
    return replace(answer, interval=(centre + times * (low - centre), centre + times * (high - centre)))


def kept(answer: Answer, stderr: float | None) -> Answer:
    """With another standard error, the interval as it was."""
    return replace(answer, stderr=stderr, interval=(answer.low, answer.high))


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (changed(lambda answer: kept(answer, 2 * answer.stderr)), "coverage: standard errors of .* are 2.* times its"),
        (changed(lambda answer: kept(answer, answer.stderr / 2)), "coverage: standard errors of .* are 0.* times its"),
        (changed(lambda answer: stretched(answer, 2)), "coverage: intervals of .* are 2.* times as wide"),
        (changed(lambda answer: stretched(answer, 0.6)), "coverage: .* of the 95% intervals of .* cover"),
        (changed(lambda answer: stretched(answer, 0.77)), "coverage: intervals of .* are 0.* times as wide"),
        (changed(lambda answer: replace(answer, stderr=None, interval=(None, None))), "coverage: 0% of the 95%"),
        (changed(lambda answer: replace(answer, value=None) if answer.stderr else answer), "coverage: 0 of 200 runs"),
        (changed(lambda answer: replace(answer, item=2)), r"truth: answers to 'point 1' are about \[1\], got \[2\]"),
        (changed(lambda answer: replace(answer, item=3 - answer.item), Frequencies), "truth: answers to .* are about"),
        (changed(lambda answer: replace(answer, query="point 2")), "json: .* says that 'point 2' was asked"),
        (shown_as(Point, scale=1.0), "unit: value of 'point 1' is .*, of 7 reports"),
        (shown_as(Point, method="none"), "method: 'point 1' after clip says that the method was None"),
        (changed(lambda answer: replace(answer, raw=answer.raw and 2 * answer.raw)), "method: .* has the raw value"),
    ],
)
def test_a_query_that_is_wrong_in_one_place_is_caught(kind: type[Query], law: str) -> None:
    with pytest.raises(BrokenLaw, match=law):
        check_query(kind)


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
