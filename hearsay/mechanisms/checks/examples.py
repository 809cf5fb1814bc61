"""The worked examples of a query, asked: what every law of queries begins with."""

from collections.abc import Callable
from typing import Any

import numpy as np

from hearsay.mechanisms import build
from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.checks.law import expect
from hearsay.mechanisms.checks.people import play
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.example import Example
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.queries.view import View
from hearsay.mechanisms.questions import parse_text

Law = Callable[[type[Query], Example], None]
SOME_DEVICES = 400


def survey_of(example: Example, devices: int = 1) -> tuple[Mechanism, Any]:
    """The mechanism, and the values as it takes them, all of them as often as makes so many devices."""
    mechanism = build(example.survey)
    domain = mechanism.domain
    values = domain.check(domain.join([domain.one(value) for value in example.values]))
    times = -(-devices // len(values))
    return mechanism, values[np.arange(len(values) * times) % len(values)]


def exact_estimate(example: Example) -> Estimate:
    """What a perfect estimate would say of the example's devices."""
    mechanism, values = survey_of(example)
    return play(mechanism, values, seeded(4), np.random.default_rng(4)).mechanism.exact(values)


def noisy_estimate(example: Example, seed: int) -> Estimate:
    """Of some devices, perturbed once."""
    mechanism, values = survey_of(example, SOME_DEVICES)
    return play(mechanism, values, seeded(seed), np.random.default_rng(seed + 1)).estimate()


def ask(kind: type[Query], example: Example, estimate: Any, **shown: Any) -> list[Answer]:
    """The answers to the example's question; `shown` are fields of a View."""
    question = parse_text(example.question)
    query = kind.parse(question.arguments, estimate.domain)
    answers = query.answer(estimate, View(question.text, **shown))
    most = query.answers(estimate.domain)
    expect(len(answers) <= most, f"truth: {question.text!r} says that it has {most} answers, got {len(answers)}")
    return answers


def about(answer: Answer) -> Any:
    """What an answer is about: its item or its cell; both where it wrongly has both."""
    if answer.cell is None or answer.item is None:
        return answer.item if answer.cell is None else dict(answer.cell)
    return answer.item, dict(answer.cell)


def name(answer: Answer) -> str:
    """What tells an answer from the others to the same question, since noise may change their order."""
    return f"{answer.query} {about(answer)}"
