"""A survey with all its rounds, from the first empty state to the last estimate, without server and wire."""

from typing import Any

import numpy as np

from hearsay.mechanisms import Mechanism, merge
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.planning.drawn_states import draw_values


def estimate_after_rounds(mechanism: Mechanism, people: Any, generator: np.random.Generator) -> Estimate:
    """What is known when the last round is over.

    Everybody answers every round; or, where a device is asked once, one of equal parts does, which are drawn afresh in
    every run: who is in which round is part of the error.
    """
    state, asked, rounds = mechanism.empty(), mechanism, mechanism.rounds
    groups = rounds if mechanism.one_round_each else 1
    parts = np.array_split(generator.permutation(len(people)), groups) if groups > 1 else [slice(None)] * rounds
    history: list[dict[str, Any]] = []
    for number in range(rounds):
        merge(state, draw_values(asked, people[parts[number]], generator))
        public = asked.next_round(state)
        if public is None:
            break
        history.append(public)
        asked = mechanism.in_round(history)
    return asked.estimate(state)
