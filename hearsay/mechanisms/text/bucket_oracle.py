"""`olh` over the buckets of one question, with one count for the whole question instead of one for each character.

Device and report are those of `olh`. The estimate divides the sum of every character by its expected count n m/(K - 1)
instead of its own count: n reports, each of which shows m of the K - 1 characters. This halves the state, and adds no
error unless a single bucket has a large part of the reports.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.domains.cells import categorical
from hearsay.mechanisms.exact.counting import COUNTERS_PER_SYMBOL
from hearsay.mechanisms.layout import Reports, length_of
from hearsay.mechanisms.oracles.covering_hashing import NUMBERED_OLH, CoveringOLH
from hearsay.mechanisms.oracles.linear_hashing import OLH


@dataclass(frozen=True)
class BucketOracle(CoveringOLH):
    """The state: the sum of the signs of every character, and the number of reports."""

    @classmethod
    def best(cls, size: int, epsilon: float) -> Self:
        """The oracle with the number of buckets that other mechanisms choose for `olh` over so many values."""
        numbered = NUMBERED_OLH.fullmatch(CoveringOLH.best_inside(size, epsilon))
        t, named = numbered.groups() if numbered else (OLH.over(size, epsilon).t, None)
        return cls.create(epsilon, categorical(size), {"t": int(t), "named": int(named or 1)})

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"named" if self.counts_values else "sum": (self.characters,), "n": (1,)}

    def reports(self, state: State) -> int:
        return int(state["n"][0])

    def has_own_counts(self, reports: int) -> bool:
        return False

    def fold(self, state: State, reports: Reports) -> State:
        if self.counts_values:
            return super().fold(state, reports)
        state["n"] += length_of(reports)
        if self.named > 1:
            super().fold({"sum": state["sum"], "count": np.zeros_like(state["sum"])}, reports)
        elif length_of(reports) * self.shown_count * COUNTERS_PER_SYMBOL < 2 * self.characters:
            for character, sign in self.shown(reports):
                np.add.at(state["sum"], character, 1 - 2 * sign.astype(np.int64))
        else:
            plus, minus = self.sign_counts(reports)
            state["sum"] += plus - minus
        return state

    def channel_of(self, values: NDArray[np.uint32]) -> NDArray[np.float64]:
        """P(report | value) for some values only."""
        inside, outside = map(float, self._exact())
        vectors = np.arange(1, self.characters, dtype=np.uint32)
        rows = []
        for value in values:
            hashed = self.hashed(vectors, np.full(vectors.size, value, dtype=np.uint32)).astype(np.int64)
            named = (hashed[:, None] ^ np.arange(self.buckets)) < self.named
            rows.append(np.where(named, inside, outside).reshape(-1) / vectors.size)
        return np.array(rows)
