"""Whose attributes are looked at: flights out of New York, and lightly skewed synthetic devices.

Devices are kept as different rows with how many have each: drawing a sample is one multinomial draw, and its true
tables are sums over a few thousand rows instead of half a million devices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hearsay.ops.experiments.flights import flight_package

Bits = NDArray[np.int64]
FLIGHT_ATTRIBUTES = ("late-start", "late-end", "far", "evening", "morning-end", "jfk", "united", "express-jet")


@dataclass(frozen=True, eq=False)
class People:
    """Different rows of attributes, and how many devices have each."""

    rows: Bits
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, values: Bits) -> "People":
        """Devices given one by one."""
        rows, counts = np.unique(values, axis=0, return_counts=True)
        return cls(rows, counts)

    @property
    def attributes(self) -> int:
        return self.rows.shape[1]

    @cached_property
    def values(self) -> Bits:
        """Every device's row."""
        return np.repeat(self.rows, self.counts, axis=0)

    def drawn(self, devices: int, generator: np.random.Generator) -> "People":
        """So many devices drawn with replacement."""
        counts = generator.multinomial(devices, self.counts / self.counts.sum())
        return People(self.rows[counts > 0], counts[counts > 0])

    def marginal(self, attributes: Sequence[int]) -> NDArray[np.float64]:
        """The true table of some binary attributes, row-major in the order named."""
        return self.table(attributes, (2,) * len(attributes))

    @cached_property
    def _tables(self) -> dict[tuple[tuple[int, ...], tuple[int, ...]], NDArray[np.float64]]:
        return {}

    def table(self, attributes: Sequence[int], sizes: tuple[int, ...]) -> NDArray[np.float64]:
        """The true table of some attributes of these sizes; kept, since several methods are compared with it."""
        known, asked = self._tables, (tuple(attributes), sizes)
        if asked not in known:
            known[asked] = self._counted(attributes, sizes)
        return known[asked]

    def _counted(self, attributes: Sequence[int], sizes: tuple[int, ...]) -> NDArray[np.float64]:
        cells = np.ravel_multi_index(tuple(self.rows[:, attribute] for attribute in attributes), sizes)
        return np.bincount(cells, self.counts, int(np.prod(sizes))) / self.counts.sum()


@lru_cache(maxsize=1)
def flights() -> People:
    """Eight yes-or-no attributes of the 336,776 flights that left New York in 2013, and eight more."""
    f = flight_package().flights
    columns = (
        f.dep_delay > 15,
        f.arr_delay > 15,
        f.distance >= 1000,
        f.sched_dep_time >= 1700,
        (f.sched_arr_time >= 1) & (f.sched_arr_time <= 1200),
        f.origin == "JFK",
        f.carrier == "UA",
        f.carrier == "EV",
        f.origin == "LGA",
        f.carrier == "B6",
        f.carrier == "DL",
        f.air_time > 150,
        f.month >= 7,
        f.hour >= 12,
        f.distance < 500,
        f.minute == 0,
    )
    return People.of(np.stack([column.to_numpy().astype(np.int64) for column in columns], axis=1))


@lru_cache(maxsize=8)
def flight_bits(attributes: int) -> People:
    """The first of the eight attributes; more than eight by repeating them, as the dissertation does."""
    known = flights()
    rows, inverse = np.unique(known.rows[:, : min(attributes, 8)], axis=0, return_inverse=True)
    counts = np.bincount(inverse.reshape(-1), known.counts).astype(np.int64)
    return People(np.take(rows, np.arange(attributes) % 8, axis=1), counts)


@lru_cache(maxsize=8)
def skewed(attributes: int, devices: int = 1 << 19) -> People:
    """Synthetic devices: a common cause, so that attributes go together, and shares from a half down to a sixth."""
    generator = np.random.default_rng(20)
    common = generator.standard_normal(devices)[:, None]
    limits = np.linspace(0.0, 1.0, attributes)
    drawn = 0.6 * common + 0.8 * generator.standard_normal((devices, attributes))
    return People.of((drawn > limits).astype(np.int64))


@lru_cache(maxsize=2)
def chained(attributes: int, devices: int = 1 << 19) -> People:
    """Synthetic devices whose attributes follow each other in a chain: here it matters which tree is found."""
    generator = np.random.default_rng(21)
    drawn = generator.standard_normal((devices, attributes))
    for attribute in range(1, attributes):
        drawn[:, attribute] = 0.6 * drawn[:, attribute - 1] + 0.8 * drawn[:, attribute]
    return People.of((drawn > np.linspace(0.0, 1.0, attributes)).astype(np.int64))
