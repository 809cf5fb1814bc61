"""Domains that are a finite list of cells: categories, ordered values, yes or no.

A device's value is one cell index, or a row of indices where there are several axes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.axis import AxesDomain, Axis, parse_axis
from hearsay.mechanisms.domains.domain import MAXIMUM_CELLS, Indices, as_list, only
from hearsay.mechanisms.errors import QueryError, SpecificationError, refuse_more

Ends = list[tuple[int, int]]
Name = tuple[Any, dict[str, Any] | None]
FIRST_LAST = re.compile(
    r"\s*(-?\d{1,15})\s*(?:-|to|,|\.\.)\s*(-?\d{1,15})\s*", re.ASCII
)  # 18-99, 18 to 99, 18,99, 18..99
_NUMBER = r"\s*(-?\d{1,12}(?:\.\d{1,12})?)\s*"
LOW_HIGH_BINS = re.compile(rf"{_NUMBER},{_NUMBER},\s*(\d{{1,9}})\s*", re.ASCII)


@dataclass(frozen=True)
class Cells(AxesDomain):
    """A finite list of cells; row-major where there are several axes."""

    # Of categorical surveys: blocks of values that are indistinguishable within a block, and sensitive values.
    blocks: tuple[tuple[int, ...], ...] | None = None
    sensitive: tuple[int, ...] | None = None

    ORDERED: ClassVar[bool] = True

    @property
    def has_rows(self) -> bool:
        return len(self.axes) > 1

    @cached_property
    def is_line(self) -> bool:
        """Whether its cells have one order, so that prefixes and quantiles are defined."""
        return self.ORDERED and len(self.axes) == 1

    @property
    def mean_bounds(self) -> tuple[float, float] | None:
        if not self.is_line or self.axes[0].labels is not None:
            return None
        (axis,) = self.axes
        return float(axis.units(0)), float(axis.units(axis.size - 1 + axis.continuous))

    def flatten(self, values: NDArray[Any] | Sequence[Any]) -> Indices:
        """Checked cells as one index each, row-major over the axes."""
        indices = self.check(values)
        if not self.has_rows:
            return indices
        return np.ravel_multi_index(tuple(indices.T), self.shape).astype(np.int64)

    def locate(self, words: Sequence[str]) -> int:
        """The cell that a query names, one word per axis."""
        words = self.axes[0].one_word(words, "point") if len(self.axes) == 1 else words
        if len(words) != len(self.axes):
            raise QueryError(f"query point needs one value for each of {', '.join(self.columns)}, got {len(words)}")
        indices = [axis.locate(text) for axis, text in zip(self.axes, words, strict=True)]
        return int(np.ravel_multi_index(tuple(indices), self.shape))

    def range_ends(self, words: Sequence[str], query: str) -> list[tuple[str, str]]:
        """Both ends of the range that a query names, along every axis: A B."""
        if len(words) != 2:
            raise QueryError(f"query {query} needs two ends, as in `{query} A B`, got {len(words)}")
        return [(words[0], words[1])]

    def locate_range(self, words: Sequence[str], query: str) -> Ends:
        """First and last cell along every axis of the range that a query names."""
        asked = self.range_ends(words, query)
        return [axis.locate_range(*ends) for axis, ends in zip(self.axes, asked, strict=True)]

    def widens(self, words: Sequence[str], query: str) -> bool:
        """Whether whole bins reach beyond the range that a query names."""
        asked = self.range_ends(words, query)
        return any(axis.widens(*ends) for axis, ends in zip(self.axes, asked, strict=True))

    def name(self, index: int) -> Name:
        """A cell as answers name it: (item, None), or (None, cell) where there are several axes."""
        return self.axes[0].item(index), None

    def covered(self, ends: Ends) -> Name:
        """What a range covers, as answers name it: (item, None), or (None, cell) where there are several axes."""
        return self._stretches([axis.stretch(*end) for axis, end in zip(self.axes, ends, strict=True)])

    def _stretches(self, stretches: list[list[Any]]) -> Name:
        return stretches[0], None

    def _sized(self) -> Self:
        refuse_more(self.size, MAXIMUM_CELLS, "cells")
        return self


@dataclass(frozen=True)
class Categorical(Cells):
    """Values without an order."""

    KIND = "categorical"
    KEYS = "`size`, or `categories`; and, if wanted, `blocks`, `sensitive`"
    VALUE = "an integer 0..size-1, or a label"
    ORDERED = False

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        only(table, {"kind", "size", "categories", "blocks", "sensitive"})
        axis = parse_axis("value", table, "domain", continuous=False)
        blocks = _blocks(table["blocks"], axis) if "blocks" in table else None
        sensitive = tuple(sorted(_members(table["sensitive"], axis, "sensitive"))) if "sensitive" in table else None
        return cls((axis,), blocks, sensitive)._sized()

    def calls_for(self) -> tuple[str, str] | None:
        if self.blocks is not None and self.sensitive is not None:
            raise SpecificationError(
                what="domain", must='have blocks or sensitive, not both, where mechanism is "auto"'
            )
        if self.blocks is not None:
            return "block-hr", "the domain has blocks, within which values are protected"
        if self.sensitive is not None:
            return "highlow-hr", "the domain lists sensitive values, which it protects"
        return None

    def table(self) -> dict[str, Any]:
        (axis,) = self.axes
        table = {"kind": self.KIND, **axis.table()}
        if self.blocks is not None:
            table["blocks"] = [[axis.item(index) for index in block] for block in self.blocks]
        if self.sensitive is not None:
            table["sensitive"] = [axis.item(index) for index in self.sensitive]
        return table


@dataclass(frozen=True)
class Ordinal(Cells):
    """Ordered values on one axis."""

    KIND = "ordinal"
    KEYS = "`size`, or `first`, `last`, or `categories` (in order), or `low`, `high`, `bins`"
    VALUE = "an integer, a label, or a number in low..high"
    SIZE_TEXT = "a whole number, or the first and the last, or LOW,HIGH,BINS for numbers with decimals"

    @classmethod
    def sized(cls, text: str) -> dict[str, Any]:
        if ends := FIRST_LAST.fullmatch(text):
            return {"first": int(ends[1]), "last": int(ends[2])}
        if binned := LOW_HIGH_BINS.fullmatch(text):
            return {"low": float(binned[1]), "high": float(binned[2]), "bins": int(binned[3])}
        return super().sized(text)

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        only(table, {"kind", "size", "categories", "first", "last", "low", "high", "bins"})
        return cls((parse_axis("value", table, "domain"),))._sized()

    def table(self) -> dict[str, Any]:
        return {"kind": self.KIND, **self.axes[0].table()}


@dataclass(frozen=True)
class Binary(Cells):
    """Yes or no."""

    KIND = "binary"
    KEYS = "none, or `categories` (two)"
    VALUE = "0 or 1, or a label"
    ORDERED = False

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        only(table, {"kind", "categories"})
        shown = table if "categories" in table else {"size": 2, **table}
        axis = parse_axis("value", shown, "domain", continuous=False)
        if axis.size != 2:
            raise SpecificationError(what="domain.categories of a binary domain", expected="two labels", got=axis.size)
        return cls((axis,))

    def table(self) -> dict[str, Any]:
        labels = self.axes[0].labels
        return {"kind": self.KIND, **({"categories": list(labels)} if labels else {})}


def categorical(size: int) -> Categorical:
    """The domain of an oracle inside another mechanism: cells 0..size-1."""
    return Categorical((Axis("value", size),))


def _members(listed: Any, axis: Axis, name: str) -> list[int]:
    members = []
    for entry in as_list(listed, f"domain.{name}"):
        try:
            if not isinstance(entry, str | int | float):
                raise QueryError
            members.append(axis.locate(entry))
        except QueryError:
            raise SpecificationError(what=f"domain.{name}", must="hold values of the domain", got=repr(entry)) from None
    if len(set(members)) < len(members):
        raise SpecificationError(what=f"domain.{name}", must="not name a value twice")
    return members


def _blocks(given: Any, axis: Axis) -> tuple[tuple[int, ...], ...]:
    if isinstance(given, int) and not isinstance(given, bool):
        if not 1 <= given <= axis.size:
            raise SpecificationError(what="domain.blocks", expected=f"a block size in 1..{axis.size}", got=given)
        return tuple(tuple(range(start, min(start + given, axis.size))) for start in range(0, axis.size, given))
    blocks = tuple(tuple(_members(block, axis, "blocks")) for block in as_list(given, "domain.blocks"))
    covered = sorted(index for block in blocks for index in block)
    if covered != list(range(axis.size)):
        raise SpecificationError(what="domain.blocks", must="hold every value of the domain exactly once")
    return blocks
