"""One coordinate of a value: a finite list of cells, named in the axis' own units; and what domains of axes share.

Devices and queries find a cell in the same way. No message ever shows a device's value.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.bins import EDGE_SLACK, Bins
from hearsay.mechanisms.domains.columns import Coded, ColumnCells, Labels, Numbers
from hearsay.mechanisms.domains.domain import (
    MAXIMUM_CELLS,
    Domain,
    Indices,
    as_list,
    check_columns,
    checked_indices,
    of_one_device,
)
from hearsay.mechanisms.domains.numbers import numbers
from hearsay.mechanisms.errors import QueryError, SpecificationError, ValueOutsideDomain, quoted

_LARGEST_INTEGER = 1 << 53  # numbers of a file are read as doubles, which hold all integers up to here
Item = str | int | list[float]


@dataclass(frozen=True)
class Axis:
    """One coordinate: integers 0..size-1 or from `first` on, labels, or `size` equal bins of the interval low..high."""

    name: str
    size: int
    labels: tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None
    first: int | None = None

    @property
    def width(self) -> float:
        """The width of a bin in the axis' own units; 1 for integers and labels."""
        return 1.0 if self.bins is None else self.bins.width

    @cached_property
    def bins(self) -> Bins | None:
        """The bins of an axis of real numbers."""
        return None if self.low is None or self.high is None else Bins(self.low, self.high, self.size)

    def item(self, index: int) -> Item:
        """A cell as people name it: its label, its integer, or the two ends of its bin."""
        if self.labels is not None:
            return self.labels[index]
        if self.bins is None:
            return int(index) + (self.first or 0)
        return [self.bins.begin(index), self.bins.begin(index + 1)]

    def units(self, index: float) -> float:
        """A position between cells in the axis' own units: the integer itself, or the lower end of the bin."""
        return index + (self.first or 0) if self.bins is None else self.bins.begin(index)

    def encode(self, values: Sequence[Any] | NDArray[Any]) -> Indices:
        """Cell indices of raw values; where some are outside, the error has their positions but not the values."""
        if self.labels is not None:
            if isinstance(values, Coded) and values.texts == self.labels:
                cells = values.codes
            else:
                known = {label: index for index, label in enumerate(self.labels)}
                cells = np.array([known.get(str(value), -1) for value in values], dtype=np.int64)
            self._refuse(cells < 0)
            return cells
        given, precision = numbers(values)
        with np.errstate(invalid="ignore"):
            if self.bins is None:
                given = given - (self.first or 0)
                self._refuse(~((given >= 0) & (given < self.size) & (given == np.floor(given))))
                return given.astype(np.int64)
            self._refuse(self.bins.outside(given, precision))
        return np.minimum(self.bins.find(given, precision)[0], self.size - 1)

    def cells_in(self, ordered: bool) -> Numbers | Labels:
        """What a column of a file holds on this axis; `ordered`: whether its numbers are."""
        if self.labels is not None:
            return Labels(self.labels)
        if self.low is not None and self.high is not None:
            return Numbers(self.low, self.high, ordered)
        first = self.first or 0
        return Numbers(first, first + self.size - 1, ordered)

    def _refuse(self, outside: NDArray[np.bool_]) -> None:
        if outside.any():
            raise ValueOutsideDomain(
                what=self.name, expected=self.allowed(), positions=np.flatnonzero(outside).tolist(), column=self.name
            )

    def one_word(self, words: Sequence[str], query: str) -> Sequence[str]:
        """Words that are one label together as one: `point New York` needs no quotes."""
        label, labels = " ".join(words), self.labels or ()
        if len(words) < 2:
            return words
        if label in labels:
            return [label]
        hint = next((repr(each) for each in labels if each.casefold() == label.casefold()), "'A B'")
        raise QueryError(f"query {query} needs one value, got {len(words)}; quote a label with spaces: {query} {hint}")

    def locate(self, text: str | float | int) -> int:
        """The cell that a query names, in the axis' own units."""
        try:
            return int(self.encode([text])[0])
        except ValueOutsideDomain:
            raise QueryError(what=self.name, expected=self.allowed(), got=text) from None

    def allowed(self) -> str:
        """What a value may be, in words."""
        if self.labels is not None:
            shown = ", ".join(map(quoted, self.labels[:8]))
            return f"one of {shown}" + (f", ... ({self.size} labels)" if self.size > 8 else "")
        if self.low is None:
            return f"an integer in {self.item(0)}..{self.item(self.size - 1)}"
        return f"a number in {self.low:g}..{self.high:g}"

    def portable(self) -> dict[str, Any]:
        """How a device in any language finds the cell: labels, integers, or bins with the integers of their edges."""
        if self.labels is not None:
            return {"name": self.name, "labels": list(self.labels)}
        if self.bins is None:
            return {"name": self.name, "first": self.first or 0, "size": self.size}
        return {"name": self.name, "low": self.low, "high": self.high, "bins": self.size, **self.bins.portable()}

    def table(self) -> dict[str, Any]:
        """The axis as a survey's table."""
        if self.labels is not None:
            return {"categories": list(self.labels)}
        if self.first is not None:
            return {"first": self.first, "last": self.first + self.size - 1}
        if self.low is None:
            return {"size": self.size}
        return {"low": self.low, "high": self.high, "bins": self.size}

    @property
    def continuous(self) -> bool:
        """Whether its cells are bins of real numbers."""
        return self.low is not None

    def locate_range(self, low: str | None, high: str) -> tuple[int, int]:
        """First and last cell of the range low..high; from the first cell on where low is None.

        Both ends are included; among bins, which do not hold their upper end, a range that ends on an edge ends with
        the bin before it.
        """
        first, last = 0 if low is None else self.locate(low), self._last(high)
        if low is not None and (first > self.locate(high) or (self.continuous and float(low) > float(high))):
            got = f"{low} above {high}"
            raise QueryError(what=f"{self.name} range", must="not be reversed", got=got, ending="; swap the two ends")
        # A range of a single point on an edge still has a bin: the one the point falls into.
        return first, max(first, last)

    def widens(self, low: str | None, high: str) -> bool:
        """Whether the bins of the range low..high reach beyond its ends."""
        if self.bins is None:
            return False
        first, last = self.locate_range(low, high)
        slack = EDGE_SLACK * self.bins.width
        below = 0.0 if low is None else float(low) - self.bins.begin(first)
        return below > slack or self.bins.begin(last + 1) - float(high) > slack

    def _last(self, text: str) -> int:
        cell = self.locate(text)
        if self.bins is None:
            return cell
        (bin_above,), (on_edge,) = self.bins.find(np.array([float(text)]))
        return max(int(bin_above) - 1, 0) if on_edge else cell

    def split_range(self, text: str) -> tuple[str, str]:
        """The two ends of `A:B`. A label may hold a colon itself: the split at which both sides are labels counts."""
        splits = [(text[:colon], text[colon + 1 :]) for colon, letter in enumerate(text) if letter == ":"]
        if self.labels is not None and len(splits) > 1:
            splits = [split for split in splits if all(side in self.labels for side in split)]
        if len(splits) != 1 or not all(splits[0]):
            raise QueryError(what=f"{self.name} range", expected="A:B", got=repr(text))
        return splits[0]

    def stretch(self, first: int, last: int) -> list[Any]:
        """The cells first..last as people name their ends."""
        return [self.item(first), self.item(last)] if self.low is None else [self.units(first), self.units(last + 1)]


