"""The set a private value comes from: named axes, each a finite list of cells.

Devices and queries speak in the domain's own units (labels, integers, real numbers); mechanisms see cell indices only.
No message ever shows a device's value.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import QueryError, SpecificationError, ValueOutsideDomain

MAXIMUM_CELLS = 1 << 28
Indices = NDArray[np.int64]
Item = str | int | list[float]


@dataclass(frozen=True)
class Axis:
    """One coordinate: integers 0..size-1, labels, or `size` equal bins of the real interval low..high."""

    name: str
    size: int
    labels: tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None

    @property
    def width(self) -> float:
        """The width of a bin in the axis' own units; 1 for integers and labels."""
        if self.low is None or self.high is None:
            return 1.0
        return (self.high - self.low) / self.size

    def item(self, index: int) -> Item:
        """A cell as people name it: its label, its integer, or the two ends of its bin."""
        if self.labels is not None:
            return self.labels[index]
        if self.low is None:
            return int(index)
        return [self.low + index * self.width, self.low + (index + 1) * self.width]

    def units(self, index: float) -> float:
        """A position between cells in the axis' own units: the integer itself, or the lower end of the bin."""
        return index if self.low is None else self.low + index * self.width

    def encode(self, values: Sequence[Any] | NDArray[Any]) -> Indices:
        """Cell indices of raw values; raises at the first that is outside, naming its position but not the value."""
        if self.labels is not None:
            known = {label: index for index, label in enumerate(self.labels)}
            found = np.array([known.get(str(value), -1) for value in values], dtype=np.int64)
            self._refuse(found < 0)
            return found
        numbers = self._numbers(values)
        with np.errstate(invalid="ignore"):
            if self.low is None:
                self._refuse(~((numbers >= 0) & (numbers < self.size) & (numbers == np.floor(numbers))))
                return numbers.astype(np.int64)
            self._refuse(~((numbers >= self.low) & (numbers <= (self.high or 0.0))))
        return np.minimum(((numbers - self.low) / self.width).astype(np.int64), self.size - 1)

    def _numbers(self, values: Sequence[Any] | NDArray[Any]) -> NDArray[np.float64]:
        try:
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return np.array([_number_or_nan(value) for value in values], dtype=np.float64)

    def _refuse(self, outside: NDArray[np.bool_]) -> None:
        if outside.any():
            error = ValueOutsideDomain(f"{self.name} must be {self.allowed()}")
            error.position = int(np.argmax(outside))  # type: ignore[attr-defined]
            error.axis = self.name  # type: ignore[attr-defined]
            raise error

    def locate(self, text: str | float | int) -> int:
        """The cell that a query names, in the axis' own units."""
        try:
            return int(self.encode([text])[0])
        except ValueOutsideDomain:
            raise QueryError(f"{self.name} must be {self.allowed()}, got {text}") from None

    def allowed(self) -> str:
        """What a value may be, in words."""
        if self.labels is not None:
            shown = ", ".join(self.labels[:8])
            return f"one of {shown}" + (f", ... ({self.size} labels)" if self.size > 8 else "")
        if self.low is None:
            return f"an integer in 0..{self.size - 1}"
        return f"a number in {self.low:g}..{self.high:g}"

    def table(self) -> dict[str, Any]:
        """The axis as a survey's table."""
        if self.labels is not None:
            return {"categories": list(self.labels)}
        if self.low is None:
            return {"size": self.size}
        return {"low": self.low, "high": self.high, "bins": self.size}


