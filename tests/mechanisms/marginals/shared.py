"""What tests of marginals share: domains, truths, and states that hold exactly what is expected of many devices."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.layout import length_of, select
from hearsay.mechanisms.marginals.domain import AttributeDomain
from hearsay.mechanisms.marginals.mechanism import AttributeMechanism
from hearsay.mechanisms.marginals.methods.calm import Calm
from hearsay.mechanisms.marginals.methods.inp_em import InpEM
from hearsay.mechanisms.marginals.methods.inp_ht import InpHT
from hearsay.mechanisms.marginals.methods.inp_olh import InpOLH
from hearsay.mechanisms.marginals.methods.marg_ht import MargHT
from hearsay.mechanisms.marginals.methods.marg_views import MargPS, MargRR
from hearsay.mechanisms.marginals.methods.whole_table import InpPS, InpRR

MANY = 10**12  # reports of an expected state: its rounding is far below what tests look at
METHODS: tuple[type[AttributeMechanism], ...] = (InpHT, InpRR, InpPS, MargRR, MargPS, MargHT, InpOLH, InpEM, Calm)


def attributes(sizes: Sequence[int], order: int) -> AttributeDomain:
    """A domain with attributes a0, a1, ... of these sizes."""
    names = [f"a{place}" for place in range(len(sizes))]
    return AttributeDomain.parse({"kind": "attributes", "names": names, "sizes": list(sizes), "order": order})


def make(method: type[AttributeMechanism], sizes: Sequence[int], order: int, epsilon: float, **options: Any) -> Any:
    """A method on attributes of these sizes."""
    return method.create(epsilon, attributes(sizes, order), options)


def truth(values: NDArray[np.int64], shape: Sequence[int], chosen: Sequence[int]) -> NDArray[np.float64]:
    """The marginal of the devices' own values, row-major in the order named."""
    sizes = tuple(shape[place] for place in chosen)
    cells = np.ravel_multi_index(tuple(values[:, place] for place in chosen), sizes)
    return np.bincount(cells, minlength=int(np.prod(sizes))) / len(values)


def summed(shares: NDArray[np.float64], shape: Sequence[int], chosen: Sequence[int]) -> NDArray[np.float64]:
    """The marginal of a whole table's shares."""
    others = tuple(axis for axis in range(len(shape)) if axis not in chosen)
    kept = sorted(chosen)
    table = shares.reshape(shape).sum(axis=others)
    return np.transpose(table, [kept.index(place) for place in chosen]).reshape(-1)


def uneven(sizes: Sequence[int], seed: int = 3) -> NDArray[np.float64]:
    """Shares of all combinations with attributes that depend on each other."""
    generator = np.random.default_rng(seed)
    return generator.dirichlet(np.full(int(np.prod(sizes)), 0.4))


def each_report(mechanism: AttributeMechanism) -> list[State]:
    """What every possible report adds to a state."""
    every = mechanism.layout.enumerate()
    return [mechanism.fold(mechanism.empty(), select(every, slice(row, row + 1))) for row in range(length_of(every))]


def expected_state(mechanism: AttributeMechanism, shares: NDArray[np.float64], parts: list[State]) -> State:
    """The state after MANY reports of devices with these shares, every kind of report as often as expected."""
    times = np.rint(shares @ mechanism.channel() * MANY).astype(np.int64)
    return {name: np.tensordot(times, np.stack([part[name] for part in parts]), axes=1) for name in mechanism.arrays}


def sets(mechanism: AttributeMechanism, largest: int | None = None) -> list[tuple[int, ...]]:
    """All sets of 1..k attributes."""
    top = mechanism.order if largest is None else largest
    return [chosen for size in range(1, top + 1) for chosen in combinations(range(len(mechanism.code.sizes)), size)]


class Surveys:
    """Surveys of devices drawn from a population, each state drawn at once from its exact distribution.

    Reports are independent draws from shares x channel, so how often each kind of report comes is multinomial.
    """

    def __init__(self, mechanism: AttributeMechanism, shares: NDArray[np.float64], seed: int) -> None:
        self._mechanism = mechanism
        self._chances = shares @ mechanism.channel()
        self._chances /= self._chances.sum()
        self._parts = {name: np.stack([part[name] for part in each_report(mechanism)]) for name in mechanism.arrays}
        self._generator = np.random.default_rng(seed)

    def estimate(self, devices: int) -> Any:
        """The estimate of one survey."""
        times = self._generator.multinomial(devices, self._chances)
        state = {name: np.tensordot(times, parts, axes=1) for name, parts in self._parts.items()}
        return self._mechanism.estimate(state)


def independent(sizes: Sequence[int], shares: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Shares of all combinations of independent attributes."""
    table = np.ones(1)
    for own in shares:
        table = np.kron(table, np.asarray(own))
    assert table.size == int(np.prod(sizes))
    return table
