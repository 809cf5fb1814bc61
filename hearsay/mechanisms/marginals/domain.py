"""Several attributes of each device, and how many of them are looked at together at most (the order k)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Axis
from hearsay.mechanisms.errors import QueryError, SpecificationError, ValueOutsideDomain
from hearsay.mechanisms.marginals.characters.code import MAXIMUM_BITS, Attributes, Code

MAXIMUM_CODES = 1 << 12  # of a marginal: its covariance has the square of it
DEFAULT_ORDER = 2


@dataclass(frozen=True)
class AttributeDomain:
    """Named attributes, each a short list of labels or the integers 0..size-1."""

    axes: tuple[Axis, ...]
    order: int

    KIND: ClassVar[str] = "attributes"

    @property
    def kind(self) -> str:
        return self.KIND

    @property
    def columns(self) -> tuple[str, ...]:
        """The header of a CSV: the attributes' names."""
        return tuple(axis.name for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """How many different values a device may have."""
        return prod(self.shape)

    @cached_property
    def code(self) -> Code:
        """The attributes as bits."""
        return Code(self.shape)

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        """The domain of a survey's table: `names` with `sizes` or `labels`, or a list `attributes`; and `order`."""
        known = {"kind", "names", "sizes", "labels", "attributes", "order"}
        for key in table:
            if key not in known:
                raise SpecificationError(f"domain has the unknown key {key!r}; allowed: {', '.join(sorted(known))}")
        if ("attributes" in table) == ("names" in table):
            raise SpecificationError("domain must have either names or attributes, got both or neither")
        if "attributes" in table and ("sizes" in table or "labels" in table):
            raise SpecificationError("domain.sizes and domain.labels go with domain.names, got them with attributes")
        axes = _listed(table["attributes"]) if "attributes" in table else _side_by_side(table)
        made = cls(axes, _order(table.get("order"), len(axes)))
        made._check_sizes()
        return made

    def _check_sizes(self) -> None:
        names = self.columns
        for name in names:
            if names.count(name) > 1:
                raise SpecificationError(f"domain: attributes must have different names, got {name!r} twice")
        if self.code.width > MAXIMUM_BITS:
            raise SpecificationError(
                f"domain: attributes must fit into {MAXIMUM_BITS} bits together, got {self.code.width}"
            )
        largest = 1 << sum(sorted(self.code.bits)[-self.order :])
        if largest > MAXIMUM_CODES:
            raise SpecificationError(
                f"domain: {self.order} attributes together must have at most {MAXIMUM_CODES} codes, got {largest}; "
                "lower the order, or join values"
            )

    def table(self) -> dict[str, Any]:
        """The canonical table, every default written out."""
        return {
            "kind": self.KIND,
            "attributes": [{"name": axis.name, **axis.table()} for axis in self.axes],
            "order": self.order,
        }

    def read(self, columns: Mapping[str, Sequence[Any]]) -> NDArray[np.int64]:
        """Values of many devices from columns by name, in the attributes' own words: shape (n, attributes)."""
        return np.stack([axis.encode(columns[axis.name]) for axis in self.axes], axis=1)

    def one(self, value: Any) -> NDArray[np.int64]:
        """The values of one device: a mapping from names, or a sequence in the attributes' order."""
        if isinstance(value, Mapping):
            if set(value) != set(self.columns):
                raise ValueOutsideDomain(f"value must have exactly the attributes {', '.join(self.columns)}")
            return self.read({name: [value[name]] for name in self.columns})
        if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or len(value) != len(self.axes):
            raise ValueOutsideDomain(f"value must be a table or a list of {len(self.axes)} attributes")
        return self.read({name: [given] for name, given in zip(self.columns, value, strict=True)})

    def check(self, values: Any) -> NDArray[np.int64]:
        """Values as mechanisms take them, (n, attributes) of integers; one outside is refused and never shown."""
        indices = np.asarray(values)
        expected = (len(indices), len(self.axes))
        if indices.size == 0:
            return np.zeros(expected, dtype=np.int64)
        if not np.issubdtype(indices.dtype, np.integer):
            raise ValueOutsideDomain(f"values must be integers, got {indices.dtype}")
        if indices.shape != expected:
            raise ValueOutsideDomain(f"values must have shape {expected}, got {indices.shape}")
        if (indices < 0).any() or (indices >= np.array(self.shape)).any():
            raise ValueOutsideDomain("values must be inside the sizes of the attributes")
        return indices.astype(np.int64)

    def place(self, name: str) -> int:
        """Which attribute a query names."""
        if name not in self.columns:
            raise QueryError(f"attribute must be one of {', '.join(self.columns)}, got {name}")
        return self.columns.index(name)

    def cell(self, attributes: Attributes, index: int) -> dict[str, Any]:
        """A cell of a marginal as people name it: attribute and label."""
        shape = tuple(self.shape[place] for place in attributes)
        digits = np.unravel_index(index, shape)
        return {
            self.axes[place].name: self.axes[place].item(int(digit))
            for place, digit in zip(attributes, digits, strict=True)
        }


def _order(order: Any, attributes: int) -> int:
    if order is None:
        return min(DEFAULT_ORDER, attributes)
    if not isinstance(order, int) or isinstance(order, bool) or not 1 <= order <= attributes:
        raise SpecificationError(f"domain.order must be an integer in 1..{attributes}, got {order!r}")
    return order


def _side_by_side(table: Mapping[str, Any]) -> tuple[Axis, ...]:
    names = table["names"]
    if not isinstance(names, Sequence) or isinstance(names, str) or not names:
        raise SpecificationError("domain.names must be a list of names")
    if "sizes" in table and "labels" in table:
        raise SpecificationError("domain must have sizes or labels, not both")
    key = "labels" if "labels" in table else "sizes"
    given = table.get(key, [2] * len(names))
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != len(names):
        raise SpecificationError(f"domain.{key} must be a list with one entry for each of the {len(names)} names")
    word = {"labels": "categories", "sizes": "size"}[key]
    return _listed([{"name": name, word: entry} for name, entry in zip(names, given, strict=True)])


def _listed(attributes: Any) -> tuple[Axis, ...]:
    if not isinstance(attributes, Sequence) or isinstance(attributes, str) or not attributes:
        raise SpecificationError("domain.attributes must be a list of tables")
    return tuple(_one(entry) for entry in attributes)


def _one(entry: Any) -> Axis:
    if not isinstance(entry, Mapping):
        raise SpecificationError("domain.attributes must be a list of tables with name, and size or categories")
    name = entry.get("name")
    if not isinstance(name, str) or not name or name == "given":
        raise SpecificationError(f'domain.attributes: name must be a text other than "given", got {name!r}')
    for key in entry:
        if key not in ("name", "size", "categories"):
            raise SpecificationError(f"domain.attributes has the unknown key {key!r}; allowed: name, size, categories")
    if "size" in entry and "categories" in entry:
        raise SpecificationError(f"domain.attributes: {name} must have size or categories, not both")
    if "categories" in entry:
        labels = entry["categories"]
        if not isinstance(labels, Sequence) or isinstance(labels, str) or len(set(map(str, labels))) != len(labels):
            raise SpecificationError(f"domain.attributes: categories of {name} must be a list of different labels")
        size, words = len(labels), tuple(str(label) for label in labels)
    else:
        size, words = entry.get("size", 2), None
    if not isinstance(size, int) or isinstance(size, bool) or not 2 <= size <= MAXIMUM_CODES:
        raise SpecificationError(f"domain.attributes: {name} must have 2..{MAXIMUM_CODES} values, got {size!r}")
    return Axis(name, size, words)
