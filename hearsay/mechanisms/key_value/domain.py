"""Key-value data: every device holds a set of pairs, each key at most once, each value in its own low..high.

Several key dimensions are flattened to one, row-major, and named in answers. Without value dimensions the pairs are
plain item sets. A device may hold no pair at all: a row of a CSV file with an empty key says so.
"""

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.axis import Axis
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.mechanisms.key_value.pairs import Pairs


@dataclass(frozen=True)
class ValueAxis:
    """One number of a pair, between two ends."""

    name: str
    low: float
    high: float

    def scale(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """To -1..1."""
        return (values - self.low) * (2 / (self.high - self.low)) - 1.0

    def units(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        """Back to own units."""
        return self.low + (scaled + 1.0) * ((self.high - self.low) / 2)


@dataclass(frozen=True)
class KeyValue(Domain):
    """Sets of pairs."""

    keys: tuple[Axis, ...]
    values: tuple[ValueAxis, ...] = (ValueAxis("value", -1.0, 1.0),)
    ordered: bool = False
    KIND: ClassVar[str] = "key-value"

    @property
    def size(self) -> int:
        """How many keys there are."""
        return prod(axis.size for axis in self.keys)

    @property
    def dimensions(self) -> int:
        """How many numbers a pair carries; a report tells about one of them."""
        return len(self.values)

    def check(self, values: Any) -> Pairs:
        """The pairs as a device gives them to a mechanism, refused where they are outside."""
        if not isinstance(values, Pairs):
            raise ValueOutsideDomain(f"values must be pairs of a key-value domain, got {type(values).__name__}")
        if values.keys.size and (values.keys.min() < 0 or values.keys.max() >= self.size):
            raise ValueOutsideDomain(f"keys must be in 0..{self.size - 1}")
        if values.values.shape != (len(values.keys), self.dimensions):
            raise ValueOutsideDomain(f"pairs must have {self.dimensions} values each, got another number")
        if values.values.size and not (np.abs(values.values) <= 1.0).all():
            raise ValueOutsideDomain("values must be inside the domain")
        return values

    def every_set(self, bins: int) -> Pairs:
        """All sets of a small domain, each value one of `bins` representatives: what an exact channel has as rows."""
        levels = {1: [0.0], 2: [-1.0, 1.0]}.get(bins, list((2 * np.arange(bins) + 1) / bins - 1))
        choices = [None, *product(levels, repeat=self.dimensions)]
        rows = list(product(choices, repeat=self.size))
        device = [number for number, row in enumerate(rows) for choice in row if choice is not None]
        keys = [key for row in rows for key, choice in enumerate(row) if choice is not None]
        values = [choice for row in rows for choice in row if choice is not None]
        table = np.array(values, dtype=np.float64).reshape(len(keys), self.dimensions)
        return Pairs.grouped(np.array(device, dtype=np.int64), np.array(keys, dtype=np.int64), table, len(rows))