_COMPANIONS = {"first": "last", "low": "bins", "high": "bins"}


@dataclass(frozen=True)
class AxesDomain(Domain):
    """Named axes, each a finite list of cells. A value is one index, or a row of indices with one for each axis."""

    axes: tuple[Axis, ...]

    ORDERED: ClassVar[bool] = False  # whether ranges along its axes mean anything

    @property
    @abstractmethod
    def has_rows(self) -> bool:
        """Whether a value is a row of indices, not a single index."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(axis.size for axis in self.axes)

    @cached_property
    def size(self) -> int:
        """How many different values a device may have."""
        return prod(self.shape)

    def check(self, values: NDArray[Any] | Sequence[Any]) -> Indices:
        """Indices as a device gives them to a mechanism: shape (n,), or (n, axes) where a value is a row.

        Integers only, inside the domain: a value outside is an error here and never sent.
        """
        return checked_indices(values, self.shape, rows=self.has_rows)

    def read(self, columns: Mapping[str, Any]) -> Indices:
        check_columns(columns, self.columns)
        return self._joined([axis.encode(columns[axis.name]) for axis in self.axes])

    def one(self, value: Any) -> Indices:
        """One value in the domain's own units; a row as a mapping from names or as a sequence in the axes' order."""
        if not self.has_rows and not isinstance(value, Mapping):
            return self.read({self.columns[0]: [value]})
        return self.read(of_one_device(value, self.columns))

    def portable(self) -> list[dict[str, Any]]:
        return [axis.portable() for axis in self.axes]

    def people(self, draw: Callable[[int], Indices]) -> Indices:
        return self._joined([draw(axis.size) for axis in self.axes])

    def _joined(self, by_axis: list[Indices]) -> Indices:
        return np.stack(by_axis, axis=1) if self.has_rows else by_axis[0]

    def cells_in(self, column: str) -> ColumnCells:
        return self.axes[self.columns.index(column)].cells_in(self.ORDERED)


def parse_axis(name: str, table: Mapping[str, Any], where: str, continuous: bool = True) -> Axis:
    """An axis from a survey's table, which names exactly one of its forms."""
    forms = [form for form in ("size", "categories", "last", "bins") if form in table]
    allowed = "size, categories, first and last, or low, high and bins" if continuous else "size, categories"
    if len(forms) != 1:
        raise SpecificationError(what=where, must=f"have exactly one of {allowed}")
    if forms == ["categories"]:
        labels = as_list(table["categories"], f"{where}.categories")
        if not all(isinstance(label, str) and label for label in labels) or len(set(labels)) < len(labels):
            raise SpecificationError(what=f"{where}.categories", expected="different texts that are not empty")
        if len(labels) < 2:
            raise SpecificationError(what=f"{where}.categories", must="have at least 2 labels", got=len(labels))
        return Axis(name, len(labels), labels=tuple(labels))
    strays = {"size": ("first", "low", "high"), "last": ("low", "high"), "bins": ("first",)}
    for stray in strays[forms[0]]:
        if stray in table:
            raise SpecificationError(f"{where}.{stray} goes with {_COMPANIONS[stray]}, not with {forms[0]}")
    if forms == ["last"]:
        return _integers(name, table, where)
    size = table[forms[0]]
    if not isinstance(size, int) or isinstance(size, bool) or not 2 <= size <= MAXIMUM_CELLS:
        raise SpecificationError(
            what=f"{where}.{forms[0]}", expected=f"an integer in 2..{MAXIMUM_CELLS}", got=repr(size)
        )
    return Axis(name, size) if forms == ["size"] else _bins(name, size, table, where)


