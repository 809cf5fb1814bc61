"""The people that laws are checked on, and a survey's rounds played to the end without server and wire."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Mechanism, State, merge
from hearsay.mechanisms.domains.axis import AxesDomain
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.exact.randomness import Random, seeded
from hearsay.mechanisms.layout import Reports


def skewed_people(mechanism: Mechanism, count: int, seed: int = 1) -> Any:
    """Values with some heavy cells, in the shape that `perturb` takes."""
    generator = np.random.default_rng(seed)

    def draw(size: int) -> NDArray[np.int64]:
        return np.minimum(generator.geometric(0.35, count) - 1, size - 1)

    domain = mechanism.domain
    if not isinstance(domain, AxesDomain):
        return domain.people(draw)
    axes = [draw(size) for size in domain.shape]
    return axes[0] if len(axes) == 1 else np.stack(axes, axis=1)


def true_shares(mechanism: Mechanism, values: Any) -> NDArray[np.float64]:
    """The shares of a domain of cells that a perfect estimate would give."""
    domain: Any = mechanism.domain
    cells = domain.flatten(values)
    return (np.bincount(cells, minlength=domain.size) / len(cells)).reshape(domain.shape)


def folded(mechanism: Mechanism, reports: Reports) -> State:
    """The state of these reports alone."""
    return mechanism.fold(mechanism.empty(), reports)


class Played(NamedTuple):
    """The mechanism in each round that was played, and the sum of their states."""

    rounds: tuple[Mechanism, ...]
    state: State

    @property
    def mechanism(self) -> Mechanism:
        """In its last round."""
        return self.rounds[-1]

    def estimate(self) -> Estimate:
        """What is known when the last round is over."""
        return self.mechanism.estimate(self.state)


def play(mechanism: Mechanism, values: Any, random: Random, generator: np.random.Generator) -> Played:
    """Every round in turn, with all devices; or with an equal part of them where a device answers in one round only.

    Who is in which part is drawn anew, since it is part of the error.
    """
    rounds = mechanism.rounds
    parts: list[Any] = [slice(None)] * rounds
    if mechanism.one_round_each and rounds > 1:
        parts = np.array_split(generator.permutation(len(values)), rounds)
    state, played, history = mechanism.empty(), [mechanism], []
    for part in parts:
        asked = played[-1]
        merge(state, folded(asked, asked.perturb(values[part], random)))
        parameters = asked.next_round(state)
        if parameters is None:
            break
        history.append(parameters)
        played.append(mechanism.in_round(history))
    return Played(tuple(played), state)


def in_every_round(mechanism: Mechanism) -> tuple[Mechanism, ...]:
    """The mechanism as devices meet it, in each of its rounds."""
    if mechanism.rounds == 1:
        return (mechanism,)
    return play(mechanism, skewed_people(mechanism, 3_000), seeded(2), np.random.default_rng(2)).rounds
