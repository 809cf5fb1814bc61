"""Queries of key-value surveys beyond shares of keys: means of keys and of ranges of keys, quantiles, ranges of items.

A mean is over the holders of a key, in the value's own units, with Fieller's interval. With several value dimensions an
answer names its dimension, and `mean KEY` gives one answer for each.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.domains.numbers import number
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Floats, Measured
from hearsay.mechanisms.key_value.domain import KeyValue
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.example import Example
from hearsay.mechanisms.queries.query import Query, within
from hearsay.mechanisms.queries.view import View

_PAIRS = {"mechanism": "privkv", "epsilon": 4.0, "domain": {"kind": "key-value", "keys": 3}}
_BINS = {**_PAIRS, "options": {"bins": 8}}
_ITEMS = {"kind": "key-value", "keys": 4, "values": False, "ordered": True}
_SETS = {"mechanism": "heavy", "epsilon": 6.0, "domain": _ITEMS, "options": {"k": 2, "padding": 2}}
_DEVICES = [{0: 0.5, 1: -1.0}, {0: 1.0, 2: 0.2}, {1: 0.0}]


class KeyMeans(ABC):
    """Means of the holders' values, by key and by range of ordered keys."""

    WHAT: ClassVar[str] = "means of keys"

    @property
    @abstractmethod
    def means(self) -> Measured:
        """The mean of every key and value dimension, in -1..1."""

    @abstractmethod
    def range_means(self, low: int, high: int) -> Measured:
        """The mean of all pairs with a key in low..high, one per value dimension, in -1..1."""


class KeyQuantiles(ABC):
    """Quantiles of the holders' values."""

    WHAT: ClassVar[str] = "quantiles of keys (privkv with options.bins)"

    @abstractmethod
    def quantiles(self, ranks: Floats, key: int, dimension: int = 0) -> Measured:
        """The quantiles of the given ranks among the holders, in -1..1."""


class ItemRanges(ABC):
    """Numbers of items that a device holds in ranges of ordered keys."""

    WHAT: ClassVar[str] = "ranges of items"

    @abstractmethod
    def item_range(self, low: int, high: int) -> Measured:
        """The mean number of heavy items in low..high that a device holds."""


def in_units(measured: Measured, domain: KeyValue) -> Measured:
    """Answers converted from -1..1 to the units of each dimension; the last axis has the dimensions."""
    half = np.array([axis.half for axis in domain.values])
    start = np.array([axis.low for axis in domain.values])
    value, stderr = start + (measured.value + 1.0) * half, measured.stderr * half
    if measured.low is None or measured.high is None:
        return Measured.plain(value, stderr)
    return Measured(value, stderr, start + (measured.low + 1.0) * half, start + (measured.high + 1.0) * half)


def _flat(measured: Measured) -> Measured:
    return measured.each(lambda column: column.reshape(-1))


def _names(domain: KeyValue, key: int | None) -> list[tuple[Any, dict[str, Any] | None]]:
    """The names of the answers for one key, one per value dimension."""
    item, cell = (None, None) if key is None else domain.name(key)
    if domain.dimensions == 1:
        return [(item, cell)]
    key_part = dict(cell or {}) if item is None else {domain.keys[0].name: item}
    return [(None, {**key_part, "value": axis.name}) for axis in domain.values]


class PairQuery(Query):
    """A query that only key-value surveys answer."""

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        if isinstance(domain, KeyValue):
            return None
        return f"query {cls.NAME} needs key-value data, this survey is {domain.kind}"


class ValueQuery(PairQuery):
    """A query about the values of pairs, in their own units."""

    OWN_UNIT = "whose values are in the units of the pairs' values"

    @classmethod
    def need_values(cls, domain: KeyValue) -> None:
        """Refuse item sets."""
        if not domain.values:
            raise QueryError(f"query {cls.NAME} needs pairs with values, these are item sets")

    def sampling(self, estimate: Any, answers: Sequence[Answer]) -> Sequence[float]:
        # The errors of ratios already include the variance of drawing the devices from a population.
        return [0.0] * len(answers)

    @staticmethod
    def dimensions(domain: Domain) -> int:
        """How many answers a key has."""
        return domain.dimensions if isinstance(domain, KeyValue) else 1


