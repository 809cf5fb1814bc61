"""The common part of mechanisms whose devices sample one of all keys, independently of the pairs they hold.

A report is (key, value dimension, symbol). Symbol 0 is absent, symbols 1 to B are the bins of the value from low to
high (B = 2: the signs, B = 1: item sets). The key is independent of the device's pairs, so only the symbol spends
epsilon. A device that chooses its key instead biases the answers for this key only; `uniformity` detects many such
devices.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Mechanism, State
from hearsay.mechanisms.exact.counting import count_into
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.promises import Guarantee, PureLDP
from hearsay.mechanisms.key_value.domain import KeyValue
from hearsay.mechanisms.key_value.estimate import KeyEstimate, exact_keys
from hearsay.mechanisms.key_value.pairs import Pairs, bins_of, plus_signs
from hearsay.mechanisms.layout import Layout, Reports, Scalar, by_parts, smallest_unsigned

Symbols = NDArray[np.int64]
SUSPICIOUS = 1e-6  # the p-value of the warning: honest devices cause it less than once in a million tests


def true_symbols(pairs: Pairs, key: NDArray[Any], dimension: NDArray[Any] | int, bins: int, random: Random) -> Symbols:
    """The true symbol of the sampled key: 0 if absent, else 1 + the bin of its value."""
    pair = pairs.find(key)
    has_key = pair >= 0
    if bins == 1:
        return has_key.astype(np.int64)
    values = pairs.value_at(pair, dimension)
    # A device without the key rounds a 0 and discards it, so that the time does not reveal whether it has the key.
    shown = plus_signs(values, random) if bins == 2 else bins_of(values, bins)
    return np.where(has_key, 1 + shown.astype(np.int64), 0)


@dataclass(frozen=True)
class SampledKey(Mechanism):
    """The common part of mechanisms with one round and with several."""

    domain: KeyValue

    ESTIMATE: ClassVar[type[KeyEstimate]] = KeyEstimate

    def exact(self, values: Any) -> KeyEstimate:
        return exact_keys(self.domain, values)

    @property
    def bins(self) -> int:
        """B: the number of symbols besides absent."""
        return min(2, 2 * self.domain.dimensions) or 1

    @property
    def dimensions(self) -> int:
        """The number of value dimensions that a report samples from; 1 if there are none."""
        return max(self.domain.dimensions, 1)

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)

    def listed_values(self) -> Pairs:
        return self.domain.some_sets(self.bins)

    def warnings(self, state: State) -> list[str]:
        return [text for name in self.arrays if (text := uneven(state[name], name, self.domain)) is not None]

    def predicted_keys(self, reports: int) -> float:
        """The expected number of reports of a key."""
        return reports / self.domain.size


@dataclass(frozen=True)
class KeyedCounts(Mechanism):
    """One round of reports (key, value dimension, symbol); the state counts them in an array of that shape."""

    domain: KeyValue

    @property
    @abstractmethod
    def counted(self) -> tuple[int, int, int]:
        """The numbers of keys, value dimensions and symbols."""

    @cached_property
    def layout(self) -> Layout:
        return keyed_layout(*self.counted)

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"counts": self.counted}

    def fold(self, state: State, reports: Reports) -> State:
        fold_keyed(state["counts"], reports)
        return state

    def reports(self, state: State) -> int:
        return int(state["counts"].sum())


@dataclass(frozen=True)
class SampledOnce(KeyedCounts, SampledKey):
    """One round, with the same perturbation of the symbol for every key, which subclasses define."""

    @property
    def counted(self) -> tuple[int, int, int]:
        return self.domain.size, self.dimensions, self.bins + 1

    @abstractmethod
    def perturb_symbols(self, symbols: Symbols, random: Random) -> Symbols:
        """The perturbed symbols."""

    def perturb(self, values: Any, random: Random) -> Reports:
        def draw(pairs: Any) -> Reports:
            key, dimension = sample(self.domain.size, self.dimensions, len(pairs), random)
            symbols = self.perturb_symbols(true_symbols(pairs, key, dimension, self.bins, random), random)
            return keyed_reports(self.layout, key, dimension, symbols)

        return by_parts(draw, self.domain.check(values))  # type: ignore[arg-type]

    @abstractmethod
    def symbol_channel(self) -> NDArray[np.float64]:
        """P(reported symbol | true symbol), B + 1 by B + 1."""

    def channel(self) -> NDArray[np.float64]:
        """Rows: `domain.every_set(bins)`; key and dimension are uniform, the symbol is perturbed."""
        tables = np.broadcast_to(
            self.symbol_channel(), (self.domain.size, self.dimensions, self.bins + 1, self.bins + 1)
        )
        return keyed_channel(self.domain, self.bins, tables)


def keyed_channel(domain: KeyValue, bins: int, tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(report | set) for every set of a small domain; `tables` has a channel of symbols per key and dimension."""
    sets = domain.every_set(bins)
    parts = []
    for key, dimension in np.ndindex(tables.shape[:2]):
        pair = sets.find(np.full(len(sets), key))
        true = np.zeros(len(sets), dtype=np.int64)
        has_key = pair >= 0
        true[has_key] = 1 if bins == 1 else 1 + bins_of(sets.values[pair[has_key], dimension], bins)
        parts.append(tables[key, dimension][true] / (tables.shape[0] * tables.shape[1]))
    return np.hstack(parts)


