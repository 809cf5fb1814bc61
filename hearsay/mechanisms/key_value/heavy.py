"""Heavy items of item sets, and ranges of them, in two rounds (Kulkarni 7.1.2).

Device    Report in one of two rounds, with all of epsilon. Round 1: sample one item of the set padded to l1
          (`padding`), and report it by randomised response over all items, as in `pckv-grr`. The 2k most frequent items
          are the candidates. Round 2: intersect the set with the candidates, pad it to 2k with a dummy, sample one
          item, and report it by `hierarchical` over the candidates in order.
Privacy   Epsilon: a device reports once, and the candidates come from private reports of other devices.
Estimate  Candidates: 2k times the shares of the tree. A range is the mean number of candidates in it that a device
          holds. Other items: the estimate of round 1.
Variance  (2k)^2 times the sum of the tree's variance and of p(1-p)/n for the sampling of items, with p the share in the
          tree (an upper bound if devices hold different numbers of candidates). Two groups of devices with epsilon
          each have 2.1 times less noise than one group with eps/2 in each round (eps = 1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.domains.axis import Axis
from hearsay.mechanisms.domains.cells import Ordinal
from hearsay.mechanisms.errors import QueryError, SpecificationError
from hearsay.mechanisms.estimates.charts import Chart
from hearsay.mechanisms.estimates.estimate import Estimate, Measured, Points
from hearsay.mechanisms.estimates.intervals import Spread, between, score
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.promises import Guarantee, PureLDP
from hearsay.mechanisms.key_value.domain import KeyValue
from hearsay.mechanisms.key_value.estimate import KeyEstimate, exact_sums, stored
from hearsay.mechanisms.key_value.padding import PADDING, padding_of, sample_padded
from hearsay.mechanisms.key_value.pairs import Pairs
from hearsay.mechanisms.key_value.pckv_grr import PckvGRR
from hearsay.mechanisms.key_value.queries import ItemRanges
from hearsay.mechanisms.key_value.rounds import InRounds
from hearsay.mechanisms.layout import Layout, Reports
from hearsay.mechanisms.options import integer
from hearsay.mechanisms.ranges.hierarchical.line import Hierarchical

FANOUT = 4


def read_candidates(parameters: Mapping[str, Any], most: int, keys: int) -> NDArray[np.int64]:
    """The candidates of a round's parameters, in strictly ascending order; anything else is refused."""
    listed = parameters.get("candidates")
    if set(parameters) != {"candidates"} or not isinstance(listed, list | tuple):
        raise SpecificationError(what="round", must="have exactly the key candidates, a list of keys")
    if len(listed) != most or not all(type(key) is int and 0 <= key < keys for key in listed):
        raise SpecificationError(
            what="round.candidates", expected=f"{most} keys in 0..{keys - 1}", got="something else"
        )
    if any(one >= other for one, other in pairwise(listed)):
        raise SpecificationError(what="round.candidates", must="rise", got="something else")
    return np.array(listed, dtype=np.int64)


