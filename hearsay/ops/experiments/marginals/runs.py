"""Surveys of one setting repeated: the mean total variation of the estimated marginals from the devices' own."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from hearsay.mechanisms.exact.randomness import SeededRandom
from hearsay.mechanisms.marginals.characters.code import Attributes
from hearsay.mechanisms.marginals.domain import AttributeDomain
from hearsay.mechanisms.marginals.mechanism import AttributeMechanism
from hearsay.mechanisms.marginals.methods.calm import Calm
from hearsay.mechanisms.marginals.methods.inp_em import InpEM
from hearsay.mechanisms.marginals.methods.inp_ht import InpHT
from hearsay.mechanisms.marginals.methods.inp_olh import InpOLH
from hearsay.mechanisms.marginals.methods.marg_ht import MargHT
from hearsay.mechanisms.marginals.methods.marg_views import MargPS, MargRR
from hearsay.mechanisms.marginals.methods.sketch import AttributeSketch
from hearsay.mechanisms.marginals.methods.whole_table import InpPS, InpRR
from hearsay.ops.experiments.marginals.data import People
from hearsay.ops.experiments.marginals.draws import drawn_state

HALF_NORMAL = float(np.sqrt(2 / np.pi))  # mean of |error| in standard errors
MOST_SETS = 60  # of the sets of k attributes: more would not change a mean


class Method(NamedTuple):
    """A method and its options, under the name that tables show."""

    name: str
    made: type[AttributeMechanism]
    options: dict[str, Any]


OURS = Method("inp-ht, ours", InpHT, {})
INP_HT = Method("inp-ht", InpHT, {"weights": "uniform", "t": 1})
INP_RR = Method("inp-rr", InpRR, {"known_total": False})
INP_PS = Method("inp-ps", InpPS, {})
MARG_RR = Method("marg-rr", MargRR, {})
MARG_PS = Method("marg-ps", MargPS, {})
MARG_HT = Method("marg-ht", MargHT, {})
INP_OLH = Method("inp-olh", InpOLH, {})
INP_EM = Method("inp-em, em", InpEM, {"decoder": "em"})
INP_EM_INVERSE = Method("inp-em, inverse", InpEM, {})
SKETCH = Method("sketch", AttributeSketch, {"hashes": 5, "width": 256})
CALM = Method("calm", Calm, {})
DISSERTATION = (INP_RR, INP_PS, INP_HT, MARG_RR, MARG_PS, MARG_HT)


@dataclass(frozen=True)
class Settings:
    """The number of runs, and the source of randomness."""

    runs: int
    quick: bool
    seed: int
    random: SeededRandom

    @property
    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


class Variation(NamedTuple):
    """Total variation: mean over runs and marginals, its spread over runs, and what the variances predict."""

    mean: float
    spread: float
    expected: float | None


def domain(attributes: int, order: int) -> AttributeDomain:
    """Binary attributes."""
    names = [f"a{attribute}" for attribute in range(attributes)]
    return AttributeDomain.parse({"kind": "attributes", "names": names, "order": order})


def build(method: Method, attributes: int, order: int, epsilon: float) -> AttributeMechanism:
    """The method on binary attributes."""
    return method.made.create(epsilon, domain(attributes, order), method.options)


def survey(mechanism: AttributeMechanism, people: People, random: SeededRandom, generator: np.random.Generator) -> Any:
    """The estimate of one survey of these devices: its state is drawn directly if possible, else report by report."""
    state = drawn_state(mechanism, people, generator)
    if state is None:
        state = mechanism.fold(mechanism.empty(), mechanism.perturb(people.values, random))
    return mechanism.estimate(state)


@lru_cache(maxsize=64)
def chosen_sets(attributes: int, order: int) -> tuple[Attributes, ...]:
    """All sets of `order` attributes, or MOST_SETS of them, the same in all runs."""
    sets = list(combinations(range(attributes), order))
    if len(sets) <= MOST_SETS:
        return tuple(sets)
    numbers = np.random.default_rng(order).choice(len(sets), MOST_SETS, replace=False)
    return tuple(sets[number] for number in numbers)


@lru_cache(maxsize=12)
def sample(data: People, devices: int, seed: int) -> People:
    """The devices of one run; cached, since all methods measure the same devices."""
    return data.drawn(devices, np.random.default_rng(seed))


def variation(method: Method, data: People, devices: int, order: int, epsilon: float, settings: Settings) -> Variation:
    """The mean total variation of marginals of `order` attributes, over runs with new devices each."""
    mechanism, generator = build(method, data.attributes, order, epsilon), settings.generator
    sets = chosen_sets(data.attributes, order)
    means, expected = [], []
    for run in range(settings.runs):
        people = sample(data, devices, settings.seed + run)
        tables = survey(mechanism, people, settings.random, generator).tables(sets)
        errors = [np.abs(t.value - people.marginal(t.attributes)).sum() / 2 for t in tables]
        means.append(float(np.mean(errors)))
        expected.append(float(np.mean([HALF_NORMAL * t.stderr.sum() / 2 for t in tables])))
    mean = float(np.mean(expected))
    return Variation(float(np.mean(means)), float(np.std(means, ddof=1)), mean if np.isfinite(mean) else None)


def agrees(measured: Variation, attributes: int, runs: int, tolerance: float = 0.05) -> bool:
    """Whether a mean lies near what the variances predict.

    At least as many errors are independent as there are attributes, each with a spread of 0.76 of its mean: five
    standard errors of the mean over the runs are allowed.
    """
    if measured.expected is None:
        return True
    spread = 0.76 / np.sqrt(attributes * runs)
    return abs(measured.mean / measured.expected - 1) <= tolerance + 5 * spread
