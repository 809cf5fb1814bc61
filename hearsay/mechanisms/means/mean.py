"""The mean of one number per device, by a channel with finitely many outputs and exact integer weights.

Device    The number is rounded at random to a row of the channel's table, and an output drawn with that row's weights.
Privacy   No output's weight differs by more than e^eps between two rows; checked in integers, on the device as well.
Estimate  The mean of what the outputs stand for; exactly unbiased.
Variance  That of the channel, given the devices' numbers; for `duchi` an upper bound, since its outputs do not show how
          large numbers are.

`minimax` is solved once, when the survey is made; its table then stands in the canonical survey and devices need no
solver. No float is ever sent.
"""

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Mechanism, State
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.intervals import Spread, between, score
from hearsay.mechanisms.exact.counting import count_into
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.promises import Guarantee, PureLDP
from hearsay.mechanisms.layout import Layout, Reports, Scalar, by_parts, smallest_unsigned
from hearsay.mechanisms.means import minimax, published
from hearsay.mechanisms.means.domain import Number
from hearsay.mechanisms.means.estimate import MeanEstimate
from hearsay.mechanisms.means.table import Table
from hearsay.mechanisms.options import Option, choice, integer

_FEW_REPORTS = 10
_BERNSTEIN = log(2 / 0.05)
_PUBLISHED = {"duchi": published.duchi, "piecewise": published.piecewise, "hybrid": published.hybrid}


def _check_table(value: Any) -> Any:
    if value is None:
        return None
    listed = isinstance(value, list | tuple) and all(isinstance(row, list | tuple) for row in value)
    rows = [list(row) for row in value] if listed else []
    shaped = len(rows) == (minimax.NUMBERS + 1) // 2 and all(len(row) == minimax.OUTPUTS for row in rows)
    if not shaped or not all(type(weight) is int for row in rows for weight in row):
        raise SpecificationError(
            what="options.table", expected="9 rows of 33 integers, as the canonical survey has them"
        )
    return rows


