"""Hadamard randomised response and optimal local hashing as one family of linear hashes.

Device    K = 2^k >= D cells. Draw a non-zero vector a of GF(2^k), form a_i = x^(i-1) a for i = 1..t, hash the value v
          to the t bits <a_i, v> and report a with the bucket passed through randomised response over g = 2^t buckets.
Privacy   a is independent of the value; the bucket is the true one with probability p, and each other one with
          q = (1-p)/(g-1); p/q <= e^eps.
Fold      The character alpha has the sign (-1)^<alpha, v> at v. A report shows the signs of all m = g - 1 characters
          that the a_i span: sum[alpha] += sign, count[alpha] += 1.
Estimate  theta_alpha = sum/(norm c) with c = p - q; theta_0 = 1; f = WHT(theta)/K. With n reports the norm is the
          expected count lambda = n m/(K-1) if that is below 20, else each character's own count; one choice per state.
Variance  see `spreads`; the expected-count form follows from `moments`.

t = 1 is Hadamard randomised response (Kulkarni 4.7); larger t is local hashing (Wang et al. 2017) with hashes whose
collisions are exact, so there is no hash pool, no O(n D) work and no error floor. The variant "coefficients" is the
dissertation's HRR_t, which looks at the m = t characters a_i only and so loses what the others say.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import ANSWER, PUBLIC, State, Streams, Values
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.intervals import Spread, least_explained, scored_cells
from hearsay.mechanisms.exact.counting import COUNTERS_PER_SYMBOL, add_each, count_into, count_scattered, span
from hearsay.mechanisms.exact.hadamard import parity, power_of_two_at_least, walsh_hadamard
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import exponential
from hearsay.mechanisms.layout import Layout, Reports, Scalar, by_parts
from hearsay.mechanisms.options import Option, choice, integer
from hearsay.mechanisms.oracles.bucket_coin import BucketCoin, bucket_chances
from hearsay.mechanisms.oracles.oracle import FrequencyOracle, Moments
from hearsay.mechanisms.portable import Node, linear_hash

OWN_COUNT_FROM = 20  # expected reports per character from which its own count is the better norm
MAXIMUM_T = 8
_MOST_TRANSFORMED = 1 << 20  # characters of a range that are worth computing for `survey show`
_SYMBOLS_AT_ONCE = 1 << 17  # characters of reports that are counted together: they stay in the processor's cache
# Low terms of an irreducible polynomial of each degree: x^k = these terms (trinomials and pentanomials, Seroussi 1998).
LOW_TERMS = {
    1: 0b1, 2: 0b11, 3: 0b11, 4: 0b11, 5: 0b101, 6: 0b11, 7: 0b11, 8: 0b11011, 9: 0b11, 10: 0b1001, 11: 0b101,
    12: 0b1001, 13: 0b11011, 14: 0b100001, 15: 0b11, 16: 0b101011, 17: 0b1001, 18: 0b1001, 19: 0b100111, 20: 0b1001,
    21: 0b101, 22: 0b11, 23: 0b100001, 24: 0b11011, 25: 0b1001, 26: 0b11011, 27: 0b100111, 28: 0b11,
}  # fmt: skip

VARIANT = choice(
    "variant",
    "hashing",
    ("hashing", "coefficients"),
    "read every character that a report shows, or, as in the dissertation's HRR_t, only t of them",
)


@dataclass(frozen=True)
class LinearHashing(FrequencyOracle, BucketCoin):
    """What `hrr` and `olh` share; they differ in t only."""

    @cached_property
    def bits(self) -> int:
        """k: a character is a vector of so many bits."""
        return power_of_two_at_least(self.domain.size).bit_length() - 1

    @property
    def characters(self) -> int:
        """K: how many characters there are, the empty one included."""
        return 1 << self.bits

    @cached_property
    def t(self) -> int:
        """Bits of the hash, at most k."""
        return min(self.wanted_t(), self.bits)

    def wanted_t(self) -> int:
        """The t asked for, before it is limited by the domain."""
        return int(self.options["t"])

    @property
    def buckets(self) -> int:
        """g = 2^t."""
        return 1 << self.t

    @cached_property
    def combinations(self) -> tuple[int, ...]:
        """Which sums of the a_i are read from a report, as masks: all but the empty one, or only the a_i themselves."""
        every = range(1, self.buckets)
        return tuple(1 << bit for bit in range(self.t)) if self.options["variant"] == "coefficients" else tuple(every)

    @cached_property
    def shown_count(self) -> int:
        """m: how many characters a report shows."""
        return len(self.combinations)

    def canonical_options(self) -> dict[str, Any]:
        return {**super().canonical_options(), "t": self.t}

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("vector", self.characters - 1), Scalar("bucket", self.buckets))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"sum": (self.characters,), "count": (self.characters,)}

    def report_spans(self) -> dict[str, float]:
        """A false report names a cell's bucket or does not: its g - 1 characters then add up to g - 1 or to -1."""
        if self.options["variant"] == "coefficients":
            return {}
        return {"point": self.buckets * (self.characters - 1) / (self.characters * self.shown_count * self.correlation)}

    def range_span(self, x: int, y: int) -> float | None:
        """For t = 1, one character per report: twice the range's largest Walsh-Hadamard coefficient. Else unknown."""
        if self.t > 1 or self.characters > _MOST_TRANSFORMED:
            return None
        inside = np.zeros(self.characters)
        inside[x:y] = 1.0
        largest = float(np.abs(walsh_hadamard(inside)[1:]).max())
        return 2 * largest * (self.characters - 1) / (self.characters * self.correlation)

    @property
    def raised_norms(self) -> float:
        """False reports also raise the counts that their characters are divided by."""
        return 1 + self.correlation

    def perturb(self, values: Values, random: Random) -> Reports:
        return by_parts(lambda cells: self._draw(cells.astype(np.uint32), random), self.domain.flatten(values))

    def _draw(self, cells: NDArray[np.uint32], random: Random) -> Reports:
        vector = random.narrow_below(self.characters - 1, cells.size).astype(np.uint32)
        return {"vector": vector, "bucket": self.randomise(self.hashed(vector + np.uint32(1), cells), random)}

    def portable(self) -> Node:
        return linear_hash(self.bits, self.t, LOW_TERMS[self.bits], self.keep)

    @property
    def memoised_buckets(self) -> int:
        return self.buckets

    def perturb_memoised(self, values: Values, stream: Streams) -> Reports:
        vector = stream(PUBLIC).narrow_below(self.characters - 1, 1).astype(np.uint32)
        bucket = self.hashed(vector + np.uint32(1), self.domain.flatten(values).astype(np.uint32))
        return {"vector": vector, "bucket": self.randomise(bucket, stream(f"{ANSWER} {bucket[0]}"))}

    def rows(self, a: NDArray[np.uint32]) -> list[NDArray[np.uint32]]:
        """a_1 .. a_t: a multiplied by powers of x in GF(2^k), k <= 28."""
        rows = [a]
        top, mask = np.uint32(self.bits - 1), np.uint32(self.characters - 1)
        low_terms = np.uint32(LOW_TERMS[self.bits])
        for _ in range(self.t - 1):
            last = rows[-1]
            rows.append(((last << np.uint32(1)) & mask) ^ (low_terms * (last >> top)))
        return rows

    def hashed(self, a: NDArray[np.uint32], cells: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """The bucket of every cell under the hash of its vector a."""
        bucket = np.zeros(a.shape, dtype=np.uint8)
        for bit, row in enumerate(self.rows(a)):
            bucket |= parity(row & cells) << np.uint8(bit)
        return bucket

    def fold(self, state: State, reports: Reports) -> State:
        if len(reports["vector"]) * self.shown_count * COUNTERS_PER_SYMBOL < 2 * self.characters:
            symbols = [character << np.uint32(1) | sign for character, sign in self.shown(reports)]
            add_each(state["sum"], state["count"], np.sort(np.concatenate(symbols or [np.zeros(0, dtype=np.uint32)])))
            return state
        plus, minus = self.sign_counts(reports)
        state["sum"] += plus - minus
        state["count"] += plus + minus
        return state

    def sign_counts(self, reports: Reports) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How often the reports show each character with sign +, and with sign -."""
        counts = np.zeros(2 * self.characters, dtype=np.int64)
        if self.t > 2 and self.shown_count == self.buckets - 1:
            for shown in self._all_shown(reports):
                count_scattered(counts, shown)
        else:
            for character, sign in self.shown(reports):
                count_into(counts, character | sign.astype(np.uint32) << np.uint32(self.bits))
        return counts[: self.characters], counts[self.characters :]

    def shown(self, reports: Reports) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint8]]]:
        """Every character that the reports show, with its sign bit."""
        # Parts that stay in the processor's cache, but are worth a histogram of all characters.
        at_once = max(1 << 15, self.characters // 4)
        for start in range(0, len(reports["vector"]), at_once):
            rows = self.rows(reports["vector"][start : start + at_once].astype(np.uint32) + np.uint32(1))
            bucket = reports["bucket"][start : start + at_once]
            for combination in self.combinations:
                chosen = [rows[bit] for bit in range(self.t) if combination >> bit & 1]
                yield reduce(np.bitwise_xor, chosen), parity(bucket & bucket.dtype.type(combination))

    def _all_shown(self, reports: Reports) -> Iterator[NDArray[np.intp]]:
        """As `shown`, for all combinations at once: each character with its sign in the bit above it."""
        at_once = max(1, _SYMBOLS_AT_ONCE >> self.t)
        for start in range(0, len(reports["vector"]), at_once):
            rows = self.rows(reports["vector"][start : start + at_once].astype(np.uint32) + np.uint32(1))
            bucket = reports["bucket"][start : start + at_once].astype(np.uint32)
            bits = [(bucket >> np.uint32(bit) & np.uint32(1)) << np.uint32(self.bits) for bit in range(self.t)]
            signed = [row | bit for row, bit in zip(rows, bits, strict=True)]
            yield span(np.zeros(bucket.size, dtype=np.uint32), signed)[1:].reshape(-1)

    def reports(self, state: State) -> int:
        return int(state["count"].sum()) // self.shown_count

    def estimate(self, state: State) -> CellEstimate:
        n = self.reports(state)
        f = self.shares(state)
        return scored_cells(self.domain, n, f, self.spreads(f, n), self.step)

    def shares(self, state: State, own_counts: bool = True) -> Floats:
        shares = walsh_hadamard(self.spectrum(state, own_counts))[: self.domain.size]
        shares /= self.characters
        return shares

    def expected_count(self, reports: int) -> float:
        """lambda: how often a character is seen among so many reports."""
        return reports * self.shown_count / (self.characters - 1)

    def has_own_counts(self, reports: int) -> bool:
        """Whether each character is divided by its own count, among so many reports."""
        return self.expected_count(reports) >= OWN_COUNT_FROM

    def spectrum(self, state: State, own_counts: bool = True) -> Floats:
        """theta: the estimated Walsh-Hadamard transform of the shares; without `own_counts` the norm is lambda."""
        expected = self.expected_count(self.reports(state))
        norm: Floats | float = max(expected, 1e-300)
        if own_counts and self.has_own_counts(self.reports(state)):
            norm = np.where(state["count"] > 0, state["count"], norm)
        theta: Floats = state["sum"] / (norm * self.correlation)
        theta[0] = 1.0
        return theta

    @cached_property
    def moments(self) -> Moments:
        """With lambda as norm. Pairs of characters in one report are treated as spread evenly over all pairs."""
        K, (alone, two) = self.characters, self.noise
        once = self.shown_count / (K - 1)
        pair = self.pair_share() / once**2
        return Moments(
            a=alone / (K * once) - pair * two / K,
            b=pair * two,
            c=-1 / K**2 - alone / (K * K * once) + 2 * pair * two / (K * K),
            d=2 / K - 2 * pair * two / K,
        )

    @cached_property
    def noise(self) -> tuple[float, float]:
        """Mean product of two signs of a report, over c^2: of one with itself, of two (times their sum's true sign)."""
        return 1 / self.correlation**2, 1 / self.correlation

    def pair_share(self) -> float:
        """Chance that two given different characters are both in a report."""
        K, m = self.characters, self.shown_count
        return m * (m - 1) / ((K - 1) * (K - 2)) if m > 1 else 0.0

    @property
    def step(self) -> float:
        """The distance between a report's possible scores of a cell: in its bucket or not, or by one sign."""
        apart = self.buckets if self.shown_count == self.buckets - 1 else 2
        return apart * (self.characters - 1) / (self.characters * self.shown_count * self.correlation)

    def spreads(self, f: Floats, reports: int) -> tuple[Spread, ...]:
        """n Var of a cell as a function of its share f, with the norm of so many reports; the largest one counts.

        Where each character is divided by its own count, what theta explains is no longer noise: with F2 = sum f^2 and
        the chances that a report shows a character (`once`) and two given ones (`pair`),

            n Var = {once [(K-1)/c^2 - (K F2 - 1)] + pair [(K-2)(K f - 1)/c - (K f - 1)^2 + (K F2 - 1)]}/(K once)^2
                    - f(1-f), times 1 + 1/lambda.

        F2 is not known, and a smaller one gives a larger variance: one spread has a lower limit of F2 from the shares,
        the other one the most that a cell with share f allows, f^2 + (1-f)^2.
        """
        if not self.has_own_counts(reports):
            return (self.moments.spread(),)
        expected = self.expected_count(reports)
        K, (alone, two) = self.characters, self.noise
        # A character's square is theta^2 + (1/c^2 - theta^2)/lambda on average; the domain's cells show a part of it.
        mean_square, noise_part = (K * float(f @ f) - 1) / (K - 1), f.size / (K * expected)
        mean_square = (mean_square - noise_part * alone) / (1 - noise_part)
        explained = float(least_explained(mean_square, reports, alone)) * (K - 1)  # K F2 - 1
        once, pair = self.shown_count / (K - 1), self.pair_share()
        unit, factor = 1 / (K * once) ** 2, 1 + 1 / expected

        def spread(constant: float, linear: float, square: float) -> Spread:
            """The formula with K F2 - 1 = constant + linear f + square f^2."""
            return Spread(
                factor * unit * (once * (K - 1) * alone - pair * ((K - 2) * two + 1) + (pair - once) * constant),
                factor * (unit * (pair * K * ((K - 2) * two + 2) + (pair - once) * linear) - 1),
                factor * (unit * ((pair - once) * square - pair * K**2) + 1),
            )

        return spread(explained, 0.0, 0.0), spread(K - 1, -2 * K, 2 * K)

    def channel(self) -> NDArray[np.float64]:
        K, g = self.characters, self.buckets
        p, q = map(float, bucket_chances(self.keep, g))
        vectors = np.arange(1, K, dtype=np.uint32)
        table = np.empty((self.domain.size, K - 1, g))
        for cell, bucket in product(range(self.domain.size), range(g)):
            hashed = self.hashed(vectors, np.full(K - 1, cell, dtype=np.uint32))
            table[cell, :, bucket] = np.where(hashed == bucket, p, q) / (K - 1)
        return table.reshape(self.domain.size, -1)


@dataclass(frozen=True)
class HRR(LinearHashing):
    """Hadamard randomised response: one character, one bit."""

    ID = "hrr"
    SAMPLES = True
    SUMMARY = "Hadamard randomised response: a few bits per report, any domain size"
    OPTIONS = (
        integer("t", 1, 1, MAXIMUM_T, "characters that generate a report's hash; 1 is the classical form"),
        VARIANT,
    )
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.1, "domain": {"kind": "categorical", "size": 6}},
        {"epsilon": 0.5, "domain": {"kind": "categorical", "categories": ["red", "green", "blue", "none"]}},
        {"epsilon": 2.0, "domain": {"kind": "categorical", "size": 8}, "options": {"t": 2, "variant": "coefficients"}},
    )


@dataclass(frozen=True)
class OLH(LinearHashing):
    """Optimal local hashing: the t with the least variance."""

    ID = "olh"
    SUMMARY = "optimal local hashing with linear hashes: oue's error at a few bytes per report"
    OPTIONS: ClassVar[tuple[Option, ...]] = (
        integer("t", None, 1, MAXIMUM_T, "bits of the hash; chosen for the least variance where absent"),
        VARIANT,
    )
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.1, "domain": {"kind": "categorical", "size": 10}},
        {"epsilon": 2.5, "domain": {"kind": "ordinal", "size": 16}},
    )

    def wanted_t(self) -> int:
        if self.options["t"] is not None:
            return int(self.options["t"])
        e = float(exponential(self.epsilon))
        return min(range(1, MAXIMUM_T + 1), key=lambda t: (e - 1 + 2**t) ** 2 / ((e - 1) ** 2 * (2**t - 1)))
