"""What is published between rounds, what a device accepts of it, and how a budget is divided.

After a round the collector publishes a mean for every key (and value dimension), as integers out of 2^20. A device that
does not hold the sampled key says a sign drawn with that mean instead of its own. It may get the means and draw itself
(`disclose = "means"`, one document for all), or get signs drawn afresh for it (`"draws"`, the paper's form).

Epsilon holds whatever was published: a sign is flipped after it was chosen, so that a non-holder's chance of saying +
stays within what the coin allows. A device takes its budgets from the survey alone.
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
    """A mechanism that knows which round it serves, and what was made public before it."""

    history: tuple[Mapping[str, Any], ...] = ()

    @property
    def number(self) -> int:
        """The round that this object serves, from 1."""
        return len(self.history) + 1

    def in_round(self, history: Sequence[Mapping[str, Any]]) -> Self:
        if len(history) >= self.rounds:
            raise SpecificationError(f"round must be at most {self.rounds}, got {len(history) + 1}")
        return replace(self, history=tuple(history))


def published(means: Floats) -> dict[str, Any]:
    """The parameters of the next round: means cut to -1..1, 0 where nothing is known."""
    cut = np.clip(np.nan_to_num(means, nan=0.0), -1.0, 1.0)
    return {"means": np.rint(cut * SCALE).astype(np.int64).reshape(-1).tolist()}


def hand_out(parameters: Mapping[str, Any], disclose: str, random: Random) -> dict[str, Any]:
    """What one device gets: the means themselves, or signs drawn for it, `+` and `-` in the keys' order."""
    if disclose == "means":
        return {"means": list(parameters["means"])}
    plus = draw_plus(read(parameters, len(parameters["means"])), np.arange(len(parameters["means"])), random)
    return {"signs": "".join(np.where(plus, "+", "-"))}


def read(parameters: Mapping[str, Any], size: int) -> NDArray[np.int64]:
    """Means out of 2^20 from a round's parameters, in either form; anything else is refused."""
    if set(parameters) == {"signs"}:
        signs = parameters["signs"]
        if not isinstance(signs, str) or len(signs) != size or set(signs) - set(_SIGNS):
            raise SpecificationError(f"round.signs must be {size} characters + or -, got something else")
        return np.array([_SIGNS[sign] for sign in signs], dtype=np.int64) * SCALE
    if set(parameters) == {"means"}:
        means = parameters["means"]
        whole = isinstance(means, list | tuple) and all(type(mean) is int for mean in means)
        if not whole or len(means) != size or any(abs(mean) > SCALE for mean in means):
            raise SpecificationError(f"round.means must be {size} integers in -2^20..2^20, got something else")
        return np.array(means, dtype=np.int64)
    raise SpecificationError("round must have exactly one of signs, means, got something else")


def draw_plus(means: NDArray[np.int64], keys: NDArray[Any], random: Random) -> NDArray[np.bool_]:
    """A sign at each place, plus with probability (1 + mean)/2 exactly: 21 bits decide."""
    drawn = random.lanes(32, len(keys)) & np.uint32(2 * SCALE - 1)
    return drawn < (means[keys] + SCALE).astype(np.uint32)


@lru_cache(maxsize=1024)
def truth_threshold(budget: float) -> int:
    """Chance out of 2^64 that a coin with this budget tells the truth; worked out once, however many rounds ask."""
    return keep_threshold(budget, 2)


def at_most(budget: Fraction) -> float:
    """The largest float that is not above an exact budget."""
    near = float(budget)
    return near if Fraction(near) <= budget else nextafter(near, 0.0)
