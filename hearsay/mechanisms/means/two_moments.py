"""Mean and standard deviation of one number a device: half of the devices tell x, half x^2, by the same channel.

Device    Scale the number to t in -1..1. Draw x or square without looking at it; tell t, or 2 t^2 - 1, by the channel
          of `mean` with all of epsilon.
Privacy   Epsilon: the question is independent of the number, and a device reports once.
Estimate  m, and s = sqrt(q - m^2 + Var m) with q the mean of t^2; in the domain's units.
Variance  n Var m = 2 V + s^2 and n Var q = 2 V/4 + Var t^2, V the channel's; the last terms since half of the devices
          is asked. What one half lacks the other half has: n Cov(m, q) = -Cov(t, t^2). So 4 s^2 Var s =
          Var q + 4 m^2 Var m - 4 m Cov(m, q). Outputs about t also tell the mean of t^3, and so Cov(t, t^2), where the
          channel has enough of them; elsewhere its bound s sqrt(Var t^2) is taken. The interval of s is that of s^2,
          which is nearly normal; the standard error is the spread of the root of such a normal number.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, nan, sqrt
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.estimates.estimate import Z95, Floats, Measured
from hearsay.mechanisms.exact.counting import count_into
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.layout import Layout, Reports, Scalar, by_parts, smallest_unsigned
from hearsay.mechanisms.means.domain import Number
from hearsay.mechanisms.means.estimate import MeanEstimate
from hearsay.mechanisms.means.mean import MeanMechanism
from hearsay.mechanisms.means.queries import OneSpread

_UNIT = Number(-1.0, 1.0)
_RANKS = np.array([NormalDist().inv_cdf((rank + 0.5) / 64) for rank in range(64)])
_NORMAL = _RANKS / _RANKS.std()  # a normal law of variance 1 in 64 points


class Moment(NamedTuple):
    """A number with its standard error and interval; of no reports nothing is known.

    `half_stderr` is the part of the error that comes from asking half of the devices.
    """

    value: float
    stderr: float
    low: float
    high: float
    half_stderr: float = 0.0

    @property
    def interval(self) -> tuple[float, float]:
        return self.low, self.high

    def scaled(self, factor: float, start: float = 0.0) -> "Moment":
        """In other units."""
        low, high = (start + factor * end for end in self.interval)
        return Moment(start + factor * self.value, factor * self.stderr, low, high, factor * self.half_stderr)


_UNKNOWN = Moment(nan, nan, nan, nan)


@dataclass(frozen=True)
class MomentsEstimate(MeanEstimate, OneSpread):
    """Mean and standard deviation, with their errors, in the domain's own units."""

    spread: Moment = _UNKNOWN

    HEADLINE: ClassVar[tuple[str, ...]] = ("mean", "std")

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "estimate": np.array([self.value, self.spread.value]),
            "stderr": np.array([self.stderr, self.spread.stderr]),
        }

    def std(self) -> Measured:
        value, stderr, low, high = (np.array([part]) for part in self.spread[:4])
        return Measured(value, stderr, low, high)