def sample(keys: int, dimensions: int, count: int, random: Random) -> tuple[NDArray[Any], NDArray[Any] | int]:
    """A key and a value dimension for every device, uniform and independent of its pairs."""
    key = random.narrow_below(keys, count)
    return key, random.narrow_below(dimensions, count) if dimensions > 1 else 0


def keyed_layout(keys: int, dimensions: int, symbols: int, name: str = "symbol") -> Layout:
    """The layout (key, dimension if there are several, symbol)."""
    middle = (Scalar("dimension", dimensions),) if dimensions > 1 else ()
    return Layout.of(Scalar("key", keys), *middle, Scalar(name, symbols))


def keyed_reports(layout: Layout, key: Any, dimension: Any, symbol: Any, name: str = "symbol") -> Reports:
    """The columns of reports, in the types of the layout."""
    columns = {"key": key, "dimension": dimension, name: symbol}
    return {s.name: columns[s.name].astype(smallest_unsigned(s.bound)) for s in layout.single.scalars}


def fold_keyed(counts: NDArray[np.int64], reports: Reports, name: str = "symbol") -> None:
    """Add 1 at (key, dimension, symbol) of every report."""
    _, dimensions, symbols = counts.shape
    counters = reports["key"].astype(np.intp)
    if dimensions > 1:
        counters *= dimensions
        counters += reports["dimension"]
    counters *= symbols
    counters += reports[name]
    count_into(counts.reshape(-1), counters)


def uneven(counts: NDArray[np.int64], name: str, domain: KeyValue) -> str | None:
    """A warning if the keys of reports are significantly not uniform, so that some devices choose their key."""
    chance = uniformity(counts)
    if chance is None or chance >= SUSPICIOUS:
        return None
    named = counts.reshape(len(counts), -1).sum(axis=1)
    most = int(named.argmax())
    item, cell = domain.name(most)
    key = item if cell is None else ", ".join(f"{part} {label}" for part, label in cell.items())
    return (
        f"keys are not named uniformly ({name}): key {key} has {named[most]:,} reports where {named.mean():,.0f} are "
        f"expected (chance below {SUSPICIOUS:g}); devices that choose their key bias its answers"
    )


def uniformity(counts: NDArray[np.int64]) -> float | None:
    """The p-value of a chi-squared test that keys are uniform; None if keys have fewer than 5 reports on average."""
    from scipy import stats

    named = counts.reshape(len(counts), -1).sum(axis=1)
    if len(named) < 2 or named.mean() < 5:
        return None
    statistic = float(((named - named.mean()) ** 2).sum() / named.mean())
    return float(stats.chi2.sf(statistic, len(named) - 1))
