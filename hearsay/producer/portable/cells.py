"""How a value in the survey's own units becomes a cell: labels, integers, or bins along each axis, row-major."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, Protocol

from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.producer.errors import FormError

EDGE_SLACK = 1e-9  # in bins: what is so close to an edge counts as on it


class AxisReader(Protocol):
    """Finds the cell of a value along one axis."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

    def find(self, value: Any) -> int | None:
        """The cell; None where the value is outside."""

    def allowed(self) -> str:
        """What a value may be, in words."""


@dataclass(frozen=True)
class Labels:
    """Texts, each a cell."""

    name: str
    labels: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.labels)

    def find(self, value: Any) -> int | None:
        return self.labels.index(value) if isinstance(value, str) and value in self.labels else None

    def allowed(self) -> str:
        return "one of the survey's labels"


@dataclass(frozen=True)
class Integers:
    """Whole numbers from `first` on."""

    name: str
    first: int
    size: int

    def find(self, value: Any) -> int | None:
        inside = _is_number(value) and self.first <= value < self.first + self.size and value == int(value)
        return int(value) - self.first if inside else None

    def allowed(self) -> str:
        return f"an integer in {self.first}..{self.first + self.size - 1}"


@dataclass(frozen=True)
class Bins:
    """Equal bins of low..high; bin k begins at (start + step k) / scale, rounded once."""

    name: str
    low: float
    high: float
    size: int
    start: int
    step: int
    scale: int

    def find(self, value: Any) -> int | None:
        width = (self.high - self.low) / self.size
        slack = EDGE_SLACK * width
        if not _is_number(value) or not self.low - slack <= value <= self.high + slack:
            return None
        nearest = floor((value - self.low) / width + 0.5)
        before = value - (self.start + self.step * nearest) / self.scale < -slack
        return min(max(nearest - int(before), 0), self.size - 1)

    def allowed(self) -> str:
        return f"a number in {self.low:g}..{self.high:g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_axis(table: Mapping[str, Any]) -> AxisReader:
    """One entry of the form's `axes`."""
    name = str(table["name"])
    if "labels" in table:
        return Labels(name, tuple(map(str, table["labels"])))
    if "bins" in table:
        edges = (int(table[key]) for key in ("bins", "start", "step", "scale"))
        return Bins(name, float(table["low"]), float(table["high"]), *edges)
    return Integers(name, int(table["first"]), int(table["size"]))


@dataclass(frozen=True)
class CellReader:
    """All axes; the last one's cells are next to each other."""

    axes: tuple[AxisReader, ...]

    @classmethod
    def of(cls, tables: Sequence[Mapping[str, Any]]) -> "CellReader":
        if not tables:
            raise FormError(what="the form", must="have at least one axis")
        return cls(tuple(map(read_axis, tables)))

    @property
    def size(self) -> int:
        size = 1
        for axis in self.axes:
            size *= axis.size
        return size

    def find(self, value: Any) -> int:
        """The cell of a value: itself for one axis; a mapping from names, or a sequence in the axes' order."""
        if isinstance(value, Mapping):
            parts = [value.get(axis.name) for axis in self.axes] if len(value) == len(self.axes) else []
        elif isinstance(value, list | tuple):
            parts = list(value)
        else:
            parts = [value]
        if len(parts) != len(self.axes):
            names = ", ".join(axis.name for axis in self.axes)
            raise ValueOutsideDomain(what="value", must=f"have one entry for each of {names}")
        cell = 0
        for axis, own in zip(self.axes, parts, strict=True):
            index = axis.find(own)
            if index is None:
                raise ValueOutsideDomain(what=axis.name, expected=axis.allowed(), column=axis.name)
            cell = cell * axis.size + index
        return cell
