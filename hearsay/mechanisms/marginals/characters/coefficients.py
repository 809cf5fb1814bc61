"""The characters that touch at most k attributes: all that marginals of up to k attributes are made of.

There are T = sum over j = 1..k of e_j(K_1 - 1, ..., K_d - 1), e_j the elementary symmetric polynomial; for binary
attributes the sum of C(d, j). They stand level by level, a level being the number of attributes touched.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.marginals.characters.code import Attributes, Code, Masks

MAXIMUM_COEFFICIENTS = 1 << 20  # 16 MB of state


def level_sizes(code: Code, order: int) -> list[int]:
    """How many characters touch exactly j attributes, j = 1..order; known before any of them is listed."""
    symmetric = [1] + [0] * order
    for bits in code.bits:
        for level in range(order, 0, -1):
            symmetric[level] += symmetric[level - 1] * ((1 << bits) - 1)
    return symmetric[1:]


@dataclass(frozen=True)
class Coefficients:
    """All T characters of a code up to a level, in a fixed order."""

    code: Code
    order: int

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many characters each level has."""
        return tuple(level_sizes(self.code, self.order))

    @property
    def count(self) -> int:
        """T."""
        return sum(self.sizes)

    @cached_property
    def masks(self) -> Masks:
        """Every character's mask, by place."""
        return np.concatenate([exactly(self.code, chosen) for chosen in self.supports()])

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """How many attributes every character touches."""
        return np.repeat(np.arange(1, self.order + 1), self.sizes)

    def supports(self) -> Iterator[Attributes]:
        """Every set of 1..k attributes, in the characters' order."""
        for level in range(1, self.order + 1):
            yield from combinations(range(len(self.code.sizes)), level)

    @cached_property
    def _sorted(self) -> tuple[Masks, NDArray[np.intp]]:
        order = np.argsort(self.masks)
        return self.masks[order], order

    def numbers_of(self, masks: Masks) -> NDArray[np.intp]:
        """The place of every mask; -1 for the empty one and for those that touch more than k attributes."""
        rising, order = self._sorted
        nearest = np.minimum(np.searchsorted(rising, masks), rising.size - 1)
        return np.where(rising[nearest] == masks, order[nearest], -1)

    def of(self, attributes: Attributes) -> NDArray[np.intp]:
        """The places of a marginal's characters, row-major over its axes; the first, of the empty one, is -1."""
        return self.numbers_of(self.code.characters(attributes))


def exactly(code: Code, chosen: Attributes) -> Masks:
    """The characters that touch each of the chosen attributes and no other."""
    masks = np.zeros(1, dtype=np.uint64)
    for attribute in chosen:
        own = np.arange(1, 1 << code.bits[attribute], dtype=np.uint64) << np.uint64(code.shifts[attribute])
        masks = (masks[:, None] | own[None, :]).reshape(-1)
    return masks
