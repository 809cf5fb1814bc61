"""One character of a random set of k attributes (Kulkarni's MARGHT).

Device    Draw one of the B sets of k attributes evenly, and one of its K - 1 non-empty characters, where K is the
          number of characters of the set; report its sign, flipped with probability 1/(e^eps + 1).
Privacy   Set and character are independent of the value; the sign has ratio at most e^eps.
Fold      sum[set, a] += sign, count[set, a] += 1.
Estimate  A marginal's characters are pooled over the sets that contain the marginal; no others are shared, which is why
          tables of different sets disagree, and why `inp-ht` is better.
Variance  inp-ht's with T = rho (2^k - 1), rho = B/s for s sets that contain the marginal.            Kulkarni 4.3.3
"""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.errors import refuse_more
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.hadamard import parity
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import probability
from hearsay.mechanisms.layout import Layout, Reports, Scalar, by_parts, smallest_unsigned
from hearsay.mechanisms.marginals.characters.code import Attributes, Masks
from hearsay.mechanisms.marginals.characters.reading import from_characters, normalised, uses_own_counts
from hearsay.mechanisms.marginals.estimate import MarginalEstimate
from hearsay.mechanisms.marginals.mechanism import AttributeMechanism
from hearsay.mechanisms.marginals.table import Table
from hearsay.mechanisms.oracles.flipped_sign import SignCoin

MAXIMUM_CHARACTERS = 1 << 20


@dataclass(frozen=True, eq=False)
class MargHTEstimate(MarginalEstimate):
    """Sums of signs of every set's characters."""

    total: NDArray[np.int64]
    count: NDArray[np.int64]
    mechanism: "MargHT"

    def _table(self, attributes: Attributes) -> Table:
        seen, numbers = self.mechanism.pooled(attributes)
        total, count = (np.where(numbers >= 0, array[numbers], 0).sum(axis=0) for array in (self.total, self.count))
        own = uses_own_counts(float(seen[1:].min()), self.reports)
        theta = normalised(total, count, seen, self.reports, self.mechanism.correlation, own)
        return from_characters(
            self.code, attributes, self.reports, theta, np.diag(seen), self.mechanism.correlation, own, 1
        )


@dataclass(frozen=True)
class MargHT(AttributeMechanism, SignCoin):
    """Characters set by set."""

    ID = "marg-ht"
    ESTIMATE = MargHTEstimate
    SUMMARY = "marginals from one random character of one random set of k attributes"
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.1, "domain": {"kind": "attributes", "names": ["a", "b", "c"], "order": 2}},
        {"epsilon": 0.8, "domain": {"kind": "attributes", "names": ["a", "b", "c"], "sizes": [2, 3, 4], "order": 2}},
    )

    def check(self) -> None:
        super().check()
        count = sum(self.code.codes(chosen) - 1 for chosen in self.sets())
        refuse_more(count, MAXIMUM_CHARACTERS, f"characters in all sets together for {self.ID}", "; use inp-ht")

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many non-empty characters each set has."""
        return np.array([self.code.codes(chosen) - 1 for chosen in self.sets()])

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @cached_property
    def masks(self) -> Masks:
        """Every set's characters, one set after the other."""
        return np.concatenate([self.code.characters(chosen)[1:] for chosen in self.sets()])

    @property
    def drawn(self) -> Floats:
        """How likely each character is to be drawn."""
        return np.repeat(1 / (self.sizes * len(self.sizes)), self.sizes)

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("character", len(self.masks)), Scalar("minus", 2))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"sum": (len(self.masks),), "count": (len(self.masks),)}

    def perturb(self, values: Values, random: Random) -> Reports:
        def draw(cells: NDArray[np.int64]) -> Reports:
            chosen = random.below(len(self.sizes), len(cells)).astype(np.intp)
            number = self._starts[chosen] + random.below_each(self.sizes[chosen])
            minus = parity(self.masks[number] & self.code.encode(cells)) ^ random.bernoulli(self.flip, len(cells))
            return {"character": number.astype(smallest_unsigned(len(self.masks))), "minus": minus.astype(np.uint8)}

        return by_parts(draw, self.domain.check(values))

    def fold(self, state: State, reports: Reports) -> State:
        symbol = reports["character"].astype(np.intp) * 2 + reports["minus"]
        return self.add(state, np.bincount(symbol, minlength=2 * len(self.masks)).reshape(-1, 2))

    def add(self, state: State, seen: NDArray[np.int64]) -> State:
        """Fold a histogram: how often each character came with either sign."""
        state["sum"] += seen[:, 0] - seen[:, 1]
        state["count"] += seen.sum(axis=1)
        return state

    def reports(self, state: State) -> int:
        return int(state["count"].sum())

    def pooled(self, attributes: Attributes) -> tuple[Floats, NDArray[np.intp]]:
        """The chance of each of a marginal's characters to be seen, and its places in the sets that contain it."""
        wanted = self.code.characters(attributes)
        useful = [number for number, chosen in enumerate(self.sets()) if set(attributes) <= set(chosen)]
        numbers = np.full((len(useful), wanted.size), -1, dtype=np.intp)
        for row, number in enumerate(useful):
            masks = self.masks[self._starts[number] : self._starts[number + 1]]
            order = np.argsort(masks)
            numbers[row, 1:] = self._starts[number] + order[np.searchsorted(masks[order], wanted[1:])]
        seen = np.full(wanted.size, float((1 / self.sizes[useful]).sum()) / len(self.sizes))
        seen[0] = 1.0
        return seen, numbers

    def estimate(self, state: State) -> MargHTEstimate:
        return MargHTEstimate(self.domain, self.reports(state), state["sum"], state["count"], self)

    def report_chances(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        q = float(probability(self.flip))
        honest = parity(self.masks[None, :] & self.code.encode(values)[:, None])
        hit = honest[:, :, None] == np.arange(2)
        return (np.where(hit, 1 - q, q) * self.drawn[None, :, None]).reshape(len(values), -1)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        errors = []
        for attributes in self.sets():
            seen, _ = self.pooled(attributes)
            squares = (self.code.to_cells(attributes)[:, 1:] ** 2) @ (1 / seen[1:])
            errors.append(float(np.sqrt(squares).sum()) / self.correlation)
        return {"marginal": float(np.mean(errors)) / self.mean_cells / sqrt(reports)}