@dataclass(frozen=True)
class TwoMoments(MeanMechanism):
    """`mean` with `moments = 2`."""

    ESTIMATE: ClassVar[type[MomentsEstimate]] = MomentsEstimate
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "epsilon": 2.0,
            "domain": {"kind": "number", "low": 0, "high": 24},
            "options": {"channel": "hybrid", "moments": 2},
        },
    )

    @cached_property
    def part(self) -> MeanMechanism:
        """The channel on -1..1, of either question."""
        options = {name: value for name, value in self.canonical_options().items() if name != "moments"}
        return MeanMechanism.create(self.epsilon, _UNIT, options)

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("moment", 2), Scalar("output", len(self.table.outputs)))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"x/hist": (len(self.table.outputs),), "square/hist": (len(self.table.outputs),)}

    def perturb(self, values: Any, random: Random) -> Reports:
        kind = smallest_unsigned(len(self.table.outputs))

        def draw(numbers: Floats) -> Reports:
            moment = random.narrow_below(2, len(numbers)).astype(np.uint8)
            reported = np.where(moment == 0, numbers, 2 * numbers**2 - 1)
            return {"moment": moment, "output": self.table.draw(reported, random).astype(kind)}

        return by_parts(draw, self.domain.scale(self.domain.check(values)))

    def fold(self, state: State, reports: Reports) -> State:
        for moment, name in enumerate(self.arrays):
            count_into(state[name], reports["output"][reports["moment"] == moment])
        return state

    def reports(self, state: State) -> int:
        return sum(int(state[name].sum()) for name in self.arrays)

    def estimate(self, state: State) -> MomentsEstimate:
        n, half = self.reports(state), (self.domain.high - self.domain.low) / 2
        m, q = (self._moment(state[name], n) for name in self.arrays)
        mean = m.scaled(half, self.domain.low + half)
        among = half**2 * self._among(state["x/hist"])
        spread = _spread(m, q, self._shared(state["x/hist"], m, q, n)).scaled(half)
        return MomentsEstimate(self.domain, n, mean.value, mean.stderr, mean.interval, among, spread)

    def _shared(self, hist: NDArray[np.int64], m: Moment, q: Moment, n: int) -> float:
        """4 m Cov(t, t^2)/n: what the variance of s^2 has more since each mean asks the other's half of the devices.

        The covariance never exceeds the product of both spreads, which stands for it where outputs do not show it.
        """
        mean, asked, cubes = min(max(m.value, -1.0), 1.0), int(hist.sum()), self.table.cubes
        most = 2 * abs(mean) * m.half_stderr * q.half_stderr
        if cubes is None or not asked or not most:
            return most
        covariance = float(hist @ cubes) / asked - mean * (q.value + 1) / 2
        least = 0.0 if m.low < -1 or m.high > 1 else -most  # where m is cut, so is the error that this would lessen
        return min(max(4 * mean * covariance / n, least), most)

    def _moment(self, hist: NDArray[np.int64], n: int) -> Moment:
        """The mean over all devices, on -1..1, of what half of them tell."""
        asked = int(hist.sum())
        if not asked:
            return Moment(nan, inf, -1.0, 1.0)
        estimate = self.part.estimate({"hist": hist})
        more = self._among(hist) * (1 / asked - 1 / n)
        low, high = (float(end[0]) for end in estimate.mean().ends())
        below, above = (sqrt(away**2 + Z95**2 * more) for away in (estimate.value - low, high - estimate.value))
        stderr = sqrt(estimate.stderr**2 + more)
        return Moment(estimate.value, stderr, estimate.value - below, estimate.value + above, sqrt(more))

    def _among(self, hist: NDArray[np.int64]) -> float:
        """The variance of what the devices asked would tell; 0 where outputs do not show how large numbers are, since
        then the error has their spread in it."""
        return self.part.estimate({"hist": hist}).among if hist.sum() else 0.0

    def canonical_options(self) -> dict[str, Any]:
        return {**super().canonical_options(), "moments": 2}

    def exact(self, values: Any) -> MomentsEstimate:
        numbers = self.domain.check(values)
        if not len(numbers):
            return MomentsEstimate(self.domain, 0, nan, nan)
        std = float(numbers.std())
        return MomentsEstimate(self.domain, len(numbers), float(numbers.mean()), 0.0, spread=Moment(std, 0.0, std, std))

    def channel(self) -> NDArray[np.float64]:
        """Rows: the numbers that the table's rows stand for."""
        squares = 2 * self.table.numbers**2 - 1
        rows = [np.interp(squares, self.table.numbers, column) for column in self.table.chances.T]
        return np.concatenate([self.table.chances, np.stack(rows, axis=1)], axis=1) / 2

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """`std` for evenly spread numbers, whose s^2 is 1/3 of half the width's square."""
        half, worst = (self.domain.high - self.domain.low) / 2, 2 * self.table.worst_variance() / max(reports, 1)
        return {"mean": half * sqrt(worst), "std": half * sqrt(worst / 4 / (4 / 3))}


def _spread(m: Moment, q: Moment, shared: float) -> Moment:
    """The standard deviation on -1..1 from the means of t and of 2 t^2 - 1.

    The interval's ends are the roots of those of s^2 = q - m^2, recovered from both means' intervals: the distances to
    their ends, of q and of the squares of m's, are squared and added; and so is `shared`, which both err together
    because each asks the other's half of the devices.
    """
    if not (isfinite(m.stderr) and isfinite(q.stderr)):
        return Moment(nan, inf, 0.0, 1.0)
    # Means of t lie in -1..1 and variances not below 0, whatever the noise says.
    mean, least_mean, most_mean = (min(max(each, -1.0), 1.0) for each in (m.value, m.low, m.high))
    variance, square = max((q.value + 1) / 2 - mean**2, 0.0), mean**2
    least, most = min(least_mean**2, most_mean**2), max(least_mean**2, most_mean**2)
    least = 0.0 if least_mean <= 0 <= most_mean else least
    below = sqrt(((q.value - q.low) / 2) ** 2 + (most - square) ** 2 + Z95**2 * shared)
    above = sqrt(((q.high - q.value) / 2) ** 2 + (square - least) ** 2 + Z95**2 * shared)
    low, high = (sqrt(max(end, 0.0)) for end in (variance - below, variance + above))
    value = min(max(sqrt(max((q.value + 1) / 2 - m.value**2 + m.stderr**2, 0.0)), low), high)
    error = sqrt((q.stderr / 2) ** 2 + (2 * m.value * m.stderr) ** 2 + shared)
    # The root bends: its spread where s^2 has a normal error and nothing is below 0, and not error/(2 s).
    return Moment(value, float(np.sqrt(np.maximum(variance + error * _NORMAL, 0.0)).std()), low, high)
