"""The pairs of many devices, each device with as many as it likes: three flat arrays instead of a list of lists.

Device i holds the pairs starts[i] to starts[i + 1] - 1. Keys of a device rise and differ; values lie in -1..1, one
column per value dimension (none for item sets). Pairs read from a file also know what their devices are called, so
that a device's rows need not stand together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.mechanisms.exact.randomness import Random

Places = NDArray[np.int64]
_HALF_RANGE = float(1 << 31)


@dataclass(frozen=True, eq=False)
class Pairs:
    """What many devices hold."""

    starts: NDArray[np.int64]
    keys: NDArray[np.int64]
    values: NDArray[np.float64]
    names: NDArray[Any] | None = None
    capacity: int | None = None  # of one device: as many pairs as the steps of a search are made for

    @classmethod
    def grouped(cls, device: NDArray[np.int64], keys: NDArray[np.int64], values: NDArray[Any], devices: int) -> Self:
        """From one row per pair, in any order; `device` numbers the holder of each row."""
        order = np.lexsort((keys, device))
        device, keys = device[order], keys[order]
        again = (device[1:] == device[:-1]) & (keys[1:] == keys[:-1])
        if again.any():
            repeated = np.sort(order[1:][again]).tolist()
            raise ValueOutsideDomain("key must differ from the device's other keys", repeated)
        starts = np.zeros(devices + 1, dtype=np.int64)
        np.cumsum(np.bincount(device, minlength=devices), out=starts[1:])
        return cls(
            starts, keys.astype(np.int64), (values if values.ndim == 2 else values[:, None])[order].astype(np.float64)
        )

    @classmethod
    def join(cls, parts: Sequence["Pairs"]) -> "Pairs":
        """Parts one after the other; where all of them have names, devices of the same name become one."""
        if len(parts) == 1:
            return parts[0]
        keys = np.concatenate([part.keys for part in parts])
        values = np.concatenate([part.values for part in parts])
        sizes = np.concatenate([part.sizes for part in parts])
        called = [part.names for part in parts if part.names is not None]
        if len(called) < len(parts):
            return cls(np.concatenate([[0], np.cumsum(sizes)]), keys, values)
        names, number = np.unique(np.concatenate(called), return_inverse=True)
        try:
            joined = cls.grouped(np.repeat(number, sizes), keys, values, len(names))
        except ValueOutsideDomain as error:
            raise ValueOutsideDomain(str(error)) from None  # the position is none of a block
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

    def find(self, keys: NDArray[Any]) -> Places:
        """Where each device's pair with its given key stands; -1 where it holds none. Bisects all devices at once."""
        low, high = self.starts[:-1].copy(), self.starts[1:].copy()
        listed = np.append(self.keys, -1)  # behind the last pair, and where there is none
        most = int(self.sizes.max(initial=0)) if self.capacity is None else self.capacity
        for _ in range(most.bit_length()):
            middle = (low + high) >> 1
            right = (low < high) & (listed[middle] < keys)
            low, high = np.where(right, middle + 1, low), np.where(right | (low >= high), high, middle)
        has_key = (low < self.starts[1:]) & (listed[low] == keys)
        return np.where(has_key, low, -1)

    def key_at(self, places: Places) -> Places:
        """The key of each pair; -1 where there is none (-1). The same steps whether there is one or not."""
        return np.append(self.keys, -1)[places]

    def value_at(self, places: Places, dimension: NDArray[Any] | int) -> NDArray[np.float64]:
        """The value of each pair in a dimension; 0 where there is none (-1)."""
        return np.append(self.values, np.zeros((1, self.values.shape[1])), axis=0)[places, dimension]


def plus_signs(values: NDArray[np.float64], random: Random) -> NDArray[np.bool_]:
    """Values in -1..1 rounded to signs, plus with probability (1 + value)/2 to 32 bits.

    What follows hides the sign whatever its chances, so privacy does not hang on this rounding.
    """
    level = ((values + 1.0) * _HALF_RANGE).astype(np.uint64)
    return random.lanes(32, len(values)) < level


def bins_of(values: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    """The bin of each value in -1..1, of `bins` equal ones; the last is closed."""
    return np.minimum(((values + 1.0) * (bins / 2)).astype(np.int64), bins - 1)
