"""Optimal local hashing whose report names any share of the buckets: never more than 3% above oue's variance.

The best number of buckets is e + 1, e = exp(eps), but linear hashes have g = 2^t of them, which costs up to 7.7%. So a
report may name w of the g buckets: e + 1 = 5.5 is 16/3.

Device    Hash the value to a bucket b as in `linear_hashing`. Report z = b xor s, with s uniform among 0..w-1 with
          probability p, else among w..g-1: the report names the buckets z xor 0, .., z xor (w-1).
Privacy   z has probability p/w or (1-p)/(g-w): the ratio is at most e with p = w e/(w e + g - w), rounded down.
Estimate  Two values hash to buckets that differ by every d != 0 for equally many vectors, so another value is named
          with q = k p + (1-k)(w-p)/(g-1), k = (K/g-1)/(K-1), whatever set 0..w-1 is: f = (named/n - q)/(p - q).
Variance  [f p(1-p) + (1-f) q(1-q)]/(n (p-q)^2) for a cell; sums of cells by `moments`, where the characters c of
          the set, S(c) = sum over s of (-1)^<c,s>, enter by their mean square w(g-w)/(g-1) and their mean product
          S(c) S(c') S(c+c') = w(g-w)(g-2w)/((g-1)(g-2)).
Fold      As in `linear_hashing`, each sign times S(c): g - 1 sums. Where g > 256 and fewer values are named than that,
          a report adds 1 to each value that it names, w K/g of them: the solutions of t linear equations.

w = 1 and t <= 8 is `linear_hashing` itself, kept wherever it is within 3% of oue.     after Wang et al. 2017
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Streams, Values
from hearsay.mechanisms.domains.cells import categorical
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.counting import count_into, span
from hearsay.mechanisms.exact.hadamard import parity
from hearsay.mechanisms.exact.randomness import WORD, Random
from hearsay.mechanisms.exact.thresholds import exponential, log_ratio, probability
from hearsay.mechanisms.layout import Reports, length_of, smallest_unsigned
from hearsay.mechanisms.options import integer
from hearsay.mechanisms.oracles.linear_hashing import LOW_TERMS, MAXIMUM_T, OLH, VARIANT
from hearsay.mechanisms.portable import Node, linear_hash

WIDEST_T = 15  # e + 1 = 22,027 buckets are best at epsilon 10
NUMBERED_OLH = re.compile(r"olh-([1-9][0-9]?)(?:-([1-9][0-9]{0,4}))?")  # as a part of other mechanisms: t, w
TOLERATED = 1.03  # times oue's variance
TOLERATED_INSIDE = 1.08  # as a part of other mechanisms
_AT_ONCE = 1 << 20  # named values that are counted together


@dataclass(frozen=True)
class CoveringOLH(OLH):
    """The t and w with the least variance, or nearly so."""

    OPTIONS = (
        integer("t", None, 1, WIDEST_T, "bits of the hash; chosen for the least variance where absent"),
        integer("named", None, 1, 1 << WIDEST_T - 1, "buckets that a report names, at most half of them; goes with t"),
        VARIANT,
    )
    EXAMPLES = (
        *OLH.EXAMPLES,
        {"epsilon": 0.5, "domain": {"kind": "categorical", "size": 13}, "options": {"t": 3, "named": 3}},
    )

    @classmethod
    def over(cls, size: int, epsilon: float, **options: Any) -> Self:
        """The oracle inside other mechanisms: the plain form unless their survey sets t."""
        return super().over(size, epsilon, **options) if options else OLH.over(size, epsilon)  # type: ignore[return-value]

    @classmethod
    def best_inside(cls, size: int, epsilon: float) -> str:
        """What a part of another mechanism is called: `olh`, or where that is far off, the best t and w spelled out.

        The plain form loses up to 7.7% by having 2^t buckets, and keeps its name; above epsilon 6 it has too few.
        """
        best = cls.create(epsilon, categorical(size), {})
        if best._against_oue(min(best.wanted_t(), best.bits), 1) <= TOLERATED_INSIDE:
            return cls.ID
        return f"{cls.ID}-{best.t}" + (f"-{best.named}" if best.named > 1 else "")

    def check(self) -> None:
        super().check()
        t, named = self.options["t"], self.options["named"]
        if named is not None and (t is None or named > 1 << min(t, self.bits) - 1):
            raise SpecificationError(
                what="options.named", expected="at most half of 2^t buckets and goes with t", got=named
            )
        if self.options["variant"] == "coefficients" and ((t or 1) > MAXIMUM_T or (named or 1) > 1):
            raise SpecificationError(
                f"options.variant coefficients needs t of at most {MAXIMUM_T} and one bucket named"
            )

    @cached_property
    def _choice(self) -> tuple[int, int]:
        """(t, w): as given; the plain form where it is good; else the fewest bits that are."""
        if self.options["t"] is not None:
            return min(int(self.options["t"]), self.bits), int(self.options["named"] or 1)
        plain = min(self.wanted_t(), self.bits)
        if self.options["variant"] == "coefficients" or self._against_oue(plain, 1) <= TOLERATED:
            return plain, 1
        ratios = {}
        for t in range(1, min(WIDEST_T, self.bits) + 1):
            best = (1 << t) / (exp(self.epsilon) + 1)
            for w in {max(1, int(best)), min(max(1, int(best) + 1), 1 << t - 1)}:
                ratios[t, w] = self._against_oue(t, w)
        good = [each for each, ratio in ratios.items() if ratio <= TOLERATED]
        if not good:
            return min(ratios, key=lambda each: ratios[each])
        return min(good, key=lambda each: (each[0], ratios[each]))

    def _against_oue(self, t: int, w: int) -> float:
        """The variance of a cell as a multiple of oue's, for a rare cell or one of average share."""
        e, K, g = exp(self.epsilon), self.characters, 1 << t
        p = w * e / (w * e + g - w)
        same = (K / g - 1) / (K - 1)
        q = same * p + (1 - same) * (w - p) / (g - 1)
        shares = np.array([0.0, 1 / self.domain.size])
        mine = (shares * p * (1 - p) + (1 - shares) * q * (1 - q)) / (p - q) ** 2
        return float((mine / (4 * e / (e - 1) ** 2 + shares)).max())

    @cached_property
    def t(self) -> int:
        return self._choice[0]

    @cached_property
    def named(self) -> int:
        """w: how many buckets a report names."""
        return self._choice[1]

    def canonical_options(self) -> dict[str, Any]:
        given = {**super().canonical_options(), "t": self.t, "named": self.named}
        return {name: value for name, value in given.items() if name != "named" or self.named > 1}

    @cached_property
    def counts_values(self) -> bool:
        """Whether the state counts how often each value is named, instead of characters."""
        return self.t > MAXIMUM_T and self.named * (self.characters >> self.t) < self.buckets

    @cached_property
    def keep(self) -> int:
        """Threshold out of 2^64 of naming the true bucket."""
        if self.named == 1:
            return super().keep
        weight = exponential(self.epsilon) * self.named
        return min(int(WORD * weight / (weight + self.buckets - self.named)), WORD - 1)

    def _exact(self) -> tuple[Fraction, Fraction]:
        """Chances of a z that names the true bucket and of one that does not."""
        p = probability(self.keep)
        return p / self.named, (1 - p) / (self.buckets - self.named)

    @property
    def spent_epsilon(self) -> float:
        return log_ratio(*self._exact())

    @cached_property
    def _square(self) -> float:
        """The mean of S(c)^2 over c != 0."""
        return self.named * (self.buckets - self.named) / (self.buckets - 1)

    @cached_property
    def correlation(self) -> float:
        """What a report adds to a character it shows, over the character's sign."""
        inside, outside = self._exact()
        return float(inside - outside) * self._square

    @cached_property
    def _gap(self) -> float:
        """p - q: how much more often the true cell is named than another one."""
        p, same = float(probability(self.keep)), (self.characters / self.buckets - 1) / (self.characters - 1)
        return p - same * p - (1 - same) * (self.named - p) / (self.buckets - 1)

    def report_spans(self) -> dict[str, float]:
        return super().report_spans() if self.named == 1 else {"point": 1 / self._gap}

    @property
    def raised_norms(self) -> float:
        return 1.0 if self.counts_values else 1 + (self.correlation if self.named == 1 else self._gap)

    def randomise(self, bucket: NDArray[Any], random: Random) -> NDArray[Any]:
        """Each bucket, moved by an s inside or outside 0..w-1."""
        inside = random.narrow_below(self.named, bucket.size).astype(bucket.dtype)
        outside = random.narrow_below(self.buckets - self.named, bucket.size).astype(bucket.dtype)
        shift = np.where(random.bernoulli(self.keep, bucket.size), inside, outside + bucket.dtype.type(self.named))
        return bucket ^ shift

    def perturb(self, values: Any, random: Random) -> Reports:
        if self.named == 1 and self.t <= MAXIMUM_T:
            return OLH.perturb(self._plain, values, random)
        return super().perturb(values, random)

    def perturb_memoised(self, values: Values, stream: Streams) -> Reports:
        if self.named == 1 and self.t <= MAXIMUM_T:
            return OLH.perturb_memoised(self._plain, values, stream)
        return super().perturb_memoised(values, stream)

    def portable(self) -> Node:
        return linear_hash(self.bits, self.t, LOW_TERMS[self.bits], self.keep, self.named)

    @cached_property
    def _plain(self) -> OLH:
        """The form that is kept wherever it is good."""
        return OLH.create(self.epsilon, self.domain, {"t": self.t, "variant": self.options["variant"]})

    def hashed(self, a: NDArray[np.uint32], cells: NDArray[np.uint32]) -> NDArray[Any]:
        bucket = np.zeros(a.shape, dtype=smallest_unsigned(self.buckets))
        for bit, row in enumerate(self.rows(a)):
            bucket |= parity(row & cells).astype(bucket.dtype) << bucket.dtype.type(bit)
        return bucket

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"named": (self.characters,), "n": (1,)} if self.counts_values else super().arrays

    def reports(self, state: State) -> int:
        return int(state["n"][0]) if self.counts_values else super().reports(state)

    def fold(self, state: State, reports: Reports) -> State:
        if self.counts_values:
            for values in self._named_values(reports):
                count_into(state["named"], values)
            state["n"] += length_of(reports)
            return state
        if self.named == 1:
            return super().fold(state, reports)
        for number, (character, sign) in enumerate(self.shown(reports)):
            weight = self._set_characters[self.combinations[number % self.shown_count]]
            np.add.at(state["sum"], character, weight * (1 - 2 * sign.astype(np.int64)))
            np.add.at(state["count"], character, 1)
        return state

    @cached_property
    def _set_characters(self) -> list[int]:
        """S(c) for every c."""
        members = np.arange(self.named)
        return [int((1 - 2 * parity(members & c).astype(np.int64)).sum()) for c in range(self.buckets)]

    def _named_values(self, reports: Reports) -> Iterator[NDArray[np.intp]]:
        """The values that reports name, padding included: solutions of <a_i, v> = bit i of z xor s, for every s."""
        free_bits = self.bits - self.t
        at_once = max(1, _AT_ONCE >> free_bits)
        for start in range(0, length_of(reports), at_once):
            part = {name: column[start : start + at_once] for name, column in reports.items()}
            rows = self.rows(part["vector"].astype(np.uint32) + np.uint32(1))
            sides = [part["bucket"].astype(np.uint32) ^ np.uint32(s) for s in range(self.named)]
            right = [[(side >> np.uint32(i)) & np.uint32(1) for side in sides] for i in range(self.t)]
            pivots: list[NDArray[np.uint32]] = []
            for i in range(self.t):
                pivots.append(rows[i] & (~rows[i] + np.uint32(1)))
                for j in range(self.t):
                    if j != i:
                        meets = (rows[j] & pivots[i] != 0).astype(np.uint32)
                        rows[j] = rows[j] ^ rows[i] * meets
                        right[j] = [mine ^ theirs * meets for mine, theirs in zip(right[j], right[i], strict=True)]
            free = np.full(len(rows[0]), self.characters - 1, dtype=np.uint32)
            for pivot in pivots:
                free &= ~pivot
            kernel = []
            for _ in range(free_bits):
                bit = free & (~free + np.uint32(1))
                free ^= bit
                follows = [pivot * (row & bit != 0) for row, pivot in zip(rows, pivots, strict=True)]
                kernel.append(bit | np.bitwise_or.reduce(np.array(follows, dtype=np.uint32), axis=0))
            for s in range(self.named):
                solved = np.array([pivot * right[i][s] for i, pivot in enumerate(pivots)], dtype=np.uint32)
                yield span(np.bitwise_or.reduce(solved, axis=0), kernel).reshape(-1)

    def shares(self, state: State, own_counts: bool = True) -> Floats:
        if not self.counts_values:
            return super().shares(state, own_counts)
        p, q = self.hit_chances()
        shares: Floats = (state["named"][: self.domain.size] / max(self.reports(state), 1) - q) / (p - q)
        return shares

    def has_own_counts(self, reports: int) -> bool:
        """Values that are counted have no characters with counts of their own."""
        return not self.counts_values and super().has_own_counts(reports)

    def hit_chances(self) -> tuple[float, float]:
        """That a report names its own value, and that it names a given other one."""
        K, g, w = self.characters, self.buckets, self.named
        p = float(probability(self.keep))
        same = (K / g - 1) / (K - 1)
        return p, same * p + (1 - same) * (w - p) / (g - 1)

    @cached_property
    def noise(self) -> tuple[float, float]:
        g, w = self.buckets, self.named
        if w == 1:
            return super().noise
        triple = w * (g - w) * (g - 2 * w) / ((g - 1) * (g - 2))
        inside, outside = self._exact()
        return self._square / self.correlation**2, triple * float(inside - outside) / self.correlation**2

    @property
    def step(self) -> float:
        """How far apart the scores of a cell that is named and of one that is not lie."""
        p, q = self.hit_chances()
        return super().step if self.named == 1 else 1 / (p - q)

    def channel(self) -> NDArray[np.float64]:
        K, g = self.characters, self.buckets
        inside, outside = map(float, self._exact())
        vectors = np.arange(1, K, dtype=np.uint32)
        table = np.empty((self.domain.size, K - 1, g))
        for cell in range(self.domain.size):
            hashed = self.hashed(vectors, np.full(K - 1, cell, dtype=np.uint32)).astype(np.int64)
            table[cell] = np.where((hashed[:, None] ^ np.arange(g)) < self.named, inside, outside) / (K - 1)
        return table.reshape(self.domain.size, -1)
