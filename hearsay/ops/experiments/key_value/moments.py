"""`mean` with `moments = 2`: stated errors of mean and standard deviation, compared with those of many surveys."""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import build
from hearsay.mechanisms.estimates.estimate import Measured
from hearsay.mechanisms.means.two_moments import TwoMoments
from hearsay.ops.experiments.output import Result

DEVICES, NUMBERS = 20_000, np.linspace(-1, 1, 41)
SETTINGS = ((1.0, "minimax"), (4.0, "minimax"), (4.0, "hybrid"))
ENOUGH_RUNS = 2_000  # to judge by 5% and one in a hundred
Counts = NDArray[np.int64]


def _normal(mean: float, std: float) -> Counts:
    weights = np.exp(-(((NUMBERS - mean) / std) ** 2) / 2)
    return np.rint(DEVICES * weights / weights.sum()).astype(np.int64)


def _at(shares: dict[float, float]) -> Counts:
    return np.array([round(DEVICES * shares.get(round(float(number), 2), 0)) for number in NUMBERS])


class People(NamedTuple):
    """How many devices have each number; `judged`: the interval of std hardly ever begins at 0."""

    counts: Counts
    judged: bool = True

    @property
    def mean(self) -> float:
        return float(NUMBERS @ self.counts / self.counts.sum())

    @property
    def std(self) -> float:
        return sqrt(float((NUMBERS - self.mean) ** 2 @ self.counts / self.counts.sum()))


PEOPLE = {
    "normal 0.25, 0.25": People(_normal(0.25, 0.25)),
    "even": People(np.full(len(NUMBERS), DEVICES // len(NUMBERS))),
    "90% 0.5, 10% -1": People(_at({0.5: 0.9, -1.0: 0.1})),
    "90% 0.2, 10% 1": People(_at({0.2: 0.9, 1.0: 0.1})),
    "both ends": People(_at({-1.0: 0.5, 1.0: 0.5})),
    "90% -1, 10% 1": People(_at({-1.0: 0.9, 1.0: 0.1})),
    "normal 0.5, 0.1": People(_normal(0.5, 0.1), judged=False),
    "all 0.5": People(_at({0.5: 1.0}), judged=False),
}


class Judged(NamedTuple):
    """Of one answer over many surveys: the median stated error over the true one, and the coverage."""

    error: float
    holds: float

    @property
    def cells(self) -> list[str]:
        return [f"{self.error:.3f}", f"{self.holds:.1%}"]


def moments(runs: int, generator: np.random.Generator) -> Result:
    """One row for each channel and population."""
    result = Result(
        "moments",
        f"Errors and intervals of mean and standard deviation, moments = 2, {DEVICES:,} devices on -1..1",
        ["epsilon", "channel", "numbers", "mean: stated/true", "mean: holds", "std: stated/true", "std: holds"],
        [],
        f"{runs:,} surveys per row; stated/true: the median stated standard error over the standard deviation of the "
        "answers; holds: the interval contains the truth. If the standard deviation is no larger than its error (the "
        "last two populations of each channel), its interval begins at 0 and can miss on one side only",
    )
    for epsilon, channel in SETTINGS:
        options = {"moments": 2, "channel": channel}
        mechanism = build(
            {
                "mechanism": "mean",
                "epsilon": epsilon,
                "options": options,
                "domain": {"kind": "number", "low": -1, "high": 1},
            }
        )
        assert isinstance(mechanism, TwoMoments)
        for name, people in PEOPLE.items():
            mean, std = survey_errors(mechanism, people, runs, generator)
            result.rows.append([epsilon, channel, name, *mean.cells, *std.cells])
            if runs >= ENOUGH_RUNS:
                for kind, each in (("mean", mean), ("std", std))[: 1 + people.judged]:
                    where = f"epsilon {epsilon:g}, {channel}, {name}: {kind}"
                    result.expect(abs(each.error - 1) <= 0.05, f"{where}: stated over true error {each.error:.3f}")
                    result.expect(
                        abs(each.holds - 0.95) <= 0.015, f"{where}: {each.holds:.1%} of intervals contain the truth"
                    )
    return result


def survey_errors(
    mechanism: TwoMoments, people: People, runs: int, generator: np.random.Generator
) -> tuple[Judged, Judged]:
    """Mean and standard deviation in so many surveys of the same devices."""
    chances = [_chances(mechanism, numbers) for numbers in (NUMBERS, 2 * NUMBERS**2 - 1)]
    estimates = []
    for _ in range(runs):
        asked = generator.binomial(people.counts, 0.5)
        halves = zip(mechanism.arrays, (asked, people.counts - asked), chances, strict=True)
        state = {name: generator.multinomial(devices, rows).sum(axis=0) for name, devices, rows in halves}
        estimates.append(mechanism.estimate(state))
    return (
        _judged([estimate.mean() for estimate in estimates], people.mean),
        _judged([estimate.std() for estimate in estimates], people.std),
    )


def _chances(mechanism: TwoMoments, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(output | number), one row for each number."""
    rows = np.stack([np.interp(numbers, mechanism.table.numbers, column) for column in mechanism.table.chances.T])
    return (rows / rows.sum(axis=0)).T


def _judged(answers: list[Measured], truth: float) -> Judged:
    value, stderr, low, high = np.array([[part[0] for part in (a.value, a.stderr, *a.ends())] for a in answers]).T
    return Judged(float(np.median(stderr) / value.std()), float(((low <= truth) & (truth <= high)).mean()))
