"""Sums of windows in which devices repeat their report: their intervals hold, and quantiles are refused."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build, merge
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import select
from hearsay.mechanisms.questions import answer, parse_text

RUNS = 300
VALUES = np.repeat([0, 1, 2, 3], [800, 600, 400, 200])


@dataclass(frozen=True)
class Sum:
    """A survey, a question about some cells, how many windows, and how many of the devices take part in each."""

    survey: dict[str, Any]
    question: str
    cells: tuple[int, ...]
    windows: int
    part: float = 1.0


LINE = {"mechanism": "haar", "epsilon": 2.0, "domain": {"kind": "ordinal", "size": 4}}
CASES = {
    "all repeat": Sum(
        {"mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 4}}, "point 1", (1,), 10
    ),
    "some are away": Sum(
        {"mechanism": "oue", "epsilon": 4.0, "domain": {"kind": "categorical", "size": 4}}, "point 2", (2,), 7, 0.6
    ),
    "a range": Sum(LINE, "range 1 2", (1, 2), 7),
    "a range of few windows": Sum(LINE, "range 2 3", (2, 3), 2, 0.8),
    "a tree": Sum({**LINE, "mechanism": "hierarchical"}, "range 0 1", (0, 1), 5),
}


def share(case: Sum, run: int) -> list[bool]:
    """Whether the interval holds, first as a sum of repeated windows, then as if all had been drawn afresh."""
    mechanism: Any = build(case.survey)
    reports, state = mechanism.perturb(VALUES, seeded(run)), mechanism.empty()
    generator, here = np.random.default_rng(run), np.zeros(len(VALUES))
    for _ in range(case.windows):
        chosen = np.flatnonzero(generator.random(len(VALUES)) < case.part)
        merge(state, mechanism.fold(mechanism.empty(), select(reports, chosen)))
        here[chosen] += 1
    truth = here[np.isin(VALUES, case.cells)].sum() / here.sum()
    holds = []
    for repeats in (case.windows, 1):
        estimate = mechanism.estimate(state)
        object.__setattr__(estimate, "repeats", repeats)
        (interval,) = answer(parse_text(case.question), estimate)
        assert interval.low is not None
        assert interval.high is not None
        holds.append(interval.low <= truth <= interval.high)
    return holds


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_intervals_of_sums_hold(case: Sum) -> None:
    repeated, fresh = np.mean([share(case, run) for run in range(RUNS)], axis=0)
    print(f"{repeated:.1%} hold, {fresh:.1%} as if drawn afresh")
    assert repeated >= 0.91  # 95% of 300, less three standard errors
    assert fresh < repeated - (0.1 if case.windows > 2 else 0.0)


def test_quantiles_of_sums_are_refused() -> None:
    mechanism = build({"mechanism": "haar", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 8}})
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(VALUES, seeded(1))))
    object.__setattr__(estimate, "repeats", 2)
    with pytest.raises(QueryError, match="name one window"):
        answer(parse_text("quantile 0.5"), estimate)
    assert answer(parse_text("range 0 3"), estimate)
