"""What every kind of domain offers: how a survey's table, a file's columns and a device's value become values.

Devices and queries speak in the domain's own units; mechanisms see what `check` gives them. No message ever shows a
device's value.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.columns import ColumnCells
from hearsay.mechanisms.domains.shapes import SHAPES, draw_cells
from hearsay.mechanisms.errors import NotPortable, SpecificationError, ValueOutsideDomain, one_of

MAXIMUM_CELLS = 1 << 28
LONGEST_NUMBER = 15  # digits of a size that is read from text
Indices = NDArray[np.int64]


class Values(Protocol):
    """The values of many devices: an index each, a row each, or sets of pairs, as the domain says."""

    def __len__(self) -> int: ...

    def __getitem__(self, chosen: Any, /) -> Any:
        """The values of the chosen devices."""


class Domain(ABC):
    """The set a private value comes from. One class for each kind."""

    KIND: ClassVar[str]
    KEYS: ClassVar[str]  # what a survey's `[domain]` table says of it, as the documentation writes it
    SIZE_KEY: ClassVar[str] = "size"  # the key that says how many values there are
    SIZE_TEXT: ClassVar[str] = "a whole number, or one for each axis separated by commas"  # what `sized` reads
    VALUE: ClassVar[str]  # what a device's value is, in the domain's own units
    EXCLUSIVE: ClassVar[bool] = True  # every device counts in exactly one cell, so that the true shares sum to one
    EMPTY_ROWS: ClassVar[bool] = False  # whether a row may be empty but for its first column: a device without values
    UNLISTED: ClassVar[str] = ""  # why not every value has a share of its own, and what to ask instead

    @property
    def kind(self) -> str:
        return self.KIND

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns of a file of values."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many cells, keys or other answers there are."""

    @property
    def mean_bounds(self) -> tuple[float, float] | None:
        """The least and the largest that a mean of values can be, where the table names them as `low` and `high`."""
        table = self.table()
        return (table["low"], table["high"]) if {"low", "high"} <= set(table) else None

    def in_units(self, question: str, stderr: float) -> float:
        """A standard error that a mechanism predicts for a kind of question, in the unit of its answers."""
        return stderr

    @classmethod
    @abstractmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        """A domain from a survey's `[domain]` table."""

    @abstractmethod
    def table(self) -> dict[str, Any]:
        """The canonical `[domain]` table, every default written out."""

    @abstractmethod
    def read(self, columns: Mapping[str, Any]) -> Values:
        """Values from columns in the domain's own units; ValueOutsideDomain says which row and column is bad."""

    def cells_in(self, column: str) -> ColumnCells:
        """What a column of a file holds: numbers, labels, or None: any text."""
        return None

    @abstractmethod
    def one(self, value: Any) -> Values:
        """What a single device holds, as `Device.report` takes it."""

    @abstractmethod
    def check(self, values: Any) -> Any:
        """Values as mechanisms take them; one outside the domain is an error here and never sent."""

    def portable(self) -> list[dict[str, Any]]:
        """How a device in any language finds its cell: one entry for each axis; NotPortable where there is none."""
        raise NotPortable(f"values of kind {self.kind} have no form for other languages; use Python's Device")

    @classmethod
    def of_size(cls, sizes: Sequence[int]) -> dict[str, Any]:
        """The keys of a `[domain]` table for a plain domain with so many values; of several axes, one number each."""
        (size,) = sizes if len(sizes) == 1 else _refuse_several(cls.KIND, sizes)
        return {cls.SIZE_KEY: size}

    @classmethod
    def sized(cls, text: str) -> dict[str, Any]:
        """The same keys from a size as people write it."""
        parts = [part.strip() for part in text.split(",")]
        if not all(part.isascii() and part.isdigit() and len(part) <= LONGEST_NUMBER for part in parts):
            raise SpecificationError(what="size", expected=cls.SIZE_TEXT, got=repr(text[:40]))
        return cls.of_size([int(part) for part in parts])

    @classmethod
    def shapes(cls) -> tuple[str, ...]:
        """The names of the distributions that simulated people can be drawn from."""
        return SHAPES

    def simulated(self, shape: str, count: int, generator: np.random.Generator) -> Values:
        """So many simulated people of a shape, drawn independently."""
        return self.people(lambda size: draw_cells(shape, size, count, generator))

    def people(self, draw: Callable[[int], Indices]) -> Values:
        """Values of simulated people: `draw(size)` gives each of them a cell of an axis of that size."""
        raise SpecificationError(f"people of a domain of kind {self.kind} cannot be simulated; give a file of values")

    def calls_for(self) -> tuple[str, str] | None:
        """The mechanism that this domain requires under `auto`, and the reason; None: the one with the least predicted
        error."""
        return None

    def join(self, parts: Sequence[Any]) -> Any:
        """Values of several blocks of rows, one after the other."""
        return np.concatenate(parts)