def _integers(name: str, table: Mapping[str, Any], where: str) -> Axis:
    ends = [table.get("first"), table["last"]]
    for key, end in zip(("first", "last"), ends, strict=True):
        if not isinstance(end, int) or isinstance(end, bool) or abs(end) > _LARGEST_INTEGER:
            raise SpecificationError(what=f"{where}.{key}", expected="an integer in -2^53..2^53", got=repr(end))
    first, last = ends
    if not 2 <= last - first + 1 <= MAXIMUM_CELLS:
        raise SpecificationError(
            what=f"{where}.first..last", must=f"hold 2..{MAXIMUM_CELLS} integers", got=f"{first}..{last}"
        )
    return Axis(name, last - first + 1, first=first)


def parse_ends(table: Mapping[str, Any], where: str) -> tuple[float, float]:
    """`low` and `high` of an interval of real numbers."""
    ends = [table.get("low"), table.get("high")]
    for key, end in zip(("low", "high"), ends, strict=True):
        if not isinstance(end, int | float) or isinstance(end, bool) or not isfinite(end):
            raise SpecificationError(what=f"{where}.{key}", expected="a finite number", got=repr(end))
    low, high = float(ends[0]), float(ends[1])  # type: ignore[arg-type]
    if not low < high:
        raise SpecificationError(what=f"{where}.low", expected=f"below {where}.high", got=f"{low:g} and {high:g}")
    return low, high


def parse_scale(table: Mapping[str, Any], where: str) -> tuple[float, float]:
    """The ends of numbers that are brought to -1..1 and back, which doubles must be able to do."""
    low, high = parse_ends(table, where)
    if not 1e-300 <= high - low <= 1e300:
        raise SpecificationError(
            what=f"{where}.low and {where}.high", expected="1e-300 to 1e300 apart", got=f"{low:g} and {high:g}"
        )
    return low, high


def _bins(name: str, size: int, table: Mapping[str, Any], where: str) -> Axis:
    low, high = parse_ends(table, where)
    if not Bins(low, high, size).distinct:
        raise SpecificationError(what=f"{where}.bins", expected="so few that doubles tell their edges apart", got=size)
    return Axis(name, size, low=low, high=high)
