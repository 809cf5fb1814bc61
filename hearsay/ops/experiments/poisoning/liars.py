"""What the worst reports do that a share of false senders can choose.

Liars want one answer to be as large as can be. They rank reports by how much each moves that answer, and send either
the best one again and again, or the best of many different ones; whichever moves the answer further counts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.collector.describe.attackers import WORST, moved_by
from hearsay.collector.survey.survey import Survey, parse
from hearsay.mechanisms.base import Mechanism, State
from hearsay.mechanisms.estimates.ranges import middle_half
from hearsay.mechanisms.exact.randomness import SeededRandom, seeded
from hearsay.mechanisms.layout import Reports, length_of, select

SIZE, EPSILON = 64, 1.0
LINE: dict[str, Any] = {"kind": "ordinal", "size": SIZE}
NUMBER: dict[str, Any] = {"kind": "number", "low": -1, "high": 1}
TABLES: dict[str, dict[str, Any]] = {
    **{name: {"mechanism": name, "domain": LINE} for name in ("grr", "ss", "sue", "oue", "hr", "hrr", "olh", "haar")},
    "flat, oue": {"mechanism": "flat", "domain": LINE, "options": {"oracle": "oue"}},
    "mean, minimax": {"mechanism": "mean", "domain": NUMBER},
    "mean, duchi": {"mechanism": "mean", "domain": NUMBER, "options": {"channel": "duchi"}},
}
CANDIDATES = 400  # reports that liars choose from, drawn as honest devices draw them
TARGET = SIZE // 2 + 1  # the cell that liars raise


@dataclass(frozen=True)
class Shift:
    """How far an answer of a survey moved, and by how much it may."""

    name: str
    kind: str
    moved: float
    stated: float
    worst: float  # where false reports also raise the counts that answers are divided by


def shifts(users: int, liars: int, seed: int) -> Iterator[Shift]:
    """Every mechanism, every kind of answer that it has a bound for."""
    for name, table in TABLES.items():
        survey = parse({"name": "a", "epsilon": EPSILON, **table})
        bound = moved_by(survey, liars, users)
        for kind in ("point", "range", "mean"):
            if kind in bound:
                moved = furthest(survey, kind, users, liars, seeded(seed))
                worst = bound[kind] * (WORST / bound["raised_norms"] if bound["raised_norms"] > 1 else 1.0)
                yield Shift(name, kind, moved, bound[kind], worst)


def furthest(survey: Survey, kind: str, users: int, liars: int, random: SeededRandom) -> float:
    """By how much the liars' best choice moves the answer from what the same devices, all honest, give."""
    mechanism, ask = survey.mechanism, _asked(survey, kind)
    honest = mechanism.perturb(_values(survey, users, random), random)
    whole = mechanism.fold(mechanism.empty(), honest)
    kept = mechanism.fold(mechanism.empty(), select(honest, slice(liars, None)))
    candidates = mechanism.perturb(_values(survey, CANDIDATES, random), random)
    best = np.argsort(_influences(mechanism, ask, kept, candidates))[::-1]
    choices = (np.repeat(best[:1], liars), np.resize(best[: CANDIDATES // 20], liars))
    return max(ask(_with(mechanism, kept, select(candidates, chosen))) for chosen in choices) - ask(whole)


def _influences(
    mechanism: Mechanism, ask: Callable[[State], float], kept: State, candidates: Reports
) -> NDArray[np.float64]:
    """The answer after each candidate was sent a hundred times."""
    each = (np.full(100, number) for number in range(length_of(candidates)))
    return np.array([ask(_with(mechanism, kept, select(candidates, chosen))) for chosen in each])


def _with(mechanism: Mechanism, state: State, reports: Reports) -> State:
    return mechanism.fold({name: array.copy() for name, array in state.items()}, reports)


def _asked(survey: Survey, kind: str) -> Callable[[State], float]:
    """The answer that the liars raise."""
    estimate: Callable[[State], Any] = survey.mechanism.estimate
    x, y = middle_half(SIZE)
    asked: dict[str, Callable[[State], float]] = {
        "point": lambda state: float(estimate(state).estimate[TARGET]),
        "range": lambda state: float(estimate(state).estimate[x:y].sum()),
        "mean": lambda state: float(estimate(state).value),
    }
    return asked[kind]


def _values(survey: Survey, count: int, random: SeededRandom) -> Any:
    generator = np.random.default_rng(int(random.words(1)[0]))
    return survey.mechanism.domain.simulated("uniform", count, generator)
