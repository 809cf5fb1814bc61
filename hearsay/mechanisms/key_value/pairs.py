"""The pairs of many devices, each with any number of pairs: three flat arrays instead of a list of lists.

Device i holds the pairs starts[i] to starts[i + 1] - 1. The keys of a device are in ascending order and different;
values are in -1..1, one column per value dimension (none for item sets). Pairs read from a file also have the names of
their devices, so the rows of a device may be anywhere in the file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.mechanisms.exact.randomness import Random

PairIndices = NDArray[np.int64]
MOST_SETS = 1024  # that are listed
_HALF_RANGE = float(1 << 31)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of many devices."""

    starts: NDArray[np.int64]
    keys: NDArray[np.int64]
    values: NDArray[np.float64]
    names: NDArray[Any] | None = None
    capacity: int | None = None  # of one device: `find` takes as many steps as for so many pairs

    @classmethod
    def grouped(cls, device: NDArray[np.int64], keys: NDArray[np.int64], values: NDArray[Any], devices: int) -> Self:
        """From one row per pair, in any order; `device` has the number of each row's device."""
        order = np.lexsort((keys, device))
        device, keys = device[order], keys[order]
        is_repeated = (device[1:] == device[:-1]) & (keys[1:] == keys[:-1])
        if is_repeated.any():
            repeated = np.sort(order[1:][is_repeated]).tolist()
            raise ValueOutsideDomain(what="key", must="differ from the device's other keys", positions=repeated)
        starts = np.zeros(devices + 1, dtype=np.int64)
        np.cumsum(np.bincount(device, minlength=devices), out=starts[1:])
        return cls(
            starts, keys.astype(np.int64), (values if values.ndim == 2 else values[:, None])[order].astype(np.float64)
        )

    @classmethod
    def every_set(cls, keys: int, dimensions: int, bins: int) -> Self | None:
        """All sets over so many keys, with one representative value per bin; None if there are too many."""
        levels = {1: [0.0], 2: [-1.0, 1.0]}.get(bins, list((2 * np.arange(bins) + 1) / bins - 1))
        choices = [None, *product(levels, repeat=dimensions)]
        if len(choices) ** keys > MOST_SETS:
            return None
        rows = list(product(choices, repeat=keys))
        device = [number for number, row in enumerate(rows) for choice in row if choice is not None]
        pair_keys = [key for row in rows for key, choice in enumerate(row) if choice is not None]
        values = [choice for row in rows for choice in row if choice is not None]
        table = np.array(values, dtype=np.float64).reshape(len(pair_keys), dimensions)
        return cls.grouped(np.array(device, dtype=np.int64), np.array(pair_keys, dtype=np.int64), table, len(rows))

    @classmethod
    def single_pairs(cls, keys: int, dimensions: int) -> Self:
        """The empty set, and sets of one pair: of the first keys with -1 and with 1."""
        first = np.repeat(np.arange(min(keys, MOST_SETS // 4)), 2)
        values = np.tile(np.array([[-1.0], [1.0]]), (len(first) // 2, dimensions))
        return cls.grouped(1 + np.arange(len(first)), first, values, 1 + len(first))

    @classmethod
    def join(cls, parts: Sequence["Pairs"]) -> "Pairs":
        """The parts one after the other; if all have names, devices of the same name become one."""
        if len(parts) == 1:
            return parts[0]
        keys = np.concatenate([part.keys for part in parts])
        values = np.concatenate([part.values for part in parts])
        sizes = np.concatenate([part.sizes for part in parts])
        named = [part.names for part in parts if part.names is not None]
        if len(named) < len(parts):
            return cls(np.concatenate([[0], np.cumsum(sizes)]), keys, values)
        names, number = np.unique(np.concatenate(named), return_inverse=True)
        try:
            joined = cls.grouped(np.repeat(number, sizes), keys, values, len(names))
        except ValueOutsideDomain as error:
            raise ValueOutsideDomain(str(error), **error.fields) from None  # positions are of the joined pairs
        return replace(joined, names=names)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, chosen: slice | NDArray[Any]) -> Self:
        if isinstance(chosen, slice) and chosen.step in (None, 1):
            first, last, _ = chosen.indices(len(self))
            last = max(first, last)
            part = slice(int(self.starts[first]), int(self.starts[last]))
            starts = self.starts[first : last + 1] - self.starts[first]
            return type(self)(starts, self.keys[part], self.values[part], capacity=self.capacity)
        devices = np.arange(len(self))[chosen]
        sizes = self.sizes[devices]
        starts = np.zeros(len(devices) + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        chosen_pairs = np.arange(starts[-1]) + np.repeat(self.starts[devices] - starts[:-1], sizes)
        return type(self)(starts, self.keys[chosen_pairs], self.values[chosen_pairs])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many pairs every device holds."""
        return np.diff(self.starts)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The number of the device that holds each pair."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def find(self, keys: NDArray[Any]) -> PairIndices:
        """For each device the index of its pair with the given key, by bisection of all devices at once; -1 if none."""
        low, high = self.starts[:-1].copy(), self.starts[1:].copy()
        listed = np.append(self.keys, -1)  # an extra key at the end, which index -1 also reads
        most = int(self.sizes.max(initial=0)) if self.capacity is None else self.capacity
        for _ in range(most.bit_length()):
            middle = (low + high) >> 1
            right = (low < high) & (listed[middle] < keys)
            low, high = np.where(right, middle + 1, low), np.where(right | (low >= high), high, middle)
        has_key = (low < self.starts[1:]) & (listed[low] == keys)
        return np.where(has_key, low, -1)

    def key_at(self, indices: PairIndices) -> PairIndices:
        """The key of each pair; -1 for index -1. The steps are the same for every index."""
        return np.append(self.keys, -1)[indices]

    def value_at(self, indices: PairIndices, dimension: NDArray[Any] | int) -> NDArray[np.float64]:
        """The value of each pair in a dimension; 0 for index -1."""
        return np.append(self.values, np.zeros((1, self.values.shape[1])), axis=0)[indices, dimension]


def plus_signs(values: NDArray[np.float64], random: Random) -> NDArray[np.bool_]:
    """Values in -1..1 rounded to signs at random, to plus with probability (1 + value)/2, to 32 bits.

    The sign is perturbed afterwards whatever its chances are, so privacy does not depend on this rounding.
    """
    level = ((values + 1.0) * _HALF_RANGE).astype(np.uint64)
    return random.lanes(32, len(values)) < level


def bins_of(values: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    """The bin of each value in -1..1, of `bins` equal bins; the last one is closed."""
    return np.minimum(((values + 1.0) * (bins / 2)).astype(np.int64), bins - 1)
