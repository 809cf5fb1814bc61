"""Two throws of a die: a value is a pair, and no array."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Domain, Indices, only
from hearsay.mechanisms.errors import QueryError, SpecificationError, ValueOutsideDomain
from tests.toy.people import LOADED, loaded_throws


@dataclass(frozen=True)
class Throws:
    """What many devices threw, each counted from 0."""

    first: Indices
    second: Indices

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, chosen: Any) -> "Throws":
        return Throws(self.first[chosen], self.second[chosen])

    @property
    def sums(self) -> Indices:
        """Counted from 0, which is two ones."""
        return self.first + self.second


@dataclass(frozen=True)
class Dice(Domain):
    """Two throws of a die with so many sides."""

    sides: int

    KIND = "dice"
    KEYS = "`sides` (6)"
    VALUE = "two throws, each an integer 1..sides"

    @property
    def columns(self) -> tuple[str, ...]:
        return "first", "second"

    @property
    def size(self) -> int:
        """How many sums there are."""
        return 2 * self.sides - 1

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        only(table, {"kind", "sides"})
        sides = table.get("sides", 6)
        if not isinstance(sides, int) or isinstance(sides, bool) or not 2 <= sides <= 100:
            raise SpecificationError(what="domain.sides", expected="an integer in 2..100", got=repr(sides))
        return cls(sides)

    def table(self) -> dict[str, Any]:
        return {"kind": self.KIND, "sides": self.sides}

    def read(self, columns: Mapping[str, Any]) -> Throws:
        missing = [name for name in self.columns if name not in columns]
        if missing:
            raise ValueOutsideDomain(f"missing column {missing[0]!r}; needed: {', '.join(self.columns)}")
        return Throws(*(self._numbers(name, columns[name]) for name in self.columns))

    def _numbers(self, name: str, told: Sequence[Any]) -> NDArray[np.int64]:
        numbers = np.zeros(len(told), dtype=np.int64)
        for position, eyes in enumerate(told):
            if not str(eyes).isdecimal() or not 1 <= int(eyes) <= self.sides:
                raise ValueOutsideDomain(
                    what=name, expected=f"an integer in 1..{self.sides}", positions=position, column=name
                )
            numbers[position] = int(eyes) - 1
        return numbers

    def one(self, value: Any) -> Throws:
        try:
            first, second = (value[name] for name in self.columns) if isinstance(value, Mapping) else value
        except (KeyError, TypeError, ValueError):
            raise ValueOutsideDomain("a value must be two throws") from None
        return self.read({"first": [first], "second": [second]})

    def check(self, values: Any) -> Throws:
        if not isinstance(values, Throws):
            raise ValueOutsideDomain(what="values", expected="throws", got=type(values).__name__)
        return values

    @classmethod
    def shapes(cls) -> tuple[str, ...]:
        return (*super().shapes(), LOADED)

    def simulated(self, shape: str, count: int, generator: np.random.Generator) -> Any:
        if shape != LOADED:
            return super().simulated(shape, count, generator)
        return Throws(loaded_throws(self.sides, count, generator), loaded_throws(self.sides, count, generator))

    def people(self, draw: Callable[[int], Indices]) -> Throws:
        return Throws(draw(self.sides), draw(self.sides))

    def join(self, parts: Sequence[Any]) -> Throws:
        return Throws(*(np.concatenate([getattr(part, name) for part in parts]) for name in self.columns))

    def locate(self, text: str) -> int:
        """The sum that a query names, counted from 0."""
        if not text.isdecimal() or not 2 <= int(text) <= 2 * self.sides:
            raise QueryError(what="sum", expected=f"an integer in 2..{2 * self.sides}", got=text)
        return int(text) - 2
