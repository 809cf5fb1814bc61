"""One mechanism's predicted widths held against those of simulated surveys, in every setting."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Estimate, Floats
from hearsay.mechanisms.planning.asked import Asked
from hearsay.mechanisms.planning.drawn_states import play
from hearsay.mechanisms.planning.widths import Guess, Played, Width, around_median, half_width
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import Question, answer
from hearsay.ops.experiments.planning.cases import EPSILONS, QUICK_EPSILONS, QUICK_USERS, SHAPES, USERS, Case

_SMOOTH, _VARYING = 0.10, 0.20  # how much a prediction may be off
_HOLDS = (0.85, 0.95)  # surveys narrower than within_90
_ROUNDING = 2e-3


@dataclass
class Comparison:
    """Of one question: predicted over simulated median width in every setting, and how often within_90 held."""

    varies: bool
    ratios: list[float] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)  # settings in which it is further from the median than it may be
    off: list[str] = field(default_factory=list)  # those of them in which the median's own interval does not explain it
    below: list[float] = field(default_factory=list)  # share of surveys strictly narrower than within_90
    at_most: list[float] = field(default_factory=list)  # share of surveys not wider

    def note(self, setting: str, predicted: Width, simulated: Floats, cell: float) -> None:
        """Add a setting. A quantile may be one cell off; the median of few surveys is itself uncertain.

        A prediction is compared with the nearest point of the median's own 95% interval, which is between two of the
        simulated widths. That matters where widths jump, as with the three tallest of values that have two widths.
        """
        known = np.sort(simulated[np.isfinite(simulated)])
        if known.size < simulated.size / 2 or not isfinite(predicted.within):
            return  # in most such surveys nothing can be said, and the planner says so
        median, (low, high) = float(np.median(known)), around_median(known)
        within = predicted.within
        nearest = min(max(within, low), high)
        close = abs(within - median) <= cell
        self.ratios.append(1.0 if close or within == median else within / median if median else np.inf)
        bound = _VARYING if self.varies else _SMOOTH
        described = f"{setting} {within:.4g} for {median:.4g}, interval {low:.4g} to {high:.4g}"
        if not close and abs(within - median) > bound * median:
            self.beyond.append(described)
        if not close and abs(within - nearest) > bound * nearest:
            self.off.append(described)
        self.below.append(float((simulated < predicted.within_90 * (1 - _ROUNDING)).mean()))
        self.at_most.append(float((simulated <= predicted.within_90 * (1 + _ROUNDING)).mean()))

    def failures(self) -> Iterator[str]:
        """What is out of bounds, in words."""
        if self.off:
            yield f"{len(self.off)} of {len(self.ratios)} predictions are off: {', '.join(self.off[:3])}"
        if self.varies and len(self.ratios) > 1:
            if np.mean(self.at_most) < _HOLDS[0]:
                yield f"{np.mean(self.at_most):.0%} of the surveys are narrower than within_90"
            if np.mean(self.below) > _HOLDS[1]:
                yield f"{np.mean(self.below):.0%} of the surveys are narrower than within_90"


def compare(case: Case, runs: int, quick: bool, seed: int) -> dict[str, Comparison]:
    """Every question of a case. People are drawn once for all epsilons, a survey is played once for all questions."""
    asked = {question: case.asked(question, SHAPES[0]) for question in case.questions}
    epsilons = QUICK_EPSILONS if quick and case.epsilons == EPSILONS else case.epsilons
    built = {epsilon: next(iter(asked.values())).build(case.mechanism, epsilon) for epsilon in epsilons}
    comparisons: dict[str, Comparison] = {}
    for number, shape in enumerate(SHAPES[1:2] if quick else SHAPES):
        for users in QUICK_USERS if quick else USERS:
            generator = np.random.default_rng([seed, users, number])
            simulated = _simulated(case, built, asked, shape, users, runs, generator)
            for epsilon, mechanism in built.items():
                played = Played(mechanism, Guess(case.domain), {})
                for question, each in asked.items():
                    width = each.widths_of(played)
                    one = comparisons.setdefault(question, Comparison(width.varies))
                    widths = np.array(simulated[epsilon, question])
                    one.note(f"{shape} {users} {epsilon:g}:", width.at(shape, users), widths, _cell(case, question))
    return comparisons


def _simulated(
    case: Case,
    built: Mapping[float, Mechanism],
    asked: Mapping[str, Asked],
    shape: str,
    users: int,
    runs: int,
    generator: np.random.Generator,
) -> dict[tuple[float, str], list[float]]:
    """The widths of every question in so many surveys, for each epsilon."""
    widths: dict[tuple[float, str], list[float]] = {(epsilon, question): [] for epsilon in built for question in asked}
    for _ in range(runs):
        people = case.domain.simulated(shape, users, generator)
        for epsilon, mechanism in built.items():
            last, state = play(mechanism, people, generator)
            estimate = last.estimate(state)
            for question, each in asked.items():
                widths[epsilon, question].append(half_width(_answers(each.question, estimate)))
    return widths


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
