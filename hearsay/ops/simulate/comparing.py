"""Answers beside the truth that simulated people have: which intervals hold, and by how much they miss."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from hearsay.collector.showing import Rows
from hearsay.collector.survey.survey import Survey
from hearsay.estimator.answer_table import Answers
from hearsay.mechanisms.domains.domain import Values
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.planning.asked import Asked
from hearsay.mechanisms.planning.drawn_states import play
from hearsay.mechanisms.planning.plan import VALUES
from hearsay.mechanisms.planning.widths import half_width
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import answer, parse_text


@dataclass(frozen=True)
class Compared:
    """One answer, and what is true."""

    answer: Answer
    truth: float | None

    @property
    def holds(self) -> bool | None:
        """Whether the interval contains the truth; None where one of them is unknown."""
        low, high = self.answer.low, self.answer.high
        return None if self.truth is None or low is None or high is None else low <= self.truth <= high

    @property
    def z(self) -> float | None:
        """How many standard errors the value is above the truth."""
        value, stderr = self.answer.value, self.answer.stderr
        return None if self.truth is None or value is None or not stderr else (value - self.truth) / stderr

    def table(self) -> dict[str, Any]:
        """The answer's own fields with `truth`, `holds` and `z`."""
        table = self.answer.table()
        shown: dict[str, Any] = {name: table[name] for name in ("query", "item", "cell") if name in table}
        shown["truth"] = self.truth
        shown |= {name: table[name] for name in ("value", "stderr", "low", "high")}
        return {**shown, "holds": self.holds, "z": self.z}


class Comparison(Rows[Compared]):
    """Answers beside the truth, as a list that shows itself as a table."""

    def plot(self, axes: Any = None) -> Any:
        """The answers' chart with the truth in it, on matplotlib axes, made where none are given."""
        return Answers(row.answer for row in self).plot(axes, [row.truth for row in self])


def compare(question: str, estimate: Estimate, exact: Estimate, postprocess: str = "none") -> list[Compared]:
    """Every answer to a question beside the truth."""
    answers = answer(parse_text(question), estimate, default=postprocess)
    return [Compared(each, value) for each, value in zip(answers, truths(question, answers, exact), strict=True)]


def truths(question: str, answers: Sequence[Answer], exact: Estimate) -> list[float | None]:
    """What is true of each answer: matched by what it is about, since noise decides which are listed, and how."""
    known: dict[str, float | None] = {}
    for text in (question, f"histogram {len(answers)}", "frequencies"):
        for each in _asked(text, exact):
            known.setdefault(_about(each), each.value)
        if all(_about(each) in known for each in answers):
            break
    return [known.get(_about(each)) for each in answers]


def _asked(question: str, exact: Estimate) -> list[Answer]:
    try:
        return answer(parse_text(question), exact)
    except QueryError:
        return []


def _about(each: Answer) -> str:
    """What an answer is about. A quantile's item is its own value, so its query says it."""
    if each.band is not None or (each.item is None and each.cell is None):
        return each.query
    return repr((each.item, sorted((each.cell or {}).items(), key=str)))


@dataclass(frozen=True)
class Repeated:
    """One question, asked of many simulated surveys of the same people."""

    query: str
    runs: int
    coverage: float | None  # share of intervals that contain the truth
    rmse: float | None
    within: float | None  # median half width
    predicted: float | None  # the planner's

    def table(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("query", "runs", "coverage", "rmse", "within", "predicted")}


def repeat(survey: Survey, people: Values, questions: Sequence[str], runs: int, seed: int) -> list[Repeated]:
    """So many surveys of the same people, their states drawn as reports would make them."""
    holds: dict[str, list[bool]] = {question: [] for question in questions}
    errors: dict[str, list[float]] = {question: [] for question in questions}
    widths: dict[str, list[float]] = {question: [] for question in questions}
    for number in range(runs):
        mechanism, state = play(survey.mechanism, people, np.random.default_rng([seed, number]))
        estimate, exact = mechanism.estimate(state), mechanism.exact(people)
        for question in questions:
            try:
                rows = compare(question, estimate, exact)
            except QueryError:
                continue
            holds[question] += [row.holds for row in rows if row.holds is not None]
            errors[question] += [
                row.answer.value - row.truth for row in rows if row.truth is not None and row.answer.value is not None
            ]
            widths[question].append(half_width([row.answer for row in rows]))
    return [
        Repeated(
            question,
            runs,
            sum(holds[question]) / len(holds[question]) if holds[question] else None,
            sqrt(sum(error**2 for error in errors[question]) / len(errors[question])) if errors[question] else None,
            _finite(float(np.median(widths[question]))) if widths[question] else None,
            _predicted(survey, people, question),
        )
        for question in questions
    ]


def _predicted(survey: Survey, people: Values, question: str) -> float | None:
    chosen = survey.mechanism
    options = {name: value for name, value in chosen.canonical_options().items() if value is not None}
    asked = Asked.of(chosen.domain, question, [chosen.ID], {chosen.ID: options}, values=people)
    return _finite(asked.widths(chosen.ID, chosen.epsilon).at(VALUES, len(people)).within)


def _finite(number: float) -> float | None:
    return number if np.isfinite(number) else None