def _number_or_nan(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


@dataclass(frozen=True)
class Domain:
    """A survey's domain: its kind, its axes and, for a categorical one, its blocks and sensitive values."""

    kind: str
    axes: tuple[Axis, ...]
    blocks: tuple[tuple[int, ...], ...] | None = None
    sensitive: tuple[int, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return prod(self.shape)

    def check(self, values: NDArray[Any] | Sequence[Any]) -> Indices:
        """Cell indices as a device gives them to a mechanism: shape (n,), or (n, axes) where there are several.

        Integers only, inside the domain: a value outside is an error here and never sent.
        """
        indices = np.asarray(values)
        expected = (len(indices),) if len(self.axes) == 1 else (len(indices), len(self.axes))
        if indices.size == 0:
            return np.zeros(expected, dtype=np.int64)
        if not np.issubdtype(indices.dtype, np.integer):
            raise ValueOutsideDomain(f"values must be integers, got {indices.dtype}")
        if indices.shape != expected:
            raise ValueOutsideDomain(f"values must have shape {expected}, got {indices.shape}")
        limits = np.array(self.shape)
        if (indices < 0).any() or (indices.reshape(len(indices), -1) >= limits).any():
            raise ValueOutsideDomain(f"values must be cells of the domain, 0..{' x 0..'.join(map(str, limits - 1))}")
        return indices.astype(np.int64)

    def flatten(self, values: NDArray[Any] | Sequence[Any]) -> Indices:
        """Checked cells as one index each, row-major over the axes."""
        indices = self.check(values)
        if len(self.axes) == 1:
            return indices
        return np.ravel_multi_index(tuple(indices.T), self.shape).astype(np.int64)

    def encode(self, columns: Mapping[str, Sequence[Any]]) -> Indices:
        """Cells of raw values given by axis name, in the domain's own units."""
        missing = [axis.name for axis in self.axes if axis.name not in columns]
        if missing:
            raise ValueOutsideDomain(f"missing column {missing[0]!r}; needed: {', '.join(a.name for a in self.axes)}")
        encoded = [axis.encode(columns[axis.name]) for axis in self.axes]
        return encoded[0] if len(encoded) == 1 else np.stack(encoded, axis=1)

    def table(self) -> dict[str, Any]:
        """The canonical `[domain]` table, every default written out."""
        if self.kind == "grid":
            return {"kind": "grid", "axes": [{"name": axis.name, **axis.table()} for axis in self.axes]}
        (axis,) = self.axes
        if self.kind == "binary":
            return {"kind": "binary", **({"categories": list(axis.labels)} if axis.labels else {})}
        table = {"kind": self.kind, **axis.table()}
        if self.blocks is not None:
            table["blocks"] = [[axis.item(index) for index in block] for block in self.blocks]
        if self.sensitive is not None:
            table["sensitive"] = [axis.item(index) for index in self.sensitive]
        return table


def categorical(size: int) -> Domain:
    """The domain of an oracle inside another mechanism: cells 0..size-1."""
    return Domain("categorical", (Axis("value", size),))


def parse(table: Any) -> Domain:
    """A domain from a survey's `[domain]` table."""
    if not isinstance(table, Mapping):
        raise SpecificationError(f"domain must be a table, got {type(table).__name__}")
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in _PARSERS:
        raise SpecificationError(f"domain.kind must be one of {', '.join(_PARSERS)}, got {kind!r}")
    domain = _PARSERS[kind](table)
    if domain.size > MAXIMUM_CELLS:
        raise SpecificationError(f"domain must have at most {MAXIMUM_CELLS} cells, got {domain.size}")
    return domain


def _parse_categorical(table: Mapping[str, Any]) -> Domain:
    _only(table, {"kind", "size", "categories", "blocks", "sensitive"})
    axis = _axis("value", table, "domain", continuous=False)
    blocks = _blocks(table["blocks"], axis) if "blocks" in table else None
    sensitive = tuple(sorted(_members(table["sensitive"], axis, "sensitive"))) if "sensitive" in table else None
    return Domain("categorical", (axis,), blocks, sensitive)


def _parse_ordinal(table: Mapping[str, Any]) -> Domain:
    _only(table, {"kind", "size", "categories", "low", "high", "bins"})
    return Domain("ordinal", (_axis("value", table, "domain"),))


def _parse_binary(table: Mapping[str, Any]) -> Domain:
    _only(table, {"kind", "categories"})
    axis = _axis("value", {"size": 2, **table} if "categories" not in table else table, "domain", continuous=False)
    if axis.size != 2:
        raise SpecificationError(f"domain.categories of a binary domain must be two labels, got {axis.size}")
    return Domain("binary", (axis,))


def _parse_grid(table: Mapping[str, Any]) -> Domain:
    _only(table, {"kind", "sizes", "axes"})
    if ("sizes" in table) == ("axes" in table):
        raise SpecificationError("domain of kind grid must have exactly one of sizes, axes")
    if "sizes" in table:
        entries: Any = [{"size": size} for size in _list(table["sizes"], "domain.sizes")]
    else:
        entries = _list(table["axes"], "domain.axes")
    axes = []
    for number, entry in enumerate(entries, start=1):
        where = f"domain.axes[{number}]"
        if not isinstance(entry, Mapping):
            raise SpecificationError(f"{where} must be a table, got {type(entry).__name__}")
        _only(entry, {"name", "size", "categories", "low", "high", "bins"}, where)
        name = entry.get("name", f"axis{number}")
        if not isinstance(name, str) or not name:
            raise SpecificationError(f"{where}.name must be a text, got {name!r}")
        axes.append(_axis(name, entry, where))
    if not axes:
        raise SpecificationError("domain.axes must have at least one axis, got none")
    if len({axis.name for axis in axes}) < len(axes):
        raise SpecificationError("domain.axes must have different names")
    return Domain("grid", tuple(axes))


_PARSERS = {
    "categorical": _parse_categorical,
    "ordinal": _parse_ordinal,
    "binary": _parse_binary,
    "grid": _parse_grid,
}


def _only(table: Mapping[str, Any], allowed: set[str], where: str = "domain") -> None:
    for key in table:
        if key not in allowed:
            raise SpecificationError(f"{where} has the unknown key {key!r}; allowed: {', '.join(sorted(allowed))}")


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list | tuple) or not value:
        raise SpecificationError(f"{where} must be a list that is not empty, got {value!r}")
    return list(value)


def _axis(name: str, table: Mapping[str, Any], where: str, continuous: bool = True) -> Axis:
    forms = [form for form in ("size", "categories", "bins") if form in table]
    allowed = "size, categories, or low, high and bins" if continuous else "size, categories"
    if len(forms) != 1:
        raise SpecificationError(f"{where} must have exactly one of {allowed}")
    if forms == ["categories"]:
        labels = _list(table["categories"], f"{where}.categories")
        if not all(isinstance(label, str) and label for label in labels) or len(set(labels)) < len(labels):
            raise SpecificationError(f"{where}.categories must be different texts that are not empty")
        if len(labels) < 2:
            raise SpecificationError(f"{where}.categories must have at least 2 labels, got {len(labels)}")
        return Axis(name, len(labels), labels=tuple(labels))
    size = table[forms[0]]
    if not isinstance(size, int) or isinstance(size, bool) or not 2 <= size <= MAXIMUM_CELLS:
        raise SpecificationError(f"{where}.{forms[0]} must be an integer in 2..{MAXIMUM_CELLS}, got {size!r}")
    if forms == ["size"]:
        for stray in ("low", "high"):
            if stray in table:
                raise SpecificationError(f"{where}.{stray} goes with bins, not with size")
        return Axis(name, size)
    ends = [table.get("low"), table.get("high")]
    for key, end in zip(("low", "high"), ends, strict=True):
        if not isinstance(end, int | float) or isinstance(end, bool) or not isfinite(end):
            raise SpecificationError(f"{where}.{key} must be a finite number, got {end!r}")
    low, high = float(ends[0]), float(ends[1])  # type: ignore[arg-type]
    if not low < high:
        raise SpecificationError(f"{where}.low must be below {where}.high, got {low:g} and {high:g}")
    return Axis(name, size, low=low, high=high)


def _members(listed: Any, axis: Axis, name: str) -> list[int]:
    members = []
    for entry in _list(listed, f"domain.{name}"):
        try:
            if not isinstance(entry, str | int | float):
                raise QueryError
            members.append(axis.locate(entry))
        except QueryError:
            raise SpecificationError(f"domain.{name} must hold values of the domain, got {entry!r}") from None
    if len(set(members)) < len(members):
        raise SpecificationError(f"domain.{name} must not name a value twice")
    return members


def _blocks(given: Any, axis: Axis) -> tuple[tuple[int, ...], ...]:
    if isinstance(given, int) and not isinstance(given, bool):
        if not 1 <= given <= axis.size:
            raise SpecificationError(f"domain.blocks must be a block size in 1..{axis.size}, got {given}")
        return tuple(tuple(range(start, min(start + given, axis.size))) for start in range(0, axis.size, given))
    blocks = tuple(tuple(_members(block, axis, "blocks")) for block in _list(given, "domain.blocks"))
    covered = sorted(index for block in blocks for index in block)
    if covered != list(range(axis.size)):
        raise SpecificationError("domain.blocks must hold every value of the domain exactly once")
    return blocks


def names(axes: Iterable[Axis]) -> str:
    """The axes' names for a message."""
    return ", ".join(axis.name for axis in axes)
