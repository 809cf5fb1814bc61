"""Simulated populations: named distributions over the cells of any domain.

Each is a vector of probabilities over the cells of one axis, so that the truth is known exactly; on a grid the axes
are independent. `x` is the middle of a cell as a fraction of the axis, between 0 and 1.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Domain, Indices
from hearsay.producer import pair_populations
from hearsay.producer.errors import DistributionError
from hearsay.producer.pair_populations import PairLaw

Shares = NDArray[np.float64]


def _middles(size: int) -> Shares:
    return (np.arange(size) + 0.5) / size


def _cauchy(size: int) -> Shares:
    """Heavy tails around 0.4, scale 0.1: the dissertation's data for range queries (Kulkarni 5.5)."""
    return 1 / (1 + ((_middles(size) - 0.4) / 0.1) ** 2)


def _normal(size: int) -> Shares:
    """A bell around the middle, a sixth of the axis wide."""
    return np.exp(-0.5 * ((_middles(size) - 0.5) * 6) ** 2)


def _bimodal(size: int) -> Shares:
    """Two bells, at 0.25 and, half as high, at 0.75."""
    x = _middles(size)
    return np.exp(-0.5 * ((x - 0.25) * 12) ** 2) + 0.5 * np.exp(-0.5 * ((x - 0.75) * 12) ** 2)


def _uniform(size: int) -> Shares:
    return np.ones(size)


def _zipf(size: int) -> Shares:
    """The cell of rank r has weight 1/r."""
    return 1 / np.arange(1, size + 1)


def _geometric(size: int) -> Shares:
    """Each cell a factor below the one before; a tenth of the axis holds 63% of the whole."""
    return np.exp(-np.arange(size) / max(size / 10, 1))


def _point(size: int) -> Shares:
    """Everybody holds the same value, the middle one: the hardest case for quantiles."""
    return (np.arange(size) == size // 2).astype(np.float64)


_WEIGHTS: dict[str, Callable[[int], Shares]] = {
    "cauchy": _cauchy,
    "zipf": _zipf,
    "normal": _normal,
    "uniform": _uniform,
    "geometric": _geometric,
    "bimodal": _bimodal,
    "point": _point,
}
NAMES = tuple(_WEIGHTS)  # for any domain; key-value pairs have laws of their own beside them
ALL_NAMES = (*NAMES, *pair_populations.NAMES)
SPREAD = 0.3  # of values around their key's mean


def shares(name: str, size: int) -> Shares:
    """The probability of every cell of an axis."""
    if name not in _WEIGHTS:
        raise DistributionError(f"distribution must be one of {', '.join(ALL_NAMES)}, got {name!r}")
    weights = _WEIGHTS[name](size)
    return weights / weights.sum()


class Population:
    """Values of simulated people, drawn independently; repeatable where the generator is seeded."""

    def __init__(self, name: str, domain: Domain, generator: np.random.Generator) -> None:
        self._name, self._domain, self._generator = name, domain, generator
        self._cumulative: dict[int, Shares] = {}
        self._pairs = PairLaw.named(name, domain.size, SPREAD) if name in pair_populations.NAMES else None
        if self._pairs is None:
            shares(name, 2)  # an unknown name is refused now
        elif domain.numbers_per_key is None:
            raise DistributionError(f"distribution {name} is of key-value pairs, this domain is {domain.kind}")

    @property
    def truth(self) -> Shares:
        """The probability of every cell, of a domain of cells."""
        if not isinstance(self._domain, Cells):
            raise DistributionError(f"the truth of a domain of kind {self._domain.kind} is no list of cells")
        return reduce(np.multiply.outer, [shares(self._name, size) for size in self._domain.shape])

    def take(self, count: int) -> Any:
        """The values of the next people."""
        numbers = self._domain.numbers_per_key
        if self._pairs is not None and numbers is not None:
            return self._pairs.draw(count, numbers, self._generator)
        return self._domain.people(lambda size: self._draw(size, count))

    def _draw(self, size: int, count: int) -> Indices:
        if size not in self._cumulative:
            self._cumulative[size] = np.cumsum(shares(self._name, size))
        cumulative = self._cumulative[size]
        # Scaled by the last sum, which rounding leaves a little off 1, so that no draw falls behind the last cell.
        places = self._generator.random(count) * cumulative[-1]
        return np.searchsorted(cumulative, places, side="right").astype(np.int64)
