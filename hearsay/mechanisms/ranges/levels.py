"""Level sampling: a device reports at one of several levels, chosen without looking at its value.

The level is drawn from public probabilities, so a report spends no more than the costliest level's oracle does
(Kulkarni 3.2, sampling). A report is a level with that level's own report; the state keeps one set of arrays a level,
named `1/...` to `h/...`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import PUBLIC, Mechanism, State, Streams
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.exact.randomness import WORD, Random, Words
from hearsay.mechanisms.layout import Layout, Reports, length_of, smallest_unsigned
from hearsay.mechanisms.oracles.oracle import FrequencyOracle

Coarsen = Callable[[int, Indices], Indices]  # (level, cells) -> the level's node of every cell


def cumulative_thresholds(shares: Sequence[Fraction]) -> Words:
    """Cumulative probabilities out of 2^64 of all levels but the last, which takes what is left."""
    total, sums = sum(shares), Fraction(0)
    thresholds = []
    for share in shares[:-1]:
        sums += share
        thresholds.append(int(sums / total * WORD))
    return np.array(thresholds, dtype=np.uint64)


def probabilities(thresholds: Words) -> NDArray[np.float64]:
    """The probability of every level that `thresholds` stand for."""
    ends = [0, *(int(threshold) for threshold in thresholds), WORD]
    return np.array([(after - before) / WORD for before, after in pairwise(ends)])


@dataclass(frozen=True)
class SampledLevels:
    """An oracle a level (level l is `oracles[l - 1]`), and how likely a device is to report there."""

    oracles: tuple[FrequencyOracle, ...]
    thresholds: Words

    def __post_init__(self) -> None:
        """Levels with equal oracles share one object, and with it all that it works out from epsilon once."""
        different: list[FrequencyOracle] = []
        for oracle in self.oracles:
            if oracle not in different:
                different.append(oracle)
        object.__setattr__(self, "oracles", tuple(different[different.index(oracle)] for oracle in self.oracles))

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        return probabilities(self.thresholds)

    @cached_property
    def layout(self) -> Layout:
        return Layout.choice("level", tuple(oracle.layout for oracle in self.oracles))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {
            f"{level}/{name}": shape
            for level, oracle in enumerate(self.oracles, start=1)
            for name, shape in oracle.arrays.items()
        }

    @property
    def spent_epsilon(self) -> float:
        return max(oracle.spent_epsilon for oracle in self.oracles)

    def state(self, state: State, level: int) -> State:
        """The part of a state that belongs to one level; the arrays are shared, not copied."""
        return {name: state[f"{level}/{name}"] for name in self.oracles[level - 1].arrays}

    def counts(self, state: State) -> list[int]:
        """How many reports each level has."""
        return [oracle.reports(self.state(state, level)) for level, oracle in enumerate(self.oracles, start=1)]

    def perturb(self, cells: Indices, coarsen: Coarsen, random: Random) -> Reports:
        """Draw a level for every cell and report its node there."""
        return self._report(
            random.choose(self.thresholds, cells.shape[0]),
            lambda index, here: self.oracles[index].perturb(coarsen(index + 1, cells[here]), random),
        )

    @property
    def memoised_buckets(self) -> int | None:
        """The most buckets of a level; None where one of them cannot be memoised."""
        buckets = [oracle.memoised_buckets for oracle in self.oracles]
        return None if None in buckets else max(each for each in buckets if each is not None)

    def perturb_memoised(self, cells: Indices, coarsen: Coarsen, stream: Streams) -> Reports:
        """One device: its level is drawn once for life, and its node is reported as the level's oracle memoises it."""
        return self._report(
            stream(PUBLIC).choose(self.thresholds, 1),
            lambda index, here: self.oracles[index].perturb_memoised(
                coarsen(index + 1, cells[here]), lambda text: stream(f"{text} of level {index + 1}")
            ),
        )

    def _report(self, chosen: NDArray[np.intp], perturb: Callable[[int, NDArray[np.intp]], Reports]) -> Reports:
        """Reports at the chosen levels; `perturb` makes those of one level, for the devices at these positions."""
        alphabet = max(variant.alphabet for variant in self.layout.variants)
        widths = [variant.vector.width for variant in self.layout.variants if variant.vector is not None]
        reports: Reports = {"level": chosen.astype(smallest_unsigned(len(self.oracles)))}
        if any(variant.scalars for variant in self.layout.variants):
            reports["symbol"] = np.zeros(chosen.size, dtype=smallest_unsigned(alphabet))
        if widths:
            reports["bits"] = np.zeros((chosen.size, max(widths)), dtype=np.uint8)
        for index, here in self._by_level(reports["level"]):
            part, variant = perturb(index, here), self.oracles[index].layout.single
            if variant.scalars:
                reports["symbol"][here] = variant.pack(part)
            if variant.vector is not None:
                reports["bits"][here, : variant.vector.width] = part[variant.vector.name]
        return reports

    def _by_level(self, levels: NDArray[Any]) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Every level that has reports, with their positions in rising order; one pass for all levels."""
        order = np.argsort(levels, kind="stable")  # of such narrow integers a radix sort
        ends = np.cumsum(np.bincount(levels, minlength=len(self.oracles)))[: len(self.oracles)].tolist()
        for index, (start, end) in enumerate(pairwise([0, *ends])):
            if start < end:
                yield index, order[start:end]

    def _own_reports(self, index: int, reports: Reports, here: NDArray[np.intp]) -> Reports:
        """The reports at some positions, all of one level, as its oracle knows them."""
        variant = self.oracles[index].layout.single
        columns: Reports = variant.unpack(reports["symbol"][here].astype(np.uint64)) if variant.scalars else {}
        if variant.vector is not None:
            columns[variant.vector.name] = reports["bits"][:, : variant.vector.width].take(here, axis=0)
        return columns

    def fold(self, state: State, reports: Reports) -> State:
        """Add every report to its level's arrays."""
        for index, here in self._by_level(reports["level"]):
            self.oracles[index].fold(self.state(state, index + 1), self._own_reports(index, reports, here))
        return state

    def valid(self, reports: Reports) -> NDArray[np.bool_] | None:
        """What each level's oracle says about its reports."""
        if all(type(oracle).valid is Mechanism.valid for oracle in self.oracles):
            return None  # none of them has anything to say
        verdict = np.ones(length_of(reports), dtype=bool)
        for index, here in self._by_level(reports["level"]):
            own = self.oracles[index].valid(self._own_reports(index, reports, here))
            if own is not None:
                verdict[here] = own
        return verdict

    def channel(self, cells: Indices, coarsen: Coarsen) -> NDArray[np.float64]:
        """P(report | cell): the level's probability times its oracle's channel."""
        parts = [
            share * oracle.channel()[coarsen(level, cells)]
            for level, (share, oracle) in enumerate(zip(self.probabilities, self.oracles, strict=True), start=1)
        ]
        return np.concatenate(parts, axis=1)
