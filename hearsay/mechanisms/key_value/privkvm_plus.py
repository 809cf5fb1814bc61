"""PrivKVM+: rounds with a stopping rule (Ye et al. 2019 V.D, algorithm 6, with a corrected budget).

Device    As in `privkvm`. Round r spends eps/t (1-1/t)^(r-1) with t = `decay`; round 1 spends half of it on presence.
Privacy   Each round spends 1/t of the remaining budget, so all rounds together spend less than eps. (The paper's line 8
          subtracts only the last round from the whole budget, and so overspends from round 3 on.)
Stop      After a round in which the means change by at most `cost` on average; or if the noise of the next round,
          sqrt(2/pi)/(tanh(eps_next/2) sqrt N) with N reports per key, is at least that change; or after `rounds`. (The
          paper's rule (6) has the first part only: the change includes noise, so it does not stop.)
Estimate  As in `privkvm`.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import pi, sqrt, tanh
from typing import Any, ClassVar

import numpy as np

from hearsay.mechanisms.base import State
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.key_value.privkvm import SHARED_OPTIONS, PrivKVM
from hearsay.mechanisms.key_value.rounds import at_most
from hearsay.mechanisms.options import integer, number


@dataclass(frozen=True)
class PrivKVMPlus(PrivKVM):
    """Rounds with decreasing budgets, and a stopping rule."""

    ID = "privkvm+"
    SUMMARY = "PrivKVM with budgets that decay from round to round; stops when another round is not worth its cost"
    OPTIONS = (
        number("cost", 0.02, 0.0, 2.0, "what a round costs, in units of the means' average error (-1..1)"),
        integer("rounds", 6, 1, 64, "rounds at most"),
        number("decay", 2.0, 1.01, 100.0, "t: every round spends 1/t of what is left of epsilon"),
        *SHARED_OPTIONS,
    )
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 2.0, "domain": {"kind": "key-value", "keys": 3}, "options": {"rounds": 2, "cost": 0.1}},
    )

    def round_budget(self, number: int) -> Fraction:
        """The exact epsilon of a round."""
        part = 1 / Fraction(self.options["decay"])
        return Fraction(self.epsilon) * part * (1 - part) ** (number - 1)

    def presence_budget(self) -> float:
        return at_most(self.round_budget(1) / 2)

    def sign_budget(self, number: int) -> float:
        return at_most(self.round_budget(number) / (2 if number == 1 else 1))

    def change(self, state: State) -> Floats:
        """By how much every mean changed in this round."""
        now = np.clip(np.nan_to_num(self.estimated_means(state), nan=0.0), -1.0, 1.0)
        before = self.fakes(self.number) if self.number > 1 else np.full_like(now, self.options["initial"])
        return np.abs(now - before)

    def why_over(self, state: State) -> str | None:
        """A message why there is no further round; None if there is one."""
        if self.number >= self.rounds:
            return f"the last of {self.rounds} rounds is done"
        change = float(self.change(state).mean())
        if change <= self.options["cost"]:
            return f"means changed by {change:.3g} on average, not more than a round's cost {self.options['cost']:g}"
        each = float(state[self.array(self.number)].sum()) / (self.domain.size * self.dimensions)
        noise = sqrt(2 / pi) / (tanh(self.sign_budget(self.number + 1) / 2) * sqrt(each)) if each else float("inf")
        if noise >= change:
            return f"the next round's noise {noise:.3g} would be above the change of the means, {change:.3g}"
        return None

    def next_round(self, state: State) -> dict[str, Any] | None:
        return None if self.why_over(state) else self.announcement(state)
