"""Domains of several axes: a value is a row of cells, one on each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hearsay.mechanisms.domains.axis import Axis, parse_axis
from hearsay.mechanisms.domains.cells import Cells, Name, Ordinal
from hearsay.mechanisms.domains.domain import as_list, only
from hearsay.mechanisms.errors import QueryError, SpecificationError


@dataclass(frozen=True)
class Grid(Cells):
    """Named axes; ranges are boxes."""

    KIND = "grid"
    KEYS = "`sizes`, or `[[domain.axes]]`, each like an ordinal domain with a `name`"
    VALUE = "one coordinate for every axis"

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        only(table, {"kind", "sizes", "axes"})
        if ("sizes" in table) == ("axes" in table):
            raise SpecificationError(what="domain of kind grid", must="have exactly one of sizes, axes")
        if "sizes" in table:
            entries: Any = [{"size": size} for size in as_list(table["sizes"], "domain.sizes")]
        else:
            entries = as_list(table["axes"], "domain.axes")
        axes = []
        for number, entry in enumerate(entries, start=1):
            where = f"domain.axes[{number}]"
            if not isinstance(entry, Mapping):
                raise SpecificationError(what=where, expected="a table", got=type(entry).__name__)
            only(entry, {"name", "size", "categories", "first", "last", "low", "high", "bins"}, where)
            name = entry.get("name", f"axis{number}")
            if not isinstance(name, str) or not name:
                raise SpecificationError(what=f"{where}.name", expected="a text", got=repr(name))
            axes.append(parse_axis(name, entry, where))
        if not axes:
            raise SpecificationError(what="domain.axes", must="have at least one axis", got="none")
        if len({axis.name for axis in axes}) < len(axes):
            raise SpecificationError(what="domain.axes", must="have different names")
        return cls(tuple(axes))._sized()

    @classmethod
    def of_size(cls, sizes: Sequence[int]) -> dict[str, Any]:
        return {"sizes": list(sizes)}

    def table(self) -> dict[str, Any]:
        return {"kind": self.KIND, "axes": [{"name": axis.name, **axis.table()} for axis in self.axes]}

    @property
    def is_line(self) -> bool:
        return False  # even with one axis: its ranges are written A:B, and it has no quantiles

    def range_ends(self, words: Sequence[str], query: str) -> list[tuple[str, str]]:
        """Both ends of the box that a query names, along every axis: A1:B1 A2:B2 ..."""
        if len(words) != len(self.axes):
            wanted = ", ".join(self.columns)
            raise QueryError(f"query {query} needs one A:B for each of {wanted}, got {len(words)}")
        return [axis.split_range(text) for axis, text in zip(self.axes, words, strict=True)]

    def name(self, index: int) -> Name:
        indices = np.unravel_index(index, self.shape)
        return None, {axis.name: axis.item(int(i)) for axis, i in zip(self.axes, indices, strict=True)}

    def _stretches(self, stretches: list[list[Any]]) -> Name:
        """A box as answers name it: by axis, its two ends."""
        return None, dict(zip(self.columns, stretches, strict=True))


def ordered(axes: tuple[Axis, ...]) -> Cells:
    """The ordered domain of some axes: a line where there is one."""
    return Ordinal(axes) if len(axes) == 1 else Grid(axes)
