"""What a report shows: t independent characters and with them all g - 1 = 2^t - 1 that they span, from a public list.

The list stands in groups. A device draws a group by public probabilities, then one of its subspaces evenly, without
looking at its value; so the chance pi_a that a report shows character a, and the chance that it shows two characters
together, are known exactly and are all that the variance needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import refuse_more
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.hadamard import parity
from hearsay.mechanisms.exact.randomness import Random, Words
from hearsay.mechanisms.marginals.characters.code import Masks
from hearsay.mechanisms.marginals.characters.coefficients import Coefficients
from hearsay.mechanisms.ranges.levels import cumulative_thresholds, probabilities

MAXIMUM_SUBSPACES = 1 << 18
_GRID = 1 << 20  # shares are rounded to multiples of 1/_GRID, so that every machine finds the same ones


def rounded(shares: Sequence[float]) -> list[Fraction]:
    """Shares as exact fractions of about the same size, none of them zero."""
    total = sum(shares)
    return [Fraction(max(1, round(share / total * _GRID)), _GRID) for share in shares]


@dataclass(frozen=True, eq=False)
class Subspaces:
    """The public list: t generators a subspace, group by group, and how likely each group is."""

    coefficients: Coefficients
    generators: Masks  # subspaces x t
    sizes: tuple[int, ...]  # of the groups
    shares: tuple[Fraction, ...]  # of the groups

    def __post_init__(self) -> None:
        refuse_more(
            len(self.generators),
            MAXIMUM_SUBSPACES,
            "sets of characters to draw from",
            "; ask for fewer attributes, a lower order or options.t = 1",
        )

    @property
    def t(self) -> int:
        return int(self.generators.shape[1])

    @property
    def count(self) -> int:
        """How many subspaces there are."""
        return len(self.generators)

    @cached_property
    def members(self) -> NDArray[np.intp]:
        """Places of the characters that each subspace shows, one column for each sum of generators, 1..g-1 as masks."""
        columns = []
        for combination in range(1, 1 << self.t):
            chosen = [self.generators[:, bit] for bit in range(self.t) if combination >> bit & 1]
            columns.append(self.coefficients.numbers_of(np.bitwise_xor.reduce(chosen)))
        return np.stack(columns, axis=1)

    @cached_property
    def _thresholds(self) -> Words:
        return cumulative_thresholds(self.shares)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    def draw(self, count: int, random: Random) -> NDArray[np.intp]:
        """Subspaces of many devices, drawn without looking at their values."""
        if len(self.sizes) == 1:
            return random.below(self.count, count).astype(np.intp)
        group = random.choose(self._thresholds, count)
        return self._starts[group] + random.below_each(np.array(self.sizes)[group])

    def buckets(self, drawn: NDArray[np.intp], words: Masks) -> NDArray[np.uint8]:
        """The t bits of every value under its subspace's generators."""
        bucket = np.zeros(words.size, dtype=np.uint8)
        for bit in range(self.t):
            bucket |= parity(self.generators[drawn, bit] & words) << np.uint8(bit)
        return bucket

    @cached_property
    def chances(self) -> Floats:
        """How likely each subspace is to be drawn."""
        return np.repeat(probabilities(self._thresholds) / np.array(self.sizes), self.sizes)

    @cached_property
    def seen(self) -> Floats:
        """pi: how likely a report is to show each character, by place."""
        repeated = np.repeat(self.chances, self.members.shape[1])
        return np.bincount(self.members.reshape(-1), repeated, self.coefficients.count).astype(np.float64)

    @cached_property
    def _by_character(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The subspaces of every character, one after the other, and where each character's start."""
        flat = self.members.reshape(-1)
        order = np.argsort(flat, kind="stable")
        starts = np.searchsorted(flat[order], np.arange(self.coefficients.count + 1))
        return order // self.members.shape[1], starts

    def together(self, numbers: NDArray[np.intp]) -> Floats:
        """How likely a report is to show each pair of the characters at these places (-1: never shown)."""
        table = np.zeros((numbers.size, numbers.size))
        subspaces, starts = self._by_character
        ours = [subspaces[starts[number] : starts[number + 1]] for number in numbers if number >= 0]
        if self.t > 1 and ours:
            local = np.full(self.coefficients.count, -1)
            local[numbers[numbers >= 0]] = np.flatnonzero(numbers >= 0)
            touched = np.unique(np.concatenate(ours))
            shown = local[self.members[touched]]
            for one in range(shown.shape[1]):
                for other in range(shown.shape[1]):
                    both = np.flatnonzero((shown[:, one] >= 0) & (shown[:, other] >= 0) & (one != other))
                    np.add.at(table, (shown[both, one], shown[both, other]), self.chances[touched[both]])
        table[np.diag_indices_from(table)] = np.where(numbers >= 0, self.seen[numbers], 0.0)
        return table
