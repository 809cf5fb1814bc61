"""Key-value data: every device holds a set of pairs, each key at most once, each value within its axis' low..high.

Several key dimensions are flattened to one, row-major; an answer names a key by its coordinate in each. Without value
dimensions the pairs are item sets. A device may hold no pair: its row in a CSV file has an empty key. `pairs` is the
largest number of pairs of a device, if it is known; mechanisms that pad sets need it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.axis import Axis, parse_axis, parse_scale
from hearsay.mechanisms.domains.columns import ColumnCells, Numbers
from hearsay.mechanisms.domains.domain import MAXIMUM_CELLS, Domain, Indices, Values, as_list, check_columns, only
from hearsay.mechanisms.domains.numbers import number as as_number
from hearsay.mechanisms.domains.numbers import plain_numbers
from hearsay.mechanisms.errors import QueryError, SpecificationError, ValueOutsideDomain, refuse_more
from hearsay.mechanisms.key_value.pairs import MOST_SETS, Pairs
from hearsay.mechanisms.key_value.simulated.laws import LAWS, SPREAD, PairLaw

DEVICE = "device"
_PEOPLE_PAIRS = 4  # keys that a simulated device draws; a key drawn twice counts once
_VALUE_STEPS = 201  # a simulated value is one of so many, evenly spaced over -1..1
_CAPACITY = 64  # pairs that the reading of a device is padded to, if the survey does not have `pairs`
_NOT_GIVEN = ""  # refused by every axis: a label is never empty (and may be "None"), and this is no number


@dataclass(frozen=True)
class ValueAxis:
    """One of the numbers of a pair, in low..high."""

    name: str = "value"
    low: float = -1.0
    high: float = 1.0

    @classmethod
    def parse(cls, name: str, table: Mapping[str, Any], where: str) -> Self:
        return cls(name, *parse_scale({"low": -1.0, "high": 1.0, **table}, where))

    def scale(self, values: Any) -> NDArray[np.float64]:
        """Values scaled to -1..1; values outside low..high are refused."""
        numbers = plain_numbers(values)
        inside = (numbers >= self.low) & (numbers <= self.high)
        if not inside.all():
            raise ValueOutsideDomain(
                what=self.name,
                expected=f"a number in {self.low:g}..{self.high:g}",
                positions=np.flatnonzero(~inside).tolist(),
                column=self.name,
            )
        return np.clip((numbers - self.low) * (2 / (self.high - self.low)) - 1.0, -1.0, 1.0)

    def units(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scaled values in the axis' own units."""
        return self.low + (scaled + 1.0) * self.half

    @property
    def half(self) -> float:
        """Half of the axis: a step of 1 on the scale -1..1, in own units."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class KeyValue(Domain):
    """Sets of pairs."""

    keys: tuple[Axis, ...]
    values: tuple[ValueAxis, ...] = (ValueAxis(),)
    ordered: bool = False  # whether ranges of keys may be asked for
    pairs: int | None = None  # the largest number of pairs of a device, if known
    KIND: ClassVar[str] = "key-value"
    SIZE_KEY: ClassVar[str] = "keys"
    KEYS: ClassVar[str] = "`keys`; and, if wanted, `low`, `high`, `values`, `ordered`, `pairs`"
    VALUE: ClassVar[str] = "a set of keys, each with a number"
    EXCLUSIVE, EMPTY_ROWS = False, True

    @property
    def columns(self) -> tuple[str, ...]:
        return (DEVICE, *(axis.name for axis in self.keys), *(axis.name for axis in self.values))

    @property
    def key_shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.keys)

    @property
    def size(self) -> int:
        return prod(self.key_shape)

    @property
    def dimensions(self) -> int:
        """How many numbers a pair has; a report is about one of them."""
        return len(self.values)

    def in_units(self, question: str, stderr: float) -> float:
        """Means are predicted on the scale -1..1; of several value axes the widest one counts."""
        return stderr * max(axis.half for axis in self.values) if question == "mean" else stderr

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        only(table, {"kind", "keys", "values", "low", "high", "ordered", "pairs"})
        if "keys" not in table:
            raise SpecificationError("domain.keys is missing: a number, a list of labels, or tables with size")
        made = cls(_key_axes(table["keys"]), _value_axes(table), table.get("ordered", False), table.get("pairs"))
        if not isinstance(made.ordered, bool):
            raise SpecificationError(what="domain.ordered", expected="true or false", got=repr(made.ordered))
        if made.pairs is not None and (type(made.pairs) is not int or not 1 <= made.pairs <= made.size):
            raise SpecificationError(
                what="domain.pairs", expected=f"an integer in 1..{made.size}", got=repr(made.pairs)
            )
        if len(set(made.columns)) < len(made.columns):
            raise SpecificationError(what="domain", must=f"have different names for {', '.join(made.columns)}")
        refuse_more(made.size, MAXIMUM_CELLS, "keys")
        if made.ordered and len(made.keys) > 1:
            raise SpecificationError("domain.ordered needs one key dimension, got several")
        return made

    def table(self) -> dict[str, Any]:
        keys: Any = [{"name": axis.name, **axis.table()} for axis in self.keys]
        if len(self.keys) == 1 and self.keys[0].name == "key":
            labels = self.keys[0].labels
            keys = self.keys[0].size if labels is None else list(labels)
        values: dict[str, Any] = {"values": [vars(axis) for axis in self.values]}
        if not self.values:
            values = {"values": False}
        elif len(self.values) == 1 and self.values[0].name == "value":
            values = {"values": True, "low": self.values[0].low, "high": self.values[0].high}
        known = {} if self.pairs is None else {"pairs": self.pairs}
        return {"kind": self.KIND, "keys": keys, **values, "ordered": self.ordered, **known}

    def read(self, columns: Mapping[str, Any]) -> Pairs:
        check_columns(columns, self.columns)
        names, device = np.unique([str(name).strip() for name in columns[DEVICE]], return_inverse=True)
        if names.size and not names[0]:
            raise ValueOutsideDomain(
                what="device", must="not be empty", positions=np.flatnonzero(device == 0).tolist(), column=DEVICE
            )
        rows = np.flatnonzero(~self._has_no_pair(columns, len(device)))
        try:
            indices = [axis.encode([columns[axis.name][row] for row in rows]) for axis in self.keys]
            values = [axis.scale([columns[axis.name][row] for row in rows]) for axis in self.values]
            table = np.stack(values, axis=1) if values else np.zeros((len(rows), 0))
            pairs = Pairs.grouped(device[rows], self._flat(indices), table, len(names))
        except ValueOutsideDomain as error:
            bad = rows[list(error.positions)].tolist()
            raise ValueOutsideDomain(str(error), bad, error.column or self.keys[0].name, **error.fields) from None
        return Pairs(pairs.starts, pairs.keys, pairs.values, names)

    def cells_in(self, column: str) -> ColumnCells:
        keys = {axis.name: axis.cells_in(ordered=False) for axis in self.keys}
        numbers = {axis.name: Numbers(axis.low, axis.high) for axis in self.values}
        return {**keys, **numbers}.get(column)

    def _has_no_pair(self, columns: Mapping[str, Any], count: int) -> NDArray[np.bool_]:
        """For every row whether all cells but the device's are empty: the row of a device without pairs."""
        empty = np.ones(count, dtype=bool)
        for name in self.columns[1:]:
            rows = np.flatnonzero(empty)  # few rows have an empty first column
            empty[rows] = [not str(columns[name][row]).strip() for row in rows]
        return empty

    def _flat(self, indices: Sequence[Indices]) -> Indices:
        return (
            indices[0] if len(indices) == 1 else np.ravel_multi_index(tuple(indices), self.key_shape).astype(np.int64)
        )

    def join(self, parts: Sequence[Any]) -> Pairs:
        return Pairs.join(parts)

    def one(self, value: Any) -> Pairs:
        """From a mapping of keys to values, `{"tea": 0.4}`, or from a collection of keys if pairs have no values.

        With several key dimensions a key is a tuple; with several value dimensions a value is a sequence, or a mapping
        from their names.
        """
        if isinstance(value, Mapping) and self.values:
            keys, numbers = list(value), list(value.values())
        elif not self.values and not isinstance(value, str) and isinstance(value, Sequence | set | frozenset):
            keys, numbers = list(value), []
        else:
            wanted = "a mapping from key to value" if self.values else "a collection of keys"
            raise ValueOutsideDomain(what="a device's pairs", expected=wanted, got=type(value).__name__)
        return self._one_device(keys, numbers)

    def _one_device(self, keys: list[Any], numbers: list[Any]) -> Pairs:
        """The pairs of one device, read in as many steps as the largest set that is expected.

        The time must not reveal how many pairs a device holds. So rows of padding are read like the others, and then
        left out. The time of a set larger than `capacity` reveals its size to within a factor of two.
        """
        capacity = self.capacity
        while capacity < len(keys):
            capacity *= 2
        padding = capacity - len(keys)
        parts = [_parts(key, [axis.name for axis in self.keys]) for key in keys + [self._some_key] * padding]
        given = numbers + [self._some_value] * padding if self.values else []
        rows = [_parts(value, [axis.name for axis in self.values]) for value in given]
        # Always as texts and as doubles: reading integers mixed with texts would take another time.
        indices = [axis.encode([str(part[position]) for part in parts]) for position, axis in enumerate(self.keys)]
        columns = [axis.scale([as_number(row[position]) for row in rows]) for position, axis in enumerate(self.values)]
        table = np.stack(columns, axis=1) if columns else np.zeros((capacity, 0))
        is_padding = np.arange(capacity) >= len(keys)
        order = np.lexsort((self._flat(indices), is_padding))
        sorted_keys = self._flat(indices)[order]
        is_repeated = (sorted_keys[1:] == sorted_keys[:-1]) & ~is_padding[1:]
        if is_repeated.any():
            position = int(order[1:][np.argmax(is_repeated)])
            raise ValueOutsideDomain(
                what="key", must="differ from the device's other keys", positions=position, column=self.keys[0].name
            )
        starts = np.array([0, len(keys)], dtype=np.int64)
        return Pairs(starts, sorted_keys[: len(keys)], table[order][: len(keys)], capacity=capacity)

    @property
    def capacity(self) -> int:
        """To how many pairs the reading of a device is padded: `pairs`, or if that is unknown all keys, at most 64."""
        return self.pairs or min(self.size, _CAPACITY)

    @cached_property
    def _some_key(self) -> Any:
        """The first key, as a device would give it."""
        parts = tuple(str(axis.item(0)) for axis in self.keys)
        return parts[0] if len(parts) == 1 else parts

    @cached_property
    def _some_value(self) -> Any:
        """The least value, as a device would give it."""
        parts = tuple(axis.low for axis in self.values)
        return parts[0] if len(parts) == 1 else parts

    def check(self, values: Any) -> Pairs:
        """The pairs of devices, as `read` and `one` return them; pairs outside the domain are refused."""
        if not isinstance(values, Pairs):
            raise ValueOutsideDomain(what="values", expected="pairs of a key-value domain", got=type(values).__name__)
        if values.keys.min(initial=0) < 0 or values.keys.max(initial=-1) >= self.size:
            raise ValueOutsideDomain(what="keys", expected=f"in 0..{self.size - 1}")
        if values.values.shape != (len(values.keys), self.dimensions):
            raise ValueOutsideDomain(what="pairs", must=f"have {self.dimensions} values each", got="another number")
        if not (np.abs(values.values) <= 1.0).all():
            raise ValueOutsideDomain(what="values", expected="inside the domain")
        return values

    @classmethod
    def shapes(cls) -> tuple[str, ...]:
        return (*super().shapes(), *LAWS)

    def simulated(self, shape: str, count: int, generator: np.random.Generator) -> Values:
        if shape not in LAWS:
            return super().simulated(shape, count, generator)
        return PairLaw.named(shape, self.size, SPREAD).draw(count, self.dimensions, generator)

    def people(self, draw: Callable[[int], Indices]) -> Pairs:
        """The pairs of simulated devices: each draws a few keys, and a value for each."""
        drawn = np.stack([draw(self.size) for _ in range(_PEOPLE_PAIRS)], axis=1)
        is_new = np.ones(drawn.shape, dtype=bool)
        for nth in range(1, _PEOPLE_PAIRS):
            is_new[:, nth] = (drawn[:, :nth] != drawn[:, nth : nth + 1]).all(axis=1)
        device, drawn_pair = np.nonzero(is_new)
        columns = [np.stack([draw(_VALUE_STEPS) for _ in range(_PEOPLE_PAIRS)], axis=1) for _ in self.values]
        scaled = [column[device, drawn_pair] * (2 / (_VALUE_STEPS - 1)) - 1.0 for column in columns]
        values = np.stack(scaled, axis=1) if scaled else np.zeros((len(device), 0))
        return Pairs.grouped(device, drawn[device, drawn_pair], values, len(drawn))

    def locate(self, words: Sequence[str], query: str = "point") -> int:
        """The key that a query names, one word per key dimension."""
        words = self.keys[0].one_word(words, query) if len(self.keys) == 1 else words
        if len(words) != len(self.keys):
            raise QueryError(f"a key needs {', '.join(axis.name for axis in self.keys)}, got {len(words)} words")
        indices = [axis.locate(text) for axis, text in zip(self.keys, words, strict=True)]
        return int(np.ravel_multi_index(tuple(indices), self.key_shape))

    def locate_range(self, words: Sequence[str], query: str) -> tuple[int, int]:
        """First and last key of a range A B of ordered keys."""
        if not self.ordered:
            raise QueryError(f"query {query} of a range needs ordered keys (domain.ordered = true)")
        if len(words) != 2:
            raise QueryError(f"query {query} needs two ends, got {len(words)}")
        return self.keys[0].locate_range(words[0], words[1])

    def name(self, index: int) -> tuple[Any, dict[str, Any] | None]:
        """A key as answers name it: (item, None), or (None, cell) if there are several key dimensions."""
        if len(self.keys) == 1:
            return self.keys[0].item(index), None
        coordinates = np.unravel_index(index, self.key_shape)
        return None, {axis.name: axis.item(int(i)) for axis, i in zip(self.keys, coordinates, strict=True)}

    def every_set(self, bins: int) -> Pairs:
        """All sets of a small domain, with one representative value per bin: the rows of an exact channel."""
        sets = Pairs.every_set(self.size, self.dimensions, bins)
        if sets is None:
            raise SpecificationError(what="domain", must=f"have at most {MOST_SETS} different sets to list them all")
        return sets

    def some_sets(self, bins: int) -> Pairs:
        """All sets if they are few; else the empty set, and sets of one pair: of the first keys with -1 and with 1."""
        sets = Pairs.every_set(self.size, self.dimensions, bins)
        return Pairs.single_pairs(self.size, self.dimensions) if sets is None else sets