class Unlisted(Domain):
    """Values in one column that are not counted cell by cell."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ("value",)

    @property
    def size(self) -> int:
        return 1

    def one(self, value: Any) -> Values:
        return self.read({"value": [value]})


def _refuse_several(kind: str, sizes: Sequence[int]) -> Sequence[int]:
    raise SpecificationError(what="size", expected=f"given once for a domain of kind {kind}", got=f"{len(sizes)} sizes")


def only(table: Mapping[str, Any], allowed: set[str], where: str = "domain") -> None:
    """Refuse unknown keys."""
    for key in table:
        if key not in allowed:
            raise SpecificationError(f"{where} has the unknown key {key!r}; allowed: {one_of(sorted(allowed), key)}")


def check_columns(columns: Mapping[str, Any], needed: Sequence[str]) -> None:
    """Refuse a file in which a needed column is missing."""
    for name in needed:
        if name not in columns:
            raise ValueOutsideDomain(f"missing column {name!r}; needed: {', '.join(needed)}")


def checked_indices(values: Any, shape: Sequence[int], rows: bool) -> Indices:
    """Cells below the sizes of some axes: one index per device or, with `rows`, one row per device. Integers only."""
    indices = np.asarray(values)
    expected = (len(indices), len(shape)) if rows else (len(indices),)
    if indices.size == 0:
        return np.zeros(expected, dtype=np.int64)
    if not np.issubdtype(indices.dtype, np.integer):
        raise ValueOutsideDomain(what="values", expected="integers", got=str(indices.dtype))
    if indices.shape != expected:
        raise ValueOutsideDomain(what="values", must=f"have shape {expected}", got=str(indices.shape))
    if (indices < 0).any() or (indices.reshape(len(indices), -1) >= np.array(shape)).any():
        ends = " x ".join(f"0..{size - 1}" for size in shape)
        raise ValueOutsideDomain(what="values", expected=f"cells of the domain, {ends}")
    return indices.astype(np.int64)


def as_list(value: Any, where: str) -> list[Any]:
    """A list of a survey's table that must not be empty."""
    if not isinstance(value, list | tuple) or not value:
        raise SpecificationError(what=where, expected="a list that is not empty", got=repr(value))
    return list(value)


def of_one_device(value: Any, names: Sequence[str]) -> dict[str, list[Any]]:
    """What one device holds on several axes, as columns of one row: a mapping from names, or a sequence in order."""
    if isinstance(value, Mapping):
        if set(value) != set(names):
            raise ValueOutsideDomain(what="value", must=f"have exactly the names {', '.join(names)}")
        return {name: [value[name]] for name in names}
    row = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(row, str | bytes) or not isinstance(row, Sequence) or len(row) != len(names):
        raise ValueOutsideDomain(
            what="value", expected=f"a mapping from {', '.join(names)}, or a sequence of {len(names)}"
        )
    return {name: [part] for name, part in zip(names, row, strict=True)}
