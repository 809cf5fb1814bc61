"""RAPPOR: a Bloom filter of the value with every bit passed through a coin, in cohorts with hashes of their own.

Device    A random cohort; the value's Bloom filter has at most h of m bits set; every bit flipped with probability q.
Privacy   Two values differ in at most 2h bits: ((1-q)/q)^(2h) <= e^eps, with q = 1/(1 + e^(eps/2h)) rounded up. This is
          the permanent response, sent once; the instantaneous one on top of it is for repeated reports.
Estimate  Bits are linear in the shares, so the shares of a list of candidates (the domain) follow by least squares over
          all cohorts' bits: f = (sum n_i X_i'X_i)^-1 sum X_i' (hits_i - q n_i)/(1 - 2q), X_i the filters of cohort i.
Variance  q(1-q)/(1-2q)^2 times the inverse's diagonal, and what the random cohorts add; see `_cohort_variance`.
          Intervals have half a bit's step, 1/(n h (1-2q)), as continuity correction.
                                                    Erlingsson, Pihur and Korolova 2014; a comparator, see oue for use
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import nextafter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import CellMechanism, State, Values
from hearsay.mechanisms.errors import SpecificationError, refuse_more
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats, Measured
from hearsay.mechanisms.estimates.intervals import widened
from hearsay.mechanisms.exact.bit_counting import count_bits
from hearsay.mechanisms.exact.public_hash import coefficients, hashed
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import flip_threshold, log_ratio, probability
from hearsay.mechanisms.guarantees.promises import Guarantee, PureLDP
from hearsay.mechanisms.layout import Layout, Reports, Scalar, Vector
from hearsay.mechanisms.options import integer
from hearsay.mechanisms.oracles.oracle import standard_errors

MAXIMUM_CANDIDATES = 2048
_DISTINGUISHED = 1e-6  # rank tolerance: candidates whose filters differ by less have no estimate


@dataclass(frozen=True)
class BloomEstimate(CellEstimate):
    """Shares with intervals as wide as single bits of few reports make them."""

    step: float

    def points(self, cells: NDArray[np.int64]) -> Measured:
        measured = super().points(cells)
        return widened(measured.value, measured.stderr, self.step / 2, self.z)


@dataclass(frozen=True)
class RAPPOR(CellMechanism):
    """One-time RAPPOR with cohorts, decoded by regression over the domain."""

    ESTIMATE: ClassVar[type[BloomEstimate]] = BloomEstimate
    PLANNED_WHEN_NAMED = "a comparator, whose equations take seconds to solve"
    ID = "rappor"
    SUMMARY = "Bloom filters in cohorts, decoded by regression over the domain; a comparator"
    OPTIONS = (
        integer("bits", 64, 2, 1 << 12, "size of the Bloom filter"),
        integer("hashes", 2, 1, 8, "bits that a value sets"),
        integer("cohorts", 16, 1, 256, "groups of devices with hashes of their own"),
        integer("seed", 0, 0, 2**31, "public seed of the hashes"),
    )
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "epsilon": 2.0,
            "domain": {"kind": "categorical", "size": 5},
            "options": {"bits": 6, "hashes": 2, "cohorts": 4},
        },
        {
            "epsilon": 1.5,
            "domain": {"kind": "categorical", "categories": ["red", "green", "blue"]},
            "options": {"bits": 8, "hashes": 1, "cohorts": 2, "seed": 1},
        },
    )

    def check(self) -> None:
        size = self.domain.size
        refuse_more(size, MAXIMUM_CANDIDATES, "cells for rappor")
        if np.linalg.matrix_rank(self._gram.mean(axis=0)) < size:
            raise SpecificationError(
                f"options.bits and options.cohorts are too few to tell {size} values apart; raise them or the seed"
            )

    @property
    def bits(self) -> int:
        return int(self.options["bits"])

    @property
    def cohorts(self) -> int:
        return int(self.options["cohorts"])

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)

    @cached_property
    def flip(self) -> int:
        """Threshold out of 2^64 of flipping a bit."""
        differing = 2 * int(self.options["hashes"])
        share = self.epsilon / differing
        if Fraction(share) * differing > Fraction(self.epsilon):
            share = nextafter(share, 0.0)  # the division was rounded up: privacy must not be
        return flip_threshold(share)

    @property
    def spent_epsilon(self) -> float:
        """Of two values without a common bit."""
        q, differing = probability(self.flip), 2 * int(self.options["hashes"])
        return log_ratio((1 - q) ** differing, q**differing)

    @cached_property
    def filters(self) -> NDArray[np.bool_]:
        """The bits of every cell in every cohort: cohorts x cells x bits."""
        hashes = int(self.options["hashes"])
        functions = coefficients(self.options["seed"], self.cohorts * hashes)
        cells = np.arange(self.domain.size, dtype=np.uint64)
        hashes_of = hashed(functions[:, None, :], cells[None, :], self.bits)
        table = np.zeros((self.cohorts, self.domain.size, self.bits), dtype=bool)
        for number, hash_of in enumerate(hashes_of.astype(np.intp)):
            table[number // hashes, cells.astype(np.intp), hash_of] = True
        return table

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("cohort", self.cohorts), vector=Vector("bits", self.bits))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"ones": (self.cohorts, self.bits), "reports": (self.cohorts,)}

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values)
        cohort = random.narrow_below(self.cohorts, cells.size)
        packed = np.packbits(self.filters, axis=2, bitorder="little")
        bits = packed[cohort, cells] ^ random.bits(self.flip, cells.size, self.bits)
        return {"cohort": cohort.astype(np.uint8), "bits": bits}

    def fold(self, state: State, reports: Reports) -> State:
        state["reports"] += np.bincount(reports["cohort"], minlength=self.cohorts)
        for cohort in range(self.cohorts):
            state["ones"][cohort] += count_bits(reports["bits"][reports["cohort"] == cohort], self.bits)
        return state

    def reports(self, state: State) -> int:
        return int(state["reports"].sum())

    @cached_property
    def _gram(self) -> Floats:
        """X_i'X_i of every cohort: how many bits two values share."""
        filters = self.filters.astype(np.float64)
        return filters @ filters.transpose(0, 2, 1)

    @cached_property
    def _mixing(self) -> Floats:
        """B_i = (mean of X'X)^-1 X_i'X_i: what a report in cohort i says, on the average, about every value."""
        return np.linalg.solve(self._gram.mean(axis=0), self._gram)

    def estimate(self, state: State) -> BloomEstimate:
        n = self.reports(state)
        q = float(probability(self.flip))
        shown = (state["ones"] - q * state["reports"][:, None]) / (1 - 2 * q)
        # A cohort without reports counts for nothing; with none at all the even mixture keeps the matrix regular.
        counts = state["reports"] if n else np.ones(self.cohorts)
        gram = np.tensordot(counts, self._gram, axes=1)
        inverse = np.linalg.pinv(gram, hermitian=True)
        f = inverse @ np.einsum("ixb,ib->x", self.filters, shown)
        noise = q * (1 - q) / (1 - 2 * q) ** 2 * np.diag(inverse) * max(n, 1)
        variance = noise + self._cohort_variance(np.clip(f, 0.0, 1.0))
        # Cohorts with reports may be too few to tell all values apart: of those that they mix nothing is known.
        variance[np.einsum("xy,yx->x", inverse, gram) < 1 - _DISTINGUISHED] = np.inf
        shape, step = self.domain.shape, 1 / (max(n, 1) * int(self.options["hashes"]) * (1 - 2 * q))
        return BloomEstimate(self.domain, n, f.reshape(shape), standard_errors(variance, n).reshape(shape), step)

    def _cohort_variance(self, f: Floats) -> Floats:
        """n Var from who is in which cohort: mean_i [B_i^2 f - (B_i f)^2] - f(1-f), squares entry by entry."""
        seen = self._mixing @ f
        return (self._mixing**2 @ f - seen**2).mean(axis=0) - f * (1 - f)

    def channel(self) -> NDArray[np.float64]:
        q = float(probability(self.flip))
        listed = self.layout.enumerate()
        bits = np.unpackbits(listed["bits"], axis=1, count=self.bits, bitorder="little").astype(bool)
        differ = (self.filters[listed["cohort"]] ^ bits[:, None, :]).sum(axis=2).T
        return q**differ * (1 - q) ** (self.bits - differ) / self.cohorts

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        q = float(probability(self.flip))
        even = np.full(self.domain.size, 1 / self.domain.size)
        noise = q * (1 - q) / (1 - 2 * q) ** 2 * np.diag(np.linalg.inv(self._gram.mean(axis=0)))
        return {"point": float(np.sqrt((noise + self._cohort_variance(even)).mean() / reports))}
