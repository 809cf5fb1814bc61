"""`hearsay experiment planning`: predicted widths against those of simulated surveys."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Estimate, Floats
from hearsay.mechanisms.planning.drawn_states import play
from hearsay.mechanisms.planning.widths import Width, half_width
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import Question, answer
from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option
from hearsay.ops.experiments.planning.cases import (
    EPSILONS,
    QUICK_EPSILONS,
    QUICK_USERS,
    SHAPES,
    USERS,
    Case,
    cases,
    every_mechanism,
)

_SMOOTH, _VARYING = 0.10, 0.20  # how much a prediction may be off
_HOLDS = (0.85, 0.95)  # surveys narrower than within_90
_MANY = 100_000  # users from which a fifth of the runs are enough: widths hardly differ between surveys
_ROUNDING = 2e-3
_COLUMNS = ["mechanism", "kind", "query", "least", "largest", "narrower", "settings"]


@dataclass
class Comparison:
    """Of one question: predicted over simulated width in every setting, and how often within_90 held."""

    varies: bool
    ratios: list[float]
    below: list[float]  # share of surveys strictly narrower than within_90
    at_most: list[float]  # share of surveys not wider


@click.command()
@out_option("planning")
@click.option("--runs", type=click.IntRange(10, 10_000), default=200, show_default=True,
              help="Simulated surveys of every setting; a fifth with 200,000 users.")  # fmt: skip
@click.option("--only", type=click.Choice(every_mechanism()), multiple=True, help="Only these mechanisms.")
@click.option("--every-kind", is_flag=True, help="On every kind of domain that a mechanism takes, not only the first.")
@click.option("--quick", is_flag=True, help="One number of users, one epsilon and one shape.")
@seed_option(24)
def command(out: Path, runs: int, only: tuple[str, ...], every_kind: bool, quick: bool, seed: int) -> None:
    """Compare the planner's widths with those of simulated surveys.

    Every mechanism, each question that it answers, three shapes, 2,000 to 200,000 users, epsilon 0.5 to 4. Exits with 1
    where a prediction is off by more than 10% (quantiles and means of keys: 20% or one cell), or where `within_90` does
    not hold in 85 to 95% of the surveys of such a question.
    """
    publish_all([compared(only or every_mechanism(), runs, every_kind, quick, seed)], out)


def compared(mechanisms: Sequence[str], runs: int, every_kind: bool, quick: bool, seed: int) -> Result:
    """One row for every mechanism, kind of domain and question."""
    result = Result(
        "planning",
        f"Predicted over simulated half width, {runs} surveys",
        _COLUMNS,
        [],
        "least and largest over shapes, users and epsilons; narrower: percent of surveys not wider than within_90",
    )
    for mechanism in mechanisms:
        for case in islice(cases(mechanism), None if every_kind else 1):
            for question, found in _compare(case, runs, quick, seed).items():
                _add(result, case, question, found)
    return result


def _compare(case: Case, runs: int, quick: bool, seed: int) -> dict[str, Comparison]:
    found: dict[str, Comparison] = {}
    for shape, users, epsilon in _settings(quick):
        predicted = {each: case.asked(each, shape).widths(case.mechanism, epsilon) for each in case.questions}
        generator = np.random.default_rng([seed, users, round(10 * epsilon)])
        people = case.domain.simulated(shape, users, generator)
        any_of_them = next(iter(predicted.values()))
        widths: dict[str, list[float]] = {question: [] for question in case.questions}
        for _ in range(runs if users < _MANY else max(10, runs // 5)):
            mechanism, state = play(any_of_them.mechanism, people, generator)
            estimate = mechanism.estimate(state)
            for question, width in predicted.items():
                widths[question].append(half_width(_answers(width.question, estimate)))
        for question, width in predicted.items():
            one = found.setdefault(question, Comparison(width.varies, [], [], []))
            _note(one, width.at(shape, users), np.array(widths[question]), _cell(case, question))
    return found


def _settings(quick: bool) -> Iterator[tuple[str, int, float]]:
    for shape in SHAPES[1:2] if quick else SHAPES:
        for users in QUICK_USERS if quick else USERS:
            for epsilon in QUICK_EPSILONS if quick else EPSILONS:
                yield shape, users, epsilon


def _answers(question: Question, estimate: Estimate) -> list[Answer]:
    try:
        return answer(question, estimate)
    except QueryError:
        return []


def _cell(case: Case, question: str) -> float:
    """How far a quantile's band may be off in its own unit: bands end at cells."""
    if not case.asked(question, SHAPES[0]).ranked:
        return 0.0
    axes: Any = getattr(case.domain, "axes", ())
    return float(axes[0].units(1) - axes[0].units(0)) if len(axes) == 1 else 0.0


def _note(one: Comparison, predicted: Width, simulated: Floats, cell: float) -> None:
    known = simulated[np.isfinite(simulated)]
    if known.size < simulated.size / 2 or not np.isfinite(predicted.within):
        return  # in most such surveys nothing can be said, and the planner says so
    median = float(np.median(known))
    off = predicted.within - median
    one.ratios.append(1.0 if abs(off) <= cell else predicted.within / median)
    one.below.append(float((simulated < predicted.within_90 * (1 - _ROUNDING)).mean()))
    one.at_most.append(float((simulated <= predicted.within_90 * (1 + _ROUNDING)).mean()))


def _add(result: Result, case: Case, question: str, one: Comparison) -> None:
    if not one.ratios:
        return
    least, largest, at_most = min(one.ratios), max(one.ratios), float(np.mean(one.at_most))
    result.rows.append(
        [case.mechanism, case.domain.kind, question, f"{least:.3f}", f"{largest:.3f}", f"{100 * at_most:.0f}",
         len(one.ratios)]
    )  # fmt: skip
    allowed = _VARYING if one.varies else _SMOOTH
    what = f"{case.mechanism}, {case.domain.kind}, {question}"
    result.expect(least >= 1 - allowed and largest <= 1 + allowed, f"{what}: ratios {least:.3f} to {largest:.3f}")
    if one.varies and len(one.ratios) > 1:
        result.expect(at_most >= _HOLDS[0], f"{what}: {at_most:.0%} of the surveys are narrower than within_90")
        below = float(np.mean(one.below))
        result.expect(below <= _HOLDS[1], f"{what}: {below:.0%} of the surveys are narrower than within_90")
