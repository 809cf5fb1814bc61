"""Optimal local hashing of the whole value: every character alike, low levels kept (Kulkarni 4.4.6's INPOLH).

Device    `olh` on the bits of all attributes: a random non-zero a of GF(2^width), the t bits <x^(i-1) a, v>, passed
          through randomised response over g = 2^t buckets.
Privacy   a is independent of the value; the bucket has ratio at most e^eps.
Fold      A report shows g - 1 characters; the few that touch at most k attributes are added to sum and count.
Estimate  As `inp-ht`. A character is seen with chance (g-1)/(2^width - 1): most reports show none that counts, which is
          why this is a comparison and not the method of choice.
Variance  `characters`; two characters are seen together where one is a small multiple of the other in the field.
"""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.estimates.estimate import Floats, Measured
from hearsay.mechanisms.exact.counting import count_into
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.marginals.characters.code import Attributes
from hearsay.mechanisms.marginals.characters.coefficients import MAXIMUM_COEFFICIENTS
from hearsay.mechanisms.marginals.characters.reading import (
    from_characters,
    normalised,
    stderr_of_each,
    uses_own_counts,
)
from hearsay.mechanisms.marginals.estimate import MarginalEstimate
from hearsay.mechanisms.marginals.methods.whole_value import WholeValue
from hearsay.mechanisms.marginals.table import Table
from hearsay.mechanisms.options import integer
from hearsay.mechanisms.oracles.linear_hashing import MAXIMUM_T, OLH

MAXIMUM_WIDTH = 28


@dataclass(frozen=True, eq=False)
class InpOLHEstimate(MarginalEstimate):
    """theta of the characters up to level k."""

    theta: Floats
    mechanism: "InpOLH"
    own: bool

    @cached_property
    def measured_coefficients(self) -> Measured:
        seen = np.full(self.theta.size, self.mechanism.seen)
        return Measured.plain(
            self.theta, stderr_of_each(self.theta, seen, self.reports, self.mechanism.oracle.correlation, self.own)
        )

    def _table(self, attributes: Attributes) -> Table:
        numbers = self.mechanism.coefficients.of(attributes)
        theta = np.where(numbers >= 0, self.theta[numbers], 1.0)
        oracle = self.mechanism.oracle
        return from_characters(
            self.code,
            attributes,
            self.reports,
            theta,
            self.mechanism.together(attributes),
            oracle.correlation,
            self.own,
            oracle.buckets - 1,
        )


@dataclass(frozen=True)
class InpOLH(WholeValue):
    """Linear hashes of the whole value."""

    ID = "inp-olh"
    ESTIMATE = InpOLHEstimate
    SUMMARY = "marginals from optimal local hashing of all attributes at once; a comparison, up to 28 bits"
    OPTIONS = (integer("t", None, 1, MAXIMUM_T, "bits of the hash; chosen by epsilon where not given"),)
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.1, "domain": {"kind": "attributes", "names": ["a", "b", "c"], "order": 2}},
        {"epsilon": 1.1, "domain": {"kind": "attributes", "names": ["a", "b"], "sizes": [3, 4], "order": 1}},
    )

    def check(self) -> None:
        super().check()
        self.refuse_more_bits(MAXIMUM_WIDTH)
        self.refuse_more_characters(MAXIMUM_COEFFICIENTS)

    @cached_property
    def oracle(self) -> OLH:
        """Hashing over all codes."""
        given = {} if self.options["t"] is None else {"t": self.options["t"]}
        return OLH.over(1 << self.code.width, self.epsilon, **given)

    def canonical_options(self) -> dict[str, Any]:
        return {"t": self.oracle.t}

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"sum": (self.coefficients.count,), "count": (self.coefficients.count,), "reports": (1,)}

    def cells(self, values: Values) -> NDArray[Any]:
        """The code of every device."""
        return self.code.encode(np.asarray(values)).astype(np.int64)

    def fold(self, state: State, reports: Reports) -> State:
        signs = np.zeros(2 * self.coefficients.count, dtype=np.int64)
        for character, sign in self.oracle.shown(reports):
            near = np.flatnonzero(np.bitwise_count(character) <= self._most_bits)
            numbers = self.coefficients.numbers_of(character[near].astype(np.uint64))
            kept = numbers >= 0
            count_into(signs, 2 * numbers[kept] + sign[near[kept]])
        state["sum"] += signs[0::2] - signs[1::2]
        state["count"] += signs[0::2] + signs[1::2]
        state["reports"] += len(reports["vector"])
        return state

    @cached_property
    def _most_bits(self) -> int:
        """Bits that a character of k attributes can have at most."""
        return sum(sorted(self.code.bits)[-self.order :])

    def reports(self, state: State) -> int:
        return int(state["reports"][0])

    @property
    def seen(self) -> float:
        """How likely a report is to show a given character."""
        return (self.oracle.buckets - 1) / (self.oracle.characters - 1)

    def together(self, attributes: Attributes) -> Floats:
        """How likely a report is to show each pair of a marginal's characters.

        Both are shown where they are u a and w a for one a: where w times the one is u times the other.
        """
        masks = self.code.characters(attributes).astype(np.uint32)
        rows = self.oracle.rows(masks)
        multiples = []
        for combination in range(1, self.oracle.buckets):
            chosen = [rows[bit] for bit in range(self.oracle.t) if combination >> bit & 1]
            multiples.append(np.bitwise_xor.reduce(chosen))
        table = np.zeros((masks.size, masks.size))
        for one, by_one in enumerate(multiples):
            for other, by_other in enumerate(multiples):
                if one != other:
                    table += by_other[:, None] == by_one[None, :]
        table[0, :] = table[:, 0] = 0.0
        table /= self.oracle.characters - 1
        table[np.diag_indices_from(table)] = self.seen
        return table

    def estimate(self, state: State) -> InpOLHEstimate:
        n = self.reports(state)
        own = uses_own_counts(self.seen, n)
        seen = np.full(self.coefficients.count, self.seen)
        theta = normalised(state["sum"], state["count"], seen, n, self.oracle.correlation, own)
        return InpOLHEstimate(self.domain, n, theta, self, own)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        errors = []
        for attributes in self.sets():
            squares = (self.code.to_cells(attributes)[:, 1:] ** 2).sum(axis=1) / self.seen
            errors.append(float(np.sqrt(squares).sum()) / self.oracle.correlation)
        return {"marginal": float(np.mean(errors)) / self.mean_cells / sqrt(reports)}