def indices_of(keys: NDArray[np.int64], candidates: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The index of each key among the candidates, and whether the key is a candidate."""
    index = np.searchsorted(candidates, keys)
    index[index == len(candidates)] = 0
    return index, candidates[index] == keys


@dataclass(frozen=True)
class HeavyEstimate(Estimate, Points, ItemRanges):
    """The shares of all items from round 1, and the tree over the candidates from round 2 if it has begun."""

    domain: KeyValue
    reports: int
    first: KeyEstimate
    candidates: NDArray[np.int64] | None
    tree: Any  # a range estimate over the candidates and the dummy
    length: int

    def points(self, keys: NDArray[np.int64]) -> Measured:
        first = self.first.at_level(self.z).points(keys)
        if self.candidates is None:
            return first
        index, heavy = indices_of(keys, self.candidates)
        columns = [part.copy() for part in (first.value, first.stderr, *first.ends())]
        measured = self._of_sets(self.tree.at_level(self.z).points(index[heavy]), 1.0)
        for column, part in zip(columns, (measured.value, measured.stderr, *measured.ends()), strict=True):
            column[heavy] = part
        return Measured(*columns)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return stored(self.points(np.arange(self.domain.size)), None, self.domain)

    def headline(self) -> tuple[str, ...]:
        return ("top 10",)

    def charts(self) -> tuple[Chart, ...]:
        return (Chart("bars", "top 20", "Devices that hold the item"),)

    def item_range(self, low: int, high: int) -> Measured:
        if self.candidates is None:
            raise QueryError("ranges need the second round, which has not begun")
        first, last = np.searchsorted(self.candidates, [low, high + 1])
        if first == last:
            return Measured.plain(np.zeros(1), np.zeros(1))
        return self._of_sets(self.tree.ranges(np.array([[first]]), np.array([[last - 1]])), float(last - first))

    def _of_sets(self, drawn: Measured, most: float) -> Measured:
        """Shares of holders from the shares of sampled items: a device samples one of 2k, items or dummies.

        The tree's errors are about the sampled items; sampling has a binomial error of its own. The distances from the
        estimate to the ends of both intervals are squared and added. Without reports the interval is 0..`most`.
        """
        reports = self.tree.reports
        share = np.clip(drawn.value, 0.0, 1.0)
        low, high = drawn.ends()
        below, above = score(share, [Spread(0.0, 1.0, -1.0)], reports, step=1.0, z=self.z)
        low = drawn.value - np.hypot(drawn.value - low, share - below)
        high = drawn.value + np.hypot(high - drawn.value, above - share)
        stderr = np.sqrt(drawn.stderr**2 + share * (1 - share) / max(reports, 1))
        interval = between(drawn.value, stderr, low, high, self.z)
        unknown = ~np.isfinite(interval.stderr)
        ends = [
            np.where(unknown, whole, self.length * end) for whole, end in zip((0.0, most), interval.ends(), strict=True)
        ]
        return Measured(self.length * interval.value, self.length * interval.stderr, *ends)


@dataclass(frozen=True)
class ExactItems(KeyEstimate, ItemRanges):
    """True shares of items."""

    def item_range(self, low: int, high: int) -> Measured:
        return Measured.plain(self.share[low : high + 1].sum(keepdims=True), np.zeros(1))


@dataclass(frozen=True)
class Heavy(InRounds):
    """Two groups of devices, one per round."""

    domain: KeyValue

    ESTIMATE: ClassVar[type[HeavyEstimate]] = HeavyEstimate
    ID, PLANNED_FROM_SURVEYS = "heavy", True
    SUMMARY = "heavy items and intervals of item sets, in two rounds with different devices"
    OPTIONS = (integer("k", 8, 1, 1 << 10, "heavy items wanted; twice as many are looked at in round 2"), *PADDING)
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "epsilon": 1.5,
            "domain": {"kind": "key-value", "keys": 5, "values": False, "ordered": True},
            "options": {"k": 1, "padding": 2},
        },
    )

    def check(self) -> None:
        if self.domain.dimensions or not self.domain.ordered:
            raise SpecificationError(what="domain", expected="ordered and without values (values = false) for heavy")
        if 2 * self.options["k"] > self.domain.size:
            raise SpecificationError(what="options.k", expected="at most half of the keys", got=self.options["k"])

    def canonical_options(self) -> dict[str, Any]:
        return {**self.options, "padding": self.first.length}

    def listed_values(self) -> Pairs:
        return self.domain.some_sets(1)

    def exact(self, values: Any) -> ExactItems:
        return ExactItems(self.domain, len(values), *exact_sums(self.domain, self.domain.check(values)))

    @property
    def length(self) -> int:
        """2k: the number of candidates, and the length to which sets are padded in round 2."""
        return 2 * int(self.options["k"])

    @property
    def rounds(self) -> int:
        return 2

    @cached_property
    def first(self) -> PckvGRR:
        return PckvGRR.create(self.epsilon, self.domain, {"padding": padding_of(self.options, self.domain)})

    @cached_property
    def second(self) -> Hierarchical:
        line = Ordinal((Axis("value", self.length + 1),))
        return Hierarchical.create(self.epsilon, line, {"fanout": FANOUT})

    @property
    def parts(self) -> tuple[PckvGRR, Hierarchical]:
        return self.first, self.second

    @property
    def candidates(self) -> NDArray[np.int64]:
        return read_candidates(self.history[0], self.length, self.domain.size)

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)

    @property
    def spent_epsilon(self) -> float:
        return max(part.spent_epsilon for part in self.parts)

    @property
    def layout(self) -> Layout:
        return self.parts[self.number - 1].layout

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {
            f"r{number}/{name}": shape
            for number, part in enumerate(self.parts, start=1)
            for name, shape in part.arrays.items()
        }

    def part_state(self, state: State, number: int) -> State:
        """The state of a round's own mechanism: the same arrays under its own names."""
        return {name: state[f"r{number}/{name}"] for name in self.parts[number - 1].arrays}

    def perturb(self, values: Any, random: Random) -> Reports:
        pairs = self.domain.check(values)
        if self.number == 1:
            return self.first.perturb(pairs, random)
        key, pair = sample_padded(self._common(pairs), self.length, self.length, random)
        return self.second.perturb(np.where(pair >= 0, key, self.length), random)

    def _common(self, pairs: Pairs) -> Pairs:
        """The intersection of each set with the candidates, as indices of candidates."""
        index, kept = indices_of(pairs.keys, self.candidates)
        return Pairs.grouped(pairs.owners[kept], index[kept], np.zeros((int(kept.sum()), 0)), len(pairs))

    def fold(self, state: State, reports: Reports) -> State:
        self.parts[self.number - 1].fold(self.part_state(state, self.number), reports)
        return state

    def valid(self, reports: Reports) -> NDArray[np.bool_] | None:
        return self.parts[self.number - 1].valid(reports)

    def reports(self, state: State) -> int:
        return sum(part.reports(self.part_state(state, number)) for number, part in enumerate(self.parts, start=1))

    def estimate(self, state: State) -> HeavyEstimate:
        first = self.first.estimate(self.part_state(state, 1))
        if self.number == 1:
            return HeavyEstimate(self.domain, self.reports(state), first, None, None, self.length)
        tree = self.second.estimate(self.part_state(state, 2))
        return HeavyEstimate(self.domain, self.reports(state), first, self.candidates, tree, self.length)

    def next_round(self, state: State) -> dict[str, Any] | None:
        if self.number > 1:
            return None
        share = np.nan_to_num(self.first.estimate(self.part_state(state, 1)).share)
        heavy = np.argsort(-share, kind="stable")[: self.length]
        return {"candidates": sorted(heavy.tolist())}

    def channel(self) -> NDArray[np.float64]:
        """The channel of this round; in round 2 a mixture of rows of `hierarchical`, by the chance of each item."""
        if self.number == 1:
            return self.first.channel()
        common, single = self._common(self.domain.every_set(1)), self.second.channel()
        chances = np.zeros((len(common), self.length + 1))
        chances[common.owners, common.keys] = 1 / self.length
        chances[:, self.length] = 1 - common.sizes / self.length
        return chances @ single

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """The errors with so many reports in round 2."""
        errors = self.second.predicted_stderr(reports)
        return {name: self.length * value for name, value in errors.items()}
