"""Several attributes of each device, and how many of them are looked at together at most (the order k)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from hearsay.mechanisms.domains.axis import AxesDomain, Axis, parse_axis
from hearsay.mechanisms.domains.columns import ColumnCells
from hearsay.mechanisms.domains.domain import as_list, only
from hearsay.mechanisms.errors import QueryError, SpecificationError, one_of, refuse_more
from hearsay.mechanisms.marginals.characters.code import MAXIMUM_BITS, Attributes, Code
from hearsay.mechanisms.marginals.characters.coefficients import Coefficients

MAXIMUM_CODES = 1 << 12  # of a marginal: its covariance has the square of it
DEFAULT_ORDER = 2
GIVEN = "given"  # the word between the two sides of a conditional


@dataclass(frozen=True)
class AttributeDomain(AxesDomain):
    """Named attributes, each a short list of labels or the integers 0..size-1. A value is a row of indices."""

    order: int

    KIND: ClassVar[str] = "attributes"
    KEYS: ClassVar[str] = (
        "`names` with `sizes` or `labels`, or `[[domain.attributes]]` with `name` and `size` or `categories`; "
        f"`order` ({DEFAULT_ORDER})"
    )
    VALUE: ClassVar[str] = "one value for every attribute"

    @property
    def has_rows(self) -> bool:
        return True  # also where there is only one attribute

    @cached_property
    def code(self) -> Code:
        """The attributes as bits."""
        return Code(self.shape)

    def cells_in(self, column: str) -> ColumnCells:
        return self.axes[self.columns.index(column)].cells_in(ordered=True)  # whole numbers: ages, levels, 0 or 1

    @classmethod
    def of_size(cls, sizes: Sequence[int]) -> dict[str, Any]:
        """One number: so many attributes of two values each; several: the numbers of values of a1, a2, ..."""
        values = [2] * sizes[0] if len(sizes) == 1 else list(sizes)
        return {"names": [f"a{number}" for number in range(1, len(values) + 1)], "sizes": values}

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        """`names` with `sizes` or `labels`, or a list `attributes`; and `order`."""
        only(table, {"kind", "names", "sizes", "labels", "attributes", "order"})
        if ("attributes" in table) == ("names" in table):
            raise SpecificationError(what="domain", must="have either names or attributes", got="both or neither")
        if "attributes" in table and ("sizes" in table or "labels" in table):
            raise SpecificationError("domain.sizes and domain.labels go with domain.names, got them with attributes")
        entries = table["attributes"] if "attributes" in table else _side_by_side(table)
        axes = tuple(_attribute(entry) for entry in as_list(entries, "domain.attributes"))
        made = cls(axes, _order(table.get("order"), len(axes)))
        made._check_sizes()
        return made

    def _check_sizes(self) -> None:
        names = self.columns
        for name in names:
            if names.count(name) > 1:
                raise SpecificationError(what="domain: attributes", must="have different names", got=f"{name!r} twice")
        if self.code.width > MAXIMUM_BITS:
            raise SpecificationError(
                what="domain: attributes", must=f"fit into {MAXIMUM_BITS} bits together", got=self.code.width
            )
        largest = 1 << sum(sorted(self.code.bits)[-self.order :])
        together = f"domain: {self.order} attributes together"
        refuse_more(largest, MAXIMUM_CODES, "codes", "; lower the order, or join values", what=together)

    def table(self) -> dict[str, Any]:
        """The canonical table, every default written out."""
        return {
            "kind": self.KIND,
            "attributes": [{"name": axis.name, **axis.table()} for axis in self.axes],
            "order": self.order,
        }

    def smaller(self, most: int) -> "AttributeDomain":
        """The first attributes, as many as have at most so many combinations."""
        kept = 1
        while kept < len(self.axes) and prod(self.shape[: kept + 1]) <= most:
            kept += 1
        return replace(self, axes=self.axes[:kept], order=min(self.order, kept))

    def attribute_number(self, name: str) -> int:
        """Which attribute a query names."""
        if name not in self.columns:
            raise QueryError(what="attribute", expected=f"one of {one_of(self.columns, name)}", got=name)
        return self.columns.index(name)

    def cell(self, attributes: Attributes, index: int) -> dict[str, Any]:
        """A cell of a marginal as people name it: attribute and label."""
        shape = tuple(self.shape[attribute] for attribute in attributes)
        digits = np.unravel_index(index, shape)
        return {
            self.axes[attribute].name: self.axes[attribute].item(int(digit))
            for attribute, digit in zip(attributes, digits, strict=True)
        }


class OnAttributes:
    """What mechanisms and estimates read from their domain of attributes."""

    domain: AttributeDomain

    @property
    def code(self) -> Code:
        """The attributes as bits."""
        return self.domain.code

    @property
    def order(self) -> int:
        """k: marginals have at most so many attributes."""
        return self.domain.order

    @cached_property
    def coefficients(self) -> Coefficients:
        """The characters of up to k attributes."""
        return Coefficients(self.code, self.order)

    def sets(self, size: int | None = None) -> list[Attributes]:
        """All sets of `size` attributes, or of k."""
        return list(combinations(range(len(self.code.sizes)), self.order if size is None else size))


def _order(order: Any, attributes: int) -> int:
    if order is None:
        return min(DEFAULT_ORDER, attributes)
    if not isinstance(order, int) or isinstance(order, bool) or not 1 <= order <= attributes:
        raise SpecificationError(what="domain.order", expected=f"an integer in 1..{attributes}", got=repr(order))
    return order


def _side_by_side(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`names` beside `sizes` or `labels` as a list of attributes."""
    names = as_list(table["names"], "domain.names")
    if "sizes" in table and "labels" in table:
        raise SpecificationError(what="domain", must="have sizes or labels, not both")
    key, word = ("labels", "categories") if "labels" in table else ("sizes", "size")
    given = as_list(table.get(key, [2] * len(names)), f"domain.{key}")
    if len(given) != len(names):
        raise SpecificationError(
            what=f"domain.{key}", must=f"have one entry for each of the {len(names)} names", got=len(given)
        )
    return [{"name": name, word: entry} for name, entry in zip(names, given, strict=True)]


def _attribute(entry: Any) -> Axis:
    if not isinstance(entry, Mapping):
        raise SpecificationError(
            what="domain.attributes", expected="a list of tables with name, and size or categories"
        )
    only(entry, {"name", "size", "categories"}, "domain.attributes")
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip() or name == GIVEN:
        raise SpecificationError(
            what="domain.attributes: name", expected=f'a text other than "{GIVEN}"', got=repr(name)
        )
    form = {key: entry[key] for key in ("size", "categories") if key in entry} or {"size": 2}
    size = form.get("size")
    if isinstance(size, int) and not isinstance(size, bool) and not 2 <= size <= MAXIMUM_CODES:
        raise SpecificationError(
            what=f"domain.attributes.{name}.size", expected=f"an integer in 2..{MAXIMUM_CODES}", got=size
        )
    axis = parse_axis(name, form, f"domain.attributes.{name}", continuous=False)
    if axis.size > MAXIMUM_CODES:
        raise SpecificationError(
            what=f"domain.attributes: {name}", must=f"have 2..{MAXIMUM_CODES} values", got=axis.size
        )
    return axis