@dataclass(frozen=True)
class MeanOfKeys(ValueQuery):
    """The mean of one key's values, or of all pairs in a range of ordered keys."""

    low: int
    high: int
    is_range: bool

    NAME, GRAMMAR = "mean", "mean KEY | mean A B"
    HELP = "the mean value of a key's holders; on ordered keys also of all pairs with a key in A..B"
    NEEDS = KeyMeans
    PREDICTED, VARIES = "mean", True
    WORDS: ClassVar[tuple[int, int | None]] = (1, None)
    EXAMPLES: ClassVar[tuple[Example, ...]] = (Example(_PAIRS, _DEVICES, "mean 0", [0.75], [0]),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        cls.need_values(domain)
        if domain.ordered and " ".join(words) not in (domain.keys[0].labels or ()):
            is_range = len(words) == 2
        else:
            is_range = len(words) > len(domain.keys) and not domain.keys[0].labels
        if not is_range:
            key = domain.locate(words, cls.NAME)
            return cls(key, key, False)
        low, high = domain.locate_range(words, cls.NAME)
        return cls(low, high, True)

    def answers(self, domain: Domain) -> int:
        return self.dimensions(domain)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        if self.is_range:
            means = estimate.range_means(self.low, self.high)
            return view.show(in_units(means, estimate.domain), _names(estimate.domain, None))
        means = estimate.means.take(self.low)
        return view.show(in_units(means, estimate.domain), _names(estimate.domain, self.low))


@dataclass(frozen=True)
class Means(ValueQuery):
    """The mean of every key."""

    NAME, GRAMMAR = "means", "means"
    HELP = "the mean value of the holders of every key, in domain order"
    NEEDS = KeyMeans
    EXAMPLES = (Example(_PAIRS, _DEVICES, "means", [0.75, -0.5, 0.2], [0, 1, 2]),)
    PREDICTED, VARIES = "mean", True

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        cls.need_values(domain)
        return cls()

    def answers(self, domain: Domain) -> int:
        return domain.size * self.dimensions(domain)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        names = (name for key in range(estimate.domain.size) for name in _names(estimate.domain, key))
        return view.show(_flat(in_units(estimate.means, estimate.domain)), names)


@dataclass(frozen=True)
class KeyQuantile(ValueQuery):
    """Quantiles of one key's values."""

    ranks: tuple[float, ...]
    key: int

    NAME, GRAMMAR = "quantile", "quantile Q... KEY"
    SETTING = "bins above 2 below [options]"
    HELP = "on key-value data with bins: values below which shares Q of a key's holders lie; the last word is the key"
    NEEDS = KeyQuantiles
    WIDER = "a rank may lie between two values, and the band then has both"
    PREDICTED, VARIES = "mean", True
    WORDS: ClassVar[tuple[int, int | None]] = (2, None)
    EXAMPLES = (Example(_BINS, _DEVICES, "quantile 0.5 0", [0.75], [0]),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        last = len(words) - len(domain.keys)
        wanted = tuple(map(number, words[:last]))
        if not wanted or not all(0 < rank < 1 for rank in wanted):
            raise QueryError(f"quantile needs numbers above 0 and below 1, then a key; it is asked as: {cls.GRAMMAR}")
        return cls(wanted, domain.locate(words[last:]))

    def answers(self, domain: Domain) -> int:
        return len(self.ranks) * self.dimensions(domain)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        ranks, names = np.array(self.ranks), _names(estimate.domain, self.key)
        parts = [estimate.quantiles(ranks, self.key, dimension) for dimension in range(estimate.domain.dimensions)]
        stacked = Measured(*(np.stack(column, axis=1) for column in zip(*parts, strict=True)))
        measured = in_units(stacked, estimate.domain)
        shown = view.show(_flat(measured), names * len(ranks))
        texts = [f"quantile {rank:g}" for rank in self.ranks for _ in names]
        return [replace(answer, query=text) for answer, text in zip(shown, texts, strict=True)]


@dataclass(frozen=True)
class ItemRange(PairQuery):
    """The mean number of heavy items in a range that a device holds."""

    low: int
    high: int

    NAME, GRAMMAR = "range", "range A B"
    HELP = "on item sets: how many of the heavy items in A..B a device holds on average"
    NEEDS = ItemRanges
    WORDS: ClassVar[tuple[int, int | None]] = (2, 2)
    EXAMPLES = (Example(_SETS, [[0, 1], [0], [0, 1], [0]], "range 0 1", [1.5]),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls(*domain.locate_range(words, cls.NAME))

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return view.show(estimate.item_range(self.low, self.high), [(None, None)])

    def sampling(self, estimate: Any, answers: Sequence[Answer]) -> Sequence[float]:
        return [within(answer.value, 0.0, self.high - self.low + 1.0) for answer in answers]