def _parts(whole: Any, names: Sequence[str]) -> Sequence[Any]:
    """The coordinates of a key or value, by name or in order; a coordinate that is not given is `_NOT_GIVEN`."""
    if len(names) == 1:
        return [whole]
    if isinstance(whole, Mapping) and set(whole) <= set(names):
        return [whole.get(name, _NOT_GIVEN) for name in names]
    is_complete = isinstance(whole, Sequence) and not isinstance(whole, str) and len(whole) == len(names)
    return whole if is_complete else [_NOT_GIVEN] * len(names)


def _key_axes(keys: Any) -> tuple[Axis, ...]:
    if isinstance(keys, int):
        return (parse_axis("key", {"size": keys}, "domain.keys", continuous=False),)
    listed = as_list(keys, "domain.keys")
    if not all(isinstance(entry, Mapping) for entry in listed):
        return (parse_axis("key", {"categories": listed}, "domain.keys", continuous=False),)
    axes = []
    for number, entry in enumerate(listed, start=1):
        where = f"domain.keys[{number}]"
        only(entry, {"name", "size", "categories"}, where)
        axes.append(parse_axis(_name(entry, f"key{number}", where), entry, where, continuous=False))
    return tuple(axes)


def _value_axes(table: Mapping[str, Any]) -> tuple[ValueAxis, ...]:
    values = table.get("values", True)
    if values is True:
        return (ValueAxis.parse("value", table, "domain"),)
    if "low" in table or "high" in table:
        raise SpecificationError("domain.low and domain.high go with values = true, not with several or no values")
    if values is False:
        return ()
    axes = []
    for number, entry in enumerate(as_list(values, "domain.values"), start=1):
        where = f"domain.values[{number}]"
        if not isinstance(entry, Mapping):
            raise SpecificationError(what=where, expected="a table with name, low and high", got=type(entry).__name__)
        only(entry, {"name", "low", "high"}, where)
        axes.append(ValueAxis.parse(_name(entry, f"value{number}", where), entry, where))
    return tuple(axes)


def _name(entry: Mapping[str, Any], default: str, where: str) -> str:
    name = entry.get("name", default)
    if not isinstance(name, str) or not name:
        raise SpecificationError(what=f"{where}.name", expected="a text", got=repr(name))
    return name
