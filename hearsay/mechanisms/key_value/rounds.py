"""The parameters that are published between rounds, how a device reads them, and the budgets of rounds.

After a round the collector publishes a mean for every key (and value dimension), as integers out of 2^20. A device that
does not hold the sampled key draws a fake sign with that mean. The device gets the means and draws itself
(`disclose = "means"`, one document for all devices), or it gets signs that were drawn for it (`"draws"`, the paper's
form).

Epsilon holds for any published parameters, because the device perturbs a fake sign like a true one: the probability of
+ is between those of the randomised response. A device takes its budgets from the survey only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import nextafter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import keep_threshold

SCALE = 1 << 20
_SIGNS = {"-": -1, "+": 1}


@dataclass(frozen=True)
class InRounds(Mechanism):
    """A mechanism in one of its rounds; `history` has the published parameters of the rounds so far."""

    history: tuple[Mapping[str, Any], ...] = ()

    @property
    def number(self) -> int:
        """The number of this round, from 1."""
        return len(self.history) + 1

    def in_round(self, history: Sequence[Mapping[str, Any]]) -> Self:
        if len(history) >= self.rounds:
            raise SpecificationError(what="round", expected=f"at most {self.rounds}", got=len(history) + 1)
        return replace(self, history=tuple(history))


def published(means: Floats) -> dict[str, Any]:
    """The parameters of the next round: the means clipped to -1..1, and 0 for unknown ones."""
    clipped = np.clip(np.nan_to_num(means, nan=0.0), -1.0, 1.0)
    return {"means": np.rint(clipped * SCALE).astype(np.int64).reshape(-1).tolist()}


def hand_out(parameters: Mapping[str, Any], disclose: str, random: Random) -> dict[str, Any]:
    """The parameters for one device: the means, or signs drawn for it, `+` and `-` in the order of the keys."""
    if disclose == "means":
        return {"means": list(parameters["means"])}
    plus = draw_plus(read(parameters, len(parameters["means"])), np.arange(len(parameters["means"])), random)
    return {"signs": "".join(np.where(plus, "+", "-"))}


def read(parameters: Mapping[str, Any], size: int) -> NDArray[np.int64]:
    """Means out of 2^20 from a round's parameters, in either form; anything else is refused."""
    if set(parameters) == {"signs"}:
        signs = parameters["signs"]
        if not isinstance(signs, str) or len(signs) != size or set(signs) - set(_SIGNS):
            raise SpecificationError(what="round.signs", expected=f"{size} characters + or -", got="something else")
        return np.array([_SIGNS[sign] for sign in signs], dtype=np.int64) * SCALE
    if set(parameters) == {"means"}:
        means = parameters["means"]
        whole = isinstance(means, list | tuple) and all(type(mean) is int for mean in means)
        if not whole or len(means) != size or any(abs(mean) > SCALE for mean in means):
            raise SpecificationError(
                what="round.means", expected=f"{size} integers in -2^20..2^20", got="something else"
            )
        return np.array(means, dtype=np.int64)
    raise SpecificationError(what="round", must="have exactly one of signs, means", got="something else")


def draw_plus(means: NDArray[np.int64], keys: NDArray[Any], random: Random) -> NDArray[np.bool_]:
    """For each key whether its sign is plus, with probability exactly (1 + mean)/2, from 21 random bits."""
    drawn = random.lanes(32, len(keys)) & np.uint32(2 * SCALE - 1)
    return drawn < (means[keys] + SCALE).astype(np.uint32)


@lru_cache(maxsize=1024)
def truth_threshold(budget: float) -> int:
    """The chance out of 2^64 that randomised response over two values with this budget keeps the true one."""
    return keep_threshold(budget, 2)


def at_most(budget: Fraction) -> float:
    """The largest float that is not above an exact budget."""
    nearest = float(budget)
    return nearest if Fraction(nearest) <= budget else nextafter(nearest, 0.0)
