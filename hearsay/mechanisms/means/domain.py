"""One number a device, between two ends."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.mechanisms.estimates.estimate import Floats


@dataclass(frozen=True)
class Number(Domain):
    """Numbers from low to high, both included."""

    low: float
    high: float
    KIND: ClassVar[str] = "number"

    def check(self, values: Any) -> Floats:
        """Numbers in own units, refused where they are outside."""
        numbers = np.asarray(values, dtype=np.float64)
        if numbers.ndim != 1 or not ((numbers >= self.low) & (numbers <= self.high)).all():
            raise ValueOutsideDomain(f"value must be a number in {self.low:g}..{self.high:g}")
        return numbers

    def scale(self, numbers: Floats) -> Floats:
        """To -1..1."""
        return np.clip((numbers - self.low) * (2 / (self.high - self.low)) - 1.0, -1.0, 1.0)
