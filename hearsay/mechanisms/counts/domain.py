"""Counts 0..max: what a device counted, or how many of a group have something."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from hearsay.mechanisms.domains.axis import Axis
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import only
from hearsay.mechanisms.errors import SpecificationError

LARGEST = 200  # matrices have (max + 1)^2 entries, and chapter 6's constraints matter for small counts


@dataclass(frozen=True)
class Count(Cells):
    """Whole numbers from 0 to `max`."""

    KIND = "count"
    KEYS = f"`max`, from 1 to {LARGEST}"
    VALUE = "an integer 0..max"

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        only(table, {"kind", "max"})
        if "max" not in table:
            raise SpecificationError("domain.max is missing; a domain of kind count needs the largest count")
        return cls.up_to(table["max"], "domain.max")

    @classmethod
    def of_size(cls, sizes: Sequence[int]) -> dict[str, Any]:
        return {"max": super().of_size(sizes)[cls.SIZE_KEY] - 1}

    @classmethod
    def up_to(cls, largest: Any, where: str = "max", column: str = "value") -> Self:
        """Counts 0..largest, which a file of values has in the column named."""
        if not isinstance(largest, int) or isinstance(largest, bool) or not 1 <= largest <= LARGEST:
            raise SpecificationError(what=where, expected=f"an integer in 1..{LARGEST}", got=repr(largest))
        return cls((Axis(column, largest + 1),))

    @property
    def largest(self) -> int:
        return self.size - 1

    def table(self) -> dict[str, Any]:
        return {"kind": self.KIND, "max": self.largest}
