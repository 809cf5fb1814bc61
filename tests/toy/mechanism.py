"""Two throws of a die in two rounds of randomised response; each device takes part in one.

Round 1   the sum of the throws. The most common one is made public.
Round 2   the first throw of those who have that sum, "another sum" of the others.
Privacy   each round is generalised randomised response with epsilon, and a device answers once.
Estimate  shares f as randomised response has them; the n devices of a round are drawn from all N, which adds
          f(1-f)(1/n - 1/N) to the variance. The mean is (mean of what is told - (1-t) mean of all sums)/t, where t is
          the chance of the truth, with the variance of what is told over n t^2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Mechanism, State, Values
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Measured
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.promises import Guarantee, PureLDP
from hearsay.mechanisms.layout import Layout, Reports
from hearsay.mechanisms.options import choice
from hearsay.mechanisms.oracles.grr import GRR
from tests.toy.domain import Dice, Throws
from tests.toy.estimate import DiceEstimate

SUMS, FIRST = "r1/sums", "r2/first"
MANY_SIDES = 20


@dataclass(frozen=True)
class TwoThrows(Mechanism):
    """`common` is what the first round made public: the most common sum, counted from 0."""

    domain: Dice
    common: int | None = None

    ID = "two-throws"
    SUMMARY = "the sum of two throws, then how the most common one came about; two rounds"
    OPTIONS = (choice("ties", "low", ("low", "high"), "which of several most common sums is taken"),)
    PICTURE = "bars"
    ESTIMATE = DiceEstimate
    EXAMPLES = ({"epsilon": 2.0, "domain": {"kind": "dice", "sides": 6}},)

    @property
    def rounds(self) -> int:
        return 2

    def in_round(self, history: Sequence[Mapping[str, Any]]) -> Self:
        return replace(self, common=history[0]["common"]) if history else self

    def next_round(self, state: State) -> dict[str, Any] | None:
        if self.common is not None:
            return None
        most = np.flatnonzero(state[SUMS] == state[SUMS].max())
        return {"common": int(most[0 if self.options["ties"] == "low" else -1])}

    def check(self) -> None:
        if self.epsilon > 10:
            raise SpecificationError(
                what="epsilon", expected=f"at most 10 for mechanism {self.ID}", got=f"{self.epsilon:g}"
            )

    def advice(self, postprocess: str = "none") -> list[str]:
        if self.domain.sides <= MANY_SIDES:
            return []
        return [
            f"Dice with {self.domain.sides} sides have {self.domain.size} sums, each with as much noise; roll fewer."
        ]

    def facts(self) -> dict[str, list[str]]:
        return {"rounds": ["sums", "first"], "warnings": ["the second round asks about one sum only"]}

    def picture(self) -> list[str]:
        """A bar for every report of the first round, as long as it is likely when the lowest sum was thrown."""
        chances = self._of_sums.channel()[0]
        return [f"{number + 2:>3} {'#' * round(40 * chance)}" for number, chance in enumerate(chances.tolist())]

    @cached_property
    def _of_sums(self) -> GRR:
        return GRR.over(self.domain.size, self.epsilon)

    @cached_property
    def _of_first(self) -> GRR:
        return GRR.over(self.domain.sides + 1, self.epsilon)

    @property
    def _asked(self) -> GRR:
        return self._of_sums if self.common is None else self._of_first

    @property
    def layout(self) -> Layout:
        return self._asked.layout

    @property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {SUMS: (self.domain.size,), FIRST: (self.domain.sides + 1,)}

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)

    def perturb(self, values: Values, random: Random) -> Reports:
        return self._asked.perturb(self._answers(self.domain.check(values)), random)

    def _answers(self, throws: Throws) -> NDArray[np.int64]:
        return throws.sums if self.common is None else self._first_if_common(throws, self.common)

    def _first_if_common(self, throws: Throws, common: int) -> NDArray[np.int64]:
        return np.where(throws.sums == common, throws.first, self.domain.sides)

    def fold(self, state: State, reports: Reports) -> State:
        self._asked.fold({"hist": state[SUMS if self.common is None else FIRST]}, reports)
        return state

    def reports(self, state: State) -> int:
        return int(state[SUMS].sum() + state[FIRST].sum())

    def estimate(self, state: State) -> DiceEstimate:
        everybody = self.reports(state)
        sums = _among_all(self._of_sums.estimate({"hist": state[SUMS]}), everybody)
        estimate = DiceEstimate(self.domain, everybody, sums, self._mean(state[SUMS]))
        if self.common is None or not state[FIRST].any():
            return estimate
        first = _among_all(self._of_first.estimate({"hist": state[FIRST]}), everybody)
        return replace(estimate, common=self.common, first=first.take(slice(-1)))

    def _mean(self, told: NDArray[np.int64]) -> Measured:
        _, _, truth = self._of_sums.hit_chances()
        eyes, n = np.arange(2, told.size + 2), max(int(told.sum()), 1)
        mean = (eyes * told).sum() / n
        spread = (told * (eyes - mean) ** 2).sum() / n
        return Measured.plain(
            np.array([(mean - (1 - truth) * eyes.mean()) / truth]), np.array([np.sqrt(spread / n) / truth])
        )

    def exact(self, values: Values) -> DiceEstimate:
        throws, sides = self.domain.check(values), self.domain.sides
        shares = np.bincount(throws.sums, minlength=self.domain.size) / len(throws)
        zero, eyes = np.zeros(1), np.array([(throws.sums + 2).mean()])
        sums = Measured.plain(shares, np.zeros_like(shares))
        estimate = DiceEstimate(self.domain, len(throws), sums, Measured.plain(eyes, zero))
        if self.common is None:
            return estimate
        first = np.bincount(self._first_if_common(throws, self.common), minlength=sides + 1)[:-1] / len(throws)
        return replace(estimate, common=self.common, first=Measured.plain(first, np.zeros(sides)))

    def channel(self) -> NDArray[np.float64]:
        return self._asked.channel()[self._answers(self.listed_values())]

    def listed_values(self) -> Throws:
        """Every pair of throws, the first one's eyes first."""
        return Throws(*np.divmod(np.arange(self.domain.sides**2), self.domain.sides))

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        return {"sum": self._of_sums.predicted_stderr(reports)["point"]}


def _among_all(shares: CellEstimate, everybody: int) -> Measured:
    """Shares of all devices, from those who answered one round."""
    f = np.clip(shares.estimate, 0.0, 1.0)
    drawn = f * (1 - f) * (1 / max(shares.reports, 1) - 1 / max(everybody, 1))
    return Measured.plain(shares.estimate, np.sqrt(shares.stderr**2 + drawn))
