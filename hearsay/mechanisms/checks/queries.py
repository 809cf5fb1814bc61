"""The laws of a query, checked on its worked examples (`EXAMPLES`: devices, a question, the answer by hand).

    example        every kind of query has one
    truth          without noise the answer is the one by hand, and there are as many as `answers` says
    coverage       with noise, 95% of the intervals hold the answer by hand, run after run
    interval       an interval that the estimate gives is the one that is shown; none is replaced or dropped
    json           what JSON shows is the answer, in plain numbers and words, and the same when asked again

Each law is a function of a class of queries and one of its examples that raises BrokenLaw.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isclose
from typing import Any

import numpy as np

from hearsay.mechanisms import build
from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.checks.law import expect
from hearsay.mechanisms.checks.people import play
from hearsay.mechanisms.estimates.estimate import Z95, Estimate, Measured
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.example import Example
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.queries.view import View
from hearsay.mechanisms.questions import parse_text

Law = Callable[[type[Query], Example], None]
RUNS, DEVICES, SOME_DEVICES = 60, 4_000, 400
FIELDS = ("query", "item", "cell", "value", "stderr", "low", "high")  # that every outlet shows
COVERED = 0.8  # of 60 runs that cover with 95% each, fewer than this is less likely than one in a million
_BELOW, _ABOVE = 3.0, 5.0  # standard errors: an interval that is not symmetric shows whether it was handed on


def has_an_example(kind: type[Query]) -> None:
    """Without an answer by hand nothing shows that a query answers what it says."""
    expect(kind.EXAMPLES, f"example: query {kind.NAME} ({kind.__qualname__}) has no EXAMPLES")
    for example in kind.EXAMPLES:
        verb = parse_text(example.question).verb
        expect(verb == kind.NAME, f"example: query {kind.NAME} needs an example of its own, got one of {verb}")


def without_noise_the_answer_is_the_truth(kind: type[Query], example: Example) -> None:
    """`Mechanism.exact` is the estimate without noise."""
    answers = _ask(kind, example, _exact(example))
    got = [answer.value for answer in answers]
    count = len(example.answers)
    expect(len(got) == count, f"truth: {example.question!r} has {count} answers, got {got}")
    for number, (expected, value) in enumerate(zip(example.answers, got, strict=True), start=1):
        right = expected is None or (value is not None and isclose(value, expected, rel_tol=1e-9, abs_tol=1e-9))
        expect(right, f"truth: answer {number} of {example.question!r} is {expected!r}, got {value!r}")


def intervals_cover(kind: type[Query], example: Example) -> None:
    """The example's devices, as often as makes some thousands, perturbed and estimated again and again."""
    mechanism, many = _survey(example, DEVICES)
    random, generator = seeded(5), np.random.default_rng(6)
    truth = dict(zip(map(_name, _ask(kind, example, _exact(example))), example.answers, strict=False))
    covered: dict[str, list[bool]] = {name: [] for name in truth}
    for _ in range(RUNS):
        for answer in _ask(kind, example, play(mechanism, many, random, generator).estimate()):
            expected = truth.get(_name(answer))
            if expected is not None and answer.low is not None and answer.high is not None:
                covered[_name(answer)].append(answer.low - 1e-9 <= expected <= answer.high + 1e-9)
    for name, hits in covered.items():
        share = float(np.mean(hits)) if hits else 1.0
        expect(share >= COVERED, f"coverage: {share:.0%} of the 95% intervals of {name} in {example.question!r} cover")


def intervals_are_handed_on(kind: type[Query], example: Example) -> None:
    """The estimate's intervals are made lopsided: an answer with value +- 1.96 stderr has lost its own."""
    mechanism, values = _survey(example, SOME_DEVICES)
    estimate = play(mechanism, values, seeded(7), np.random.default_rng(8)).estimate()
    lopsided = Lopsided(estimate)
    for answer in _ask(kind, example, lopsided):
        known = answer.stderr is None or (answer.low is not None and answer.high is not None)
        expect(known, f"interval: an answer to {example.question!r} has a standard error and no interval")
        if lopsided.handed_out and answer.stderr and answer.unbiased is not None:
            plain = answer.unbiased - Z95 * answer.stderr, answer.unbiased + Z95 * answer.stderr
            lost = all(isclose(end, other, rel_tol=1e-9) for end, other in zip(plain, _ends(answer), strict=True))
            expect(not lost, f"interval: answers to {example.question!r} lose the interval that the estimate gives")
        if answer.unbiased is not None and answer.low is not None and answer.high is not None:
            inside = answer.low <= answer.unbiased + 1e-9 and answer.unbiased <= answer.high + 1e-9
            expect(inside, f"interval: {_ends(answer)} does not hold the value {answer.unbiased} of {answer.query!r}")


def json_says_what_the_answer_says(kind: type[Query], example: Example) -> None:
    """One row per answer, as `--json` and HTTP show it."""
    mechanism, values = _survey(example, SOME_DEVICES)
    estimate = play(mechanism, values, seeded(9), np.random.default_rng(10)).estimate()
    answers = _ask(kind, example, estimate)
    rows = [answer.table() for answer in answers]
    try:
        read = json.loads(json.dumps(rows, allow_nan=False))
    except (TypeError, ValueError) as error:
        expect(False, f"json: an answer to {example.question!r} is no JSON: {error}")
    expect(read == rows, f"json: answers to {example.question!r} are read back as something else")
    agree(answers, rows)
    for answer in answers:
        verb = answer.query.split(" ")[0]
        expect(verb == kind.NAME, f"json: an answer to {example.question!r} says that {answer.query!r} was asked")
    again = [answer.table() for answer in _ask(kind, example, estimate)]
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


def _survey(example: Example, devices: int = 1) -> tuple[Mechanism, Any]:
    """The mechanism, and the values as it takes them, all of them as often as makes so many devices."""
    mechanism = build(example.survey)
    domain = mechanism.domain
    values = domain.check(domain.join([domain.one(value) for value in example.values]))
    times = -(-devices // len(values))
    return mechanism, values[np.arange(len(values) * times) % len(values)]


def _exact(example: Example) -> Estimate:
    mechanism, values = _survey(example)
    return play(mechanism, values, seeded(4), np.random.default_rng(4)).mechanism.exact(values)


def _ask(kind: type[Query], example: Example, estimate: Any) -> list[Answer]:
    question = parse_text(example.question)
    query = kind.parse(question.arguments, estimate.domain)
    answers = query.answer(estimate, View(question.text))
    most = query.answers(estimate.domain)
    expect(len(answers) <= most, f"truth: {question.text!r} says that it has {most} answers, got {len(answers)}")
    return answers


def _name(answer: Answer) -> str:
    """What an answer is about, since noise may change the order of answers."""
    return f"{answer.query} {answer.item if answer.cell is None else dict(answer.cell)}"


def _ends(answer: Answer) -> tuple[float, float]:
    return answer.low or 0.0, answer.high or 0.0


def _close(expected: float, got: Any, digits: int) -> bool:
    return isinstance(got, int | float) and isclose(expected, got, rel_tol=10.0**-digits, abs_tol=1e-12)
