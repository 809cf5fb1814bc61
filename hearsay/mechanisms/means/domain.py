"""One number per device, between two ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from hearsay.mechanisms.domains.axis import parse_scale
from hearsay.mechanisms.domains.columns import ColumnCells, Numbers
from hearsay.mechanisms.domains.domain import Indices, Unlisted, check_columns, only
from hearsay.mechanisms.domains.numbers import plain_numbers
from hearsay.mechanisms.errors import SpecificationError, ValueOutsideDomain
from hearsay.mechanisms.estimates.estimate import Floats

_STEPS = 1001  # simulated people hold one of so many numbers


@dataclass(frozen=True)
class Number(Unlisted):
    """Numbers from low to high, both included."""

    low: float
    high: float
    KIND: ClassVar[str] = "number"
    KEYS: ClassVar[str] = "`low`, `high`"
    VALUE: ClassVar[str] = "a number in low..high, of which the mean is asked"
    SIZE_TEXT: ClassVar[str] = "two numbers LOW,HIGH"

    @classmethod
    def sized(cls, text: str) -> dict[str, Any]:
        try:
            low, high = map(float, text.split(","))
        except ValueError:
            raise SpecificationError(what="size", expected=cls.SIZE_TEXT, got=repr(text[:40])) from None
        return {"low": low, "high": high}

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        only(table, {"kind", "low", "high"})
        return cls(*parse_scale(table, "domain"))

    def table(self) -> dict[str, Any]:
        return {"kind": self.KIND, "low": self.low, "high": self.high}

    def read(self, columns: Mapping[str, Any]) -> Floats:
        check_columns(columns, self.columns)
        return self.check(plain_numbers(columns["value"]))

    def cells_in(self, column: str) -> ColumnCells:
        return Numbers(self.low, self.high)

    def check(self, values: Any) -> Floats:
        """Numbers in own units, refused where they are outside."""
        numbers = np.asarray(values, dtype=np.float64)
        inside = (numbers >= self.low) & (numbers <= self.high)
        if numbers.ndim != 1 or not inside.all():
            rows = np.flatnonzero(~inside).tolist() if numbers.ndim == 1 else ()
            raise ValueOutsideDomain(
                what="value", expected=f"a number in {self.low:g}..{self.high:g}", positions=rows, column="value"
            )
        return numbers

    def people(self, draw: Callable[[int], Indices]) -> Floats:
        steps: Floats = draw(_STEPS).astype(np.float64)
        return self.low + steps * ((self.high - self.low) / (_STEPS - 1))

    def scale(self, numbers: Floats) -> Floats:
        """To -1..1."""
        return np.clip((numbers - self.low) * (2 / (self.high - self.low)) - 1.0, -1.0, 1.0)
