"""The laws of a query, checked on its worked examples (`EXAMPLES`: devices, a question, the answers by hand).

    example        every kind of query has one
    truth          without noise the answers are those by hand, about what they are by hand, no more than `answers` says
    coverage       with noise, 95% of the intervals hold the answer by hand, and they are as wide as that needs
    interval       an interval that the estimate gives is the one that is shown; none is replaced or dropped
    unit           numbers of reports are shares times the number of reports
    method         post-processing changes the value only; the raw one, its error and its interval stand beside it
    json           what JSON shows is the answer, in plain numbers and words, and the same when asked again

Each law is a function of a class of queries and one of its examples that raises BrokenLaw.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isclose
from typing import Any

import numpy as np

from hearsay.mechanisms.checks.coverage import intervals_cover
from hearsay.mechanisms.checks.examples import Law, about, ask, exact_estimate, noisy_estimate
from hearsay.mechanisms.checks.law import expect
from hearsay.mechanisms.estimates.estimate import Z95, Estimate, Measured
from hearsay.mechanisms.estimates.postprocess import WITH_INTERVAL
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.example import Example
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.questions import parse_text

FIELDS = ("query", "item", "cell", "value", "stderr", "low", "high")  # that every outlet shows
_BELOW, _ABOVE = 3.0, 5.0  # standard errors: an interval that is not symmetric shows whether it was handed on
_REPORTS = 7.0  # any number that shares can be multiplied by


def has_an_example(kind: type[Query]) -> None:
    """Without an answer by hand nothing shows that a query answers what it says."""
    expect(kind.EXAMPLES, f"example: query {kind.NAME} ({kind.__qualname__}) has no EXAMPLES")
    for example in kind.EXAMPLES:
        verb = parse_text(example.question).verb
        expect(verb == kind.NAME, f"example: query {kind.NAME} needs an example of its own, got one of {verb}")


def without_noise_the_answer_is_the_truth(kind: type[Query], example: Example) -> None:
    """`Mechanism.exact` is the estimate without noise."""
    answers = ask(kind, example, exact_estimate(example))
    got = [answer.value for answer in answers]
    count = len(example.answers)
    expect(len(got) == count, f"truth: {example.question!r} has {count} answers, got {got}")
    for number, (expected, value) in enumerate(zip(example.answers, got, strict=True), start=1):
        right = expected is None or (value is not None and isclose(value, expected, rel_tol=1e-9, abs_tol=1e-9))
        expect(right, f"truth: answer {number} of {example.question!r} is {expected!r}, got {value!r}")
    named = list(example.about) or [None] * count
    expect(
        [about(answer) for answer in answers] == named,
        f"truth: answers to {example.question!r} are about {named}, got {[about(answer) for answer in answers]}",
    )


def intervals_are_handed_on(kind: type[Query], example: Example) -> None:
    """The estimate's intervals are made lopsided: an answer with value +- 1.96 stderr has lost its own."""
    lopsided = Lopsided(noisy_estimate(example, 7))
    for answer in ask(kind, example, lopsided):
        known = answer.low is not None and answer.high is not None
        expect(
            known or answer.value is None or kind.lacks_interval(answer),
            f"interval: an answer to {example.question!r} has a value and no interval; WITHOUT_INTERVAL must say why",
        )
        if lopsided.handed_out and answer.stderr and answer.unbiased is not None:
            plain = answer.unbiased - Z95 * answer.stderr, answer.unbiased + Z95 * answer.stderr
            lost = all(isclose(end, other, rel_tol=1e-9) for end, other in zip(plain, _ends(answer), strict=True))
            expect(not lost, f"interval: answers to {example.question!r} lose the interval that the estimate gives")
        if answer.unbiased is not None and answer.low is not None and answer.high is not None:
            inside = answer.low <= answer.unbiased + 1e-9 and answer.unbiased <= answer.high + 1e-9
            expect(inside, f"interval: {_ends(answer)} does not hold the value {answer.unbiased} of {answer.query!r}")


def counts_are_shares_of_the_reports(kind: type[Query], example: Example) -> None:
    """A query without a unit of its own is asked for numbers of reports too (`--count`)."""
    if kind.OWN_UNIT:
        return
    estimate = noisy_estimate(example, 9)
    shares, counts = ask(kind, example, estimate), ask(kind, example, estimate, scale=_REPORTS)
    for share, count in zip(shares, counts, strict=True):
        for name in ("value", "stderr", "low", "high"):
            one, many = getattr(share, name), getattr(count, name)
            right = many is None if one is None else _close(_REPORTS * one, many, 9)
            expect(right, f"unit: {name} of {share.query!r} is {one!r}, of {_REPORTS:g} reports {many!r}")


