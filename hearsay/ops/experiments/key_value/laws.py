"""States drawn from their exact law instead of report by report: a shortcut of the experiments only.

For devices that hold keys independently (`PairLaw`), how many reports a key gets is multinomial, and so are its symbols
given their number. The draws have the law that a fresh population of devices would have; no device is simulated.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.key_value.pckv_grr import PckvGRR
from hearsay.mechanisms.key_value.privkvm import PrivKVM
from hearsay.mechanisms.key_value.sampled_key import SampledOnce
from hearsay.mechanisms.key_value.simulated.laws import PairLaw

Generator = np.random.Generator
Floats = NDArray[np.float64]


def draw_sampled(mechanism: SampledOnce, law: PairLaw, reports: int, generator: Generator) -> State:
    """One round of a mechanism that samples a key of all, and a value dimension; values rounded to signs."""
    state = mechanism.empty()
    for dimension, count in enumerate(_dealt(reports, mechanism.dimensions, generator)):
        state["counts"][:, dimension, :] = _symbols(law, mechanism.symbol_channel(), count, generator)
    return state


def _dealt(reports: int, dimensions: int, generator: Generator) -> list[int]:
    """How many reports each value dimension gets; all dimensions have the law's means."""
    dealt: list[int] = generator.multinomial(reports, np.full(dimensions, 1 / dimensions)).tolist()
    return dealt


def draw_round(mechanism: PrivKVM, state: State, law: PairLaw, reports: int, generator: Generator) -> None:
    """Add the round that the mechanism is in."""
    number = mechanism.number
    channels = mechanism.round_channel(number, mechanism.fakes(number)[:, 0])
    state[mechanism.array(number)][:, 0, :] += _symbols(law, channels, reports, generator)


def run_rounds(mechanism: PrivKVM, law: PairLaw, reports: int, generator: Generator) -> tuple[PrivKVM, State]:
    """All rounds with so many reports each, as the survey would go; the mechanism in its last round."""
    state, history = mechanism.empty(), list[Mapping[str, Any]]()
    while True:
        here = mechanism.in_round(history)
        draw_round(here, state, law, reports, generator)
        parameters = here.next_round(state)
        if parameters is None:
            return here, state
        history.append(parameters)


def _symbols(law: PairLaw, channel: Floats, reports: int, generator: Generator) -> NDArray[np.int64]:
    """Counts by key and symbol; `channel` has rows absent, minus, plus, one table for all keys or one each."""
    keys = len(law.share)
    per_key = generator.multinomial(reports, np.full(keys, 1 / keys))
    holds = np.stack([1 - law.share, law.share * (1 - law.mean) / 2, law.share * (1 + law.mean) / 2], axis=1)
    chances = np.einsum("kr,krs->ks", holds, np.broadcast_to(channel, (keys, *channel.shape[-2:])))
    return generator.multinomial(per_key, chances / chances.sum(axis=1, keepdims=True))


def draw_padded(mechanism: PckvGRR, law: PairLaw, reports: int, generator: Generator) -> State:
    """pckv-grr: one multinomial draw over all (key, sign), sets longer than l included; all dummies alike."""
    state = mechanism.empty()
    sampled = law.share * _weights(law.share.tobytes(), mechanism.length)
    dummies = max(1 - sampled.sum(), 0.0) / mechanism.length
    plus = np.concatenate([sampled * (1 + law.mean) / 2, np.full(mechanism.length, dummies / 2)])
    minus = np.concatenate([sampled * (1 - law.mean) / 2, np.full(mechanism.length, dummies / 2)])
    chances = mechanism.set_channel(np.stack([minus, plus], axis=1).reshape(-1))
    for dimension, count in enumerate(_dealt(reports, mechanism.dimensions, generator)):
        state["counts"][:, dimension, :] = generator.multinomial(count, chances / chances.sum()).reshape(-1, 2)
    return state


@lru_cache(maxsize=16)
def _weights(shares: bytes, length: int) -> Floats:
    """For every key the mean of 1/max(l, size of the set) over the devices that hold it."""
    others = _sizes_without(np.frombuffer(shares))
    weights: Floats = (others / np.maximum(length, 1 + np.arange(others.shape[1]))).sum(axis=1)
    return weights


def _sizes_without(share: Floats) -> Floats:
    """For every key (rows) the chances that a device holds 0, 1, ... of the others.

    The law of all keys is a product of factors (1 - s) + s x. One is divided out again for each key, from the end at
    which that is stable.
    """
    every = np.ones(1)
    for one in share:
        every = np.convolve(every, (1 - one, one))
    keys = len(share)
    without = np.zeros((keys, keys))
    small = share <= 0.5
    for size in range(keys):
        before = without[small, size - 1] if size else 0.0
        without[small, size] = (every[size] - share[small] * before) / (1 - share[small])
    for size in range(keys - 1, -1, -1):
        after = without[~small, size + 1] if size + 1 < keys else 0.0
        without[~small, size] = (every[size + 1] - (1 - share[~small]) * after) / share[~small]
    return without