@dataclass(frozen=True)
class MeanMechanism(Mechanism):
    """A finite channel on a line."""

    domain: Number

    ESTIMATE: ClassVar[type[MeanEstimate]] = MeanEstimate
    SOLVED: ClassVar[tuple[str, ...]] = ("table",)
    LONG_CHECK: ClassVar[str] = "its table is found by optimisation and checked in exact integers"
    ID = "mean"
    SUMMARY = "the mean of one number per device, by the channel with the least worst variance"
    OPTIONS = (
        choice("channel", "minimax", ("minimax", *_PUBLISHED), "how a number is hidden; minimax has the least error"),
        Option("table", None, _check_table, "the solved channel of minimax; the canonical survey carries it"),
        integer("moments", 1, 1, 2, "2: half of the devices tell the square, for the standard deviation as well"),
    )
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.0, "domain": {"kind": "number", "low": -1, "high": 1}},
        {"epsilon": 2.0, "domain": {"kind": "number", "low": 0, "high": 24}, "options": {"channel": "piecewise"}},
        {"epsilon": 0.5, "domain": {"kind": "number", "low": 0, "high": 1}, "options": {"channel": "duchi"}},
        {"epsilon": 2.0, "domain": {"kind": "number", "low": 0, "high": 1}, "options": {"channel": "hybrid"}},
    )

    def check(self) -> None:
        if self.options["table"] is not None and self.options["channel"] != "minimax":
            raise SpecificationError(f"options.table goes with channel minimax, got {self.options['channel']}")
        self.table.check(self.epsilon)

    @cached_property
    def table(self) -> Table:
        if self.options["channel"] != "minimax":
            return _PUBLISHED[self.options["channel"]](self.epsilon)
        return minimax.from_half(tuple(map(tuple, self._solved)))

    @cached_property
    def _solved(self) -> Any:
        given = self.options["table"]
        return given if given is not None else [list(row) for row in minimax.solve(self.epsilon)]

    def canonical_options(self) -> dict[str, Any]:
        solved = {"table": self._solved} if self.options["channel"] == "minimax" else {}
        return {"channel": self.options["channel"], **solved}

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)

    @cached_property
    def spent_epsilon(self) -> float:
        return self.table.spent_epsilon()

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("output", len(self.table.outputs)))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"hist": (len(self.table.outputs),)}

    def perturb(self, values: Any, random: Random) -> Reports:
        kind = smallest_unsigned(len(self.table.outputs))

        def draw(numbers: NDArray[np.float64]) -> Reports:
            return {"output": self.table.draw(numbers, random).astype(kind)}

        return by_parts(draw, self.domain.scale(self.domain.check(values)))

    def fold(self, state: State, reports: Reports) -> State:
        count_into(state["hist"], reports["output"])
        return state

    def reports(self, state: State) -> int:
        return int(state["hist"].sum())

    def estimate(self, state: State) -> MeanEstimate:
        n = self.reports(state)
        if not n:
            return MeanEstimate(self.domain, 0, float("nan"), float("nan"))
        mean = float(state["hist"] @ self.table.values / n)
        square = float(state["hist"] @ self.table.values**2 / n)
        line = self.table.variance_line
        if line is None:
            variance = max(square - min(mean**2, 1.0), 0.0)
        else:
            variance = min(max(line.start + line.slope * square, line.least), line.most)
        half = (self.domain.high - self.domain.low) / 2
        value, stderr = self.domain.low + half * (mean + 1), half * float(np.sqrt(variance / n))
        # A reported number varies by the channel's noise and by how the devices differ: `square` has both in it.
        among = half**2 * min(max(square - variance - mean**2, 0.0), max(1 - mean**2, 0.0))
        if line is not None and n >= _FEW_REPORTS:
            return MeanEstimate(self.domain, n, value, stderr, among=among)
        if line is not None:
            return MeanEstimate(self.domain, n, value, stderr, self._by_bernstein(value, half, line.most, n), among)
        return MeanEstimate(self.domain, n, *self._scored(value, stderr, mean, square, n))

    def _scored(
        self, value: float, stderr: float, mean: float, square: float, n: int
    ) -> tuple[float, float, tuple[float, float] | None]:
        """With a score interval: (1 + t)/2 is a share, and n Var = square - t^2 is as wrong at the estimate as that."""
        spread = Spread((square - 1) / 4, 1.0, -1.0)
        share, width = np.array([(1 + mean) / 2]), self.domain.high - self.domain.low
        ends = score(share, [spread], n, float(np.abs(self.table.values).max()))
        interval = between(share, np.array([stderr / width]), *ends)
        if interval.low is None or interval.high is None:
            return value, stderr, None
        low, high = (self.domain.low + width * float(end[0]) for end in (interval.low, interval.high))
        return value, width * float(interval.stderr[0]), (low, high)

    def _by_bernstein(self, value: float, half: float, most: float, n: int) -> tuple[float, float]:
        """The error of fewer than ten reports is not normal: use Bernstein's inequality with the largest possible
        variance."""
        apart = float(np.ptp(self.table.values))
        away = half * (sqrt(2 * _BERNSTEIN * most / n) + 2 * _BERNSTEIN * apart / (3 * n))
        return value - away, value + away

    def exact(self, values: Any) -> MeanEstimate:
        numbers = self.domain.check(values)
        return MeanEstimate(self.domain, len(numbers), float(numbers.mean()) if len(numbers) else float("nan"), 0.0)

    def report_spans(self) -> dict[str, float]:
        half = (self.domain.high - self.domain.low) / 2
        return {"mean": half * float(np.ptp(self.table.values))}

    def listed_values(self) -> NDArray[np.float64]:
        half = (self.domain.high - self.domain.low) / 2
        return np.clip(self.domain.low + half * (self.table.numbers + 1), self.domain.low, self.domain.high)

    def channel(self) -> NDArray[np.float64]:
        """Rows: the numbers that the table's rows stand for."""
        return self.table.chances

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        half = (self.domain.high - self.domain.low) / 2
        return {"mean": half * float(np.sqrt(self.table.worst_variance() / reports))}
