"""Heavy intervals of item sets in two rounds (K 7.1.2): find the heavy items first, then ask only about these.

Device    Answers one of two rounds, with all of epsilon. Round 1: one item of the set padded to l1 (`padding`), by
          randomised response over all items as in `pckv-grr`. Round 2: one item of what the set has in common with the
          2k candidates, padded to 2k with a dummy, by `hierarchical` over the candidates in order.
Privacy   Epsilon, since a device takes part once; candidates come from other devices' private reports.
Estimate  Candidates: 2k times the tree's shares; a range is the number of heavy items in it a device holds on average.
          Other items: round 1's estimate.
Variance  (2k)^2 times the tree's and p(1-p)/n for which items devices draw, p being the tree's share (at most, where
          devices differ in how many they hold). Two groups with epsilon each have 2.1 times less noise than one with
          eps/2 twice (eps = 1).
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
    """Rising different keys from a round's parameters; anything else is refused."""
    listed = parameters.get("candidates")
    if set(parameters) != {"candidates"} or not isinstance(listed, list | tuple):
        raise SpecificationError("round must have exactly the key candidates, a list of keys")
    if len(listed) != most or not all(type(key) is int and 0 <= key < keys for key in listed):
        raise SpecificationError(f"round.candidates must be {most} keys in 0..{keys - 1}, got something else")
    if any(one >= other for one, other in pairwise(listed)):
        raise SpecificationError("round.candidates must rise, got something else")
    return np.array(listed, dtype=np.int64)


def indices_of(keys: NDArray[np.int64], candidates: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where keys stand among the candidates, and which stand there at all."""
    index = np.searchsorted(candidates, keys)
    index[index == len(candidates)] = 0
    return index, candidates[index] == keys


@dataclass(frozen=True)
class HeavyEstimate(Estimate, Points, ItemRanges):
    """Round 1's shares of all items; round 2's tree over the candidates once there is one."""

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
        """Shares of what devices hold from those of what they drew, each one item or the dummy out of 2k.

        The tree's errors are about the items drawn; which ones were drawn has a binomial error of its own. Distances of
        both intervals' ends are squared and added. Where nothing is known, a device may hold any number up to `most`.
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
    """What devices really hold."""

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
            raise SpecificationError("domain must be ordered and without values (values = false) for heavy")
        if 2 * self.options["k"] > self.domain.size:
            raise SpecificationError(f"options.k must be at most half of the keys, got {self.options['k']}")

    def canonical_options(self) -> dict[str, Any]:
        return {**self.options, "padding": self.first.length}

    def listed_values(self) -> Pairs:
        return self.domain.some_sets(1)

    def exact(self, values: Any) -> ExactItems:
        return ExactItems(self.domain, len(values), *exact_sums(self.domain, self.domain.check(values)))

    @property
    def length(self) -> int:
        """l2 = 2k: how many candidates there are, and what sets are padded to in round 2."""
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
        """The arrays of a round, shared, as its own mechanism knows them."""
        return {name: state[f"r{number}/{name}"] for name in self.parts[number - 1].arrays}

    def perturb(self, values: Any, random: Random) -> Reports:
        pairs = self.domain.check(values)
        if self.number == 1:
            return self.first.perturb(pairs, random)
        key, at = sample_padded(self._common(pairs), self.length, self.length, random)
        return self.second.perturb(np.where(at >= 0, key, self.length), random)

    def _common(self, pairs: Pairs) -> Pairs:
        """What sets have in common with the candidates, by their places among these."""
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
        """Of this round; in round 2 a mixture of hierarchical's rows, one for each item in common and the dummy."""
        if self.number == 1:
            return self.first.channel()
        common, single = self._common(self.domain.every_set(1)), self.second.channel()
        chances = np.zeros((len(common), self.length + 1))
        chances[common.owners, common.keys] = 1 / self.length
        chances[:, self.length] = 1 - common.sizes / self.length
        return chances @ single

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """With so many reports in round 2."""
        errors = self.second.predicted_stderr(reports)
        return {name: self.length * value for name, value in errors.items()}
