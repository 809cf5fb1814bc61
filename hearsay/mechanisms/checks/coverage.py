"""The law of coverage: a query's answers, again and again with new noise, against the answers by hand.

Of R runs with normal errors of the stated size, the mean of (error / standard error)^2 is 1 +- sqrt(2/R). So 200 runs
tell a standard error or an interval that is right, or up to 1.2 times too wide, from one that is twice too wide. Within
these bounds a right one fails, and beyond them a wrong one passes, less than once in a million times.
"""

from typing import NamedTuple

import numpy as np

from hearsay.mechanisms.checks.examples import ask, exact_estimate, name, survey_of
from hearsay.mechanisms.checks.law import expect
from hearsay.mechanisms.checks.people import play
from hearsay.mechanisms.estimates.estimate import Z95
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.example import Example
from hearsay.mechanisms.queries.query import Query

RUNS, DEVICES = 200, 4_000
COVERED = 0.86  # of runs that cover with 95% each, fewer than this is less likely than one in a million
SMALLEST, LARGEST = 0.39, 1.57  # mean of (error / standard error)^2
_ROUNDING = 1e-9


class Run(NamedTuple):
    """One run's answer: how far from the truth it is, its standard error, and its interval as distances from it."""

    error: float
    stderr: float | None
    below: float | None
    above: float | None

    @classmethod
    def of(cls, answer: Answer, truth: float) -> "Run | None":
        """None where there is no value."""
        value = answer.unbiased
        if value is None:
            return None
        below, above = (None if end is None else abs(end - value) for end in (answer.low, answer.high))
        return cls(value - truth, answer.stderr, below, above)

    @property
    def reach(self) -> float | None:
        """How far the interval goes towards the truth."""
        return self.below if self.error > 0 else self.above

    @property
    def covers(self) -> bool:
        return self.reach is not None and abs(self.error) <= self.reach + _ROUNDING


def intervals_cover(kind: type[Query], example: Example) -> None:
    """The example's devices, as often as makes some thousands, perturbed and estimated again and again."""
    mechanism, many = survey_of(example, DEVICES)
    random, generator = seeded(5), np.random.default_rng(6)
    exact = ask(kind, example, exact_estimate(example))
    truth = {name(answer): by_hand for answer, by_hand in zip(exact, example.answers, strict=True)}
    without = {name(answer) for answer in exact if kind.lacks_interval(answer)}
    runs: dict[str, list[Run]] = {each: [] for each, by_hand in truth.items() if by_hand is not None}
    for _ in range(RUNS):
        for answer in ask(kind, example, play(mechanism, many, random, generator).estimate()):
            by_hand = truth.get(name(answer))
            run = None if by_hand is None else Run.of(answer, by_hand)
            if run is not None:
                runs[name(answer)].append(run)
    for each, measured in runs.items():
        where = f"{each} in {example.question!r}"
        expect(len(measured) >= COVERED * RUNS, f"coverage: {len(measured)} of {RUNS} runs have a value for {where}")
        if each not in without:
            _check_one(measured, where, 0.0 if kind.WIDER else SMALLEST)


def _check_one(runs: list[Run], where: str, smallest: float) -> None:
    share = float(np.mean([run.covers for run in runs]))
    expect(share >= COVERED, f"coverage: {share:.0%} of the 95% intervals of {where} cover")
    errors = np.array([run.error for run in runs])
    if (np.abs(errors) < _ROUNDING).all():
        return  # known without any error, such as the share of all values
    reach = np.array([run.reach for run in runs], dtype=np.float64)
    spread = float(np.mean((Z95 * errors / reach) ** 2))
    wide = f"intervals of {where} are {spread**-0.5:.3g} times as wide as its errors need"
    expect(smallest < spread < LARGEST, f"coverage: {wide}")
    if all(run.stderr is not None for run in runs):
        stderrs = np.array([run.stderr for run in runs], dtype=np.float64)
        spread = float((errors**2).mean() / (stderrs**2).mean())
        large = f"standard errors of {where} are {spread**-0.5:.3g} times its errors"
        expect(smallest < spread < LARGEST, f"coverage: {large}")