def methods_change_the_value_only(kind: type[Query], example: Example) -> None:
    """Each method of `METHODS`, where the estimate has it; those `WITH_INTERVAL` have intervals of their own."""
    estimate = noisy_estimate(example, 9)
    plain = ask(kind, example, estimate)
    for method in sorted(kind.METHODS):
        if estimate.lacks(method) is not None:
            continue
        where = f"method: {example.question!r} after {method}"
        answers = ask(kind, example, estimate, method=method)
        expect(len(answers) == len(plain), f"{where} has {len(answers)} answers, without it {len(plain)}")
        for before, after in zip(plain, answers, strict=True):
            used = after.postprocess == method or (after.postprocess is not None and after.note is not None)
            expect(used, f"{where} says that the method was {after.postprocess!r}")
            as_it_was = replace(after, value=after.raw, query=before.query)
            names = ("item", "cell", "value", "stderr") if method in WITH_INTERVAL else FIELDS
            for name in names:
                one, other = getattr(before, name), getattr(as_it_was, name)
                same = _close(one, other, 9) if isinstance(one, float) else one == other
                expect(same, f"{where} has the raw {name} {other!r}, without it {one!r}")


def json_says_what_the_answer_says(kind: type[Query], example: Example) -> None:
    """One row per answer, as `--json` and HTTP show it."""
    estimate = noisy_estimate(example, 9)
    answers = ask(kind, example, estimate)
    rows = [answer.table() for answer in answers]
    try:
        read = json.loads(json.dumps(rows, allow_nan=False))
    except (TypeError, ValueError) as error:
        expect(False, f"json: an answer to {example.question!r} is no JSON: {error}")
    expect(read == rows, f"json: answers to {example.question!r} are read back as something else")
    agree(answers, rows)
    verb, *words = parse_text(example.question).text.split(" ")
    for answer in answers:
        asked, *part = answer.query.split(" ")
        same = asked == verb and all(word in words for word in part)
        expect(same, f"json: an answer to {example.question!r} says that {answer.query!r} was asked")
    again = [answer.table() for answer in ask(kind, example, estimate)]
    expect(again == rows, f"json: asked again, {example.question!r} answers something else")


def agree(answers: Sequence[Answer], rows: Sequence[Mapping[str, Any]], digits: int = 9) -> None:
    """That rows, from JSON, a table or HTTP, say what the answers say; None and an absent field are the same."""
    expect(len(rows) == len(answers), f"json: {len(answers)} answers, {len(rows)} rows")
    for number, (answer, row) in enumerate(zip(answers, rows, strict=True), start=1):
        for name in FIELDS:
            expected, got = getattr(answer, name), row.get(name)
            same = _close(expected, got, digits) if isinstance(expected, float) else expected == got
            expect(same, f"json: row {number} of {answer.query!r} has {name} {got!r}, the answer has {expected!r}")


class Lopsided:
    """An estimate all of whose intervals reach 3 standard errors down and 5 up."""

    def __init__(self, estimate: Estimate) -> None:
        self._estimate, self.handed_out = estimate, 0

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._estimate, name)
        if not callable(attribute):
            return self._changed(attribute)
        return lambda *arguments, **named: self._changed(attribute(*arguments, **named))

    def _changed(self, result: Any) -> Any:
        if isinstance(result, Measured):
            self.handed_out += 1
            unit = np.where(np.isfinite(result.stderr) & (result.stderr > 0), result.stderr, 1.0)
            return Measured(result.value, result.stderr, result.value - _BELOW * unit, result.value + _ABOVE * unit)
        return tuple(map(self._changed, result)) if type(result) is tuple else result


QUERY_LAWS: tuple[Law, ...] = (
    without_noise_the_answer_is_the_truth,
    intervals_cover,
    intervals_are_handed_on,
    counts_are_shares_of_the_reports,
    methods_change_the_value_only,
    json_says_what_the_answer_says,
)


def check_query(kind: type[Query]) -> None:
    """Every law of a kind of query, on each of its examples."""
    has_an_example(kind)
    for example in kind.EXAMPLES:
        for law in QUERY_LAWS:
            law(kind, example)


def cases(kinds: Sequence[type[Query]]) -> Iterator[tuple[type[Query], Example]]:
    """Every example of some kinds of query."""
    return ((kind, example) for kind in kinds for example in kind.EXAMPLES)


def _ends(answer: Answer) -> tuple[float, float]:
    return answer.low or 0.0, answer.high or 0.0


def _close(expected: float, got: Any, digits: int) -> bool:
    return isinstance(got, int | float) and isclose(expected, got, rel_tol=10.0**-digits, abs_tol=1e-12)
