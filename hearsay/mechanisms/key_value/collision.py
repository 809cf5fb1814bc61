"""The collision mechanism: a device hashes its pairs into a few buckets, and reports one bucket.

Device    Draw a hash function from a public pool. Hash each of at most s pairs (`pairs`; a sample of a larger set) with
          its sign to one of t buckets. With e = exp(eps) and Omega = s e + t - s, report each covered bucket with
          probability e/Omega; the other buckets have equal shares of the remaining probability.
Privacy   For every set, each bucket has a probability between 1/Omega and e/Omega. The hash function is independent of
          the set.
Estimate  A report hits a (key, sign) if it names the bucket of it: with probability e/Omega if the device holds it,
          otherwise 1/t. Let y be the hits of both signs per report, x those of + minus those of -, g = e/Omega - 1/t.
          Then f = (y - 2/t)/g and f m = x/g.
Variance  n Var f = [y + 2(y - 1/t)/t - y^2]/g^2, n Var f m = [y - 2(y - 1/t)/t - x^2]/g^2, n Cov = x(1 - y)/g^2.

For many keys and small sets, without padding (Wang et al. 2021). Because the pool is fixed, collisions leave an error
of about sqrt(1/pool) times the frequency of the other pairs, which more reports do not reduce.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Mechanism, State
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.counting import count_into
from hearsay.mechanisms.exact.public_hash import split_mixed
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import down, exponential, log_ratio, probability
from hearsay.mechanisms.guarantees.promises import Guarantee, PureLDP
from hearsay.mechanisms.key_value.domain import KeyValue
from hearsay.mechanisms.key_value.estimate import KeyEstimate, exact_keys
from hearsay.mechanisms.key_value.fieller import KeyScores
from hearsay.mechanisms.key_value.pairs import Pairs, plus_signs
from hearsay.mechanisms.layout import Layout, Reports, Scalar, by_parts, smallest_unsigned
from hearsay.mechanisms.options import integer

MOST_PAIRS = 64
_HASHES_AT_ONCE = 1 << 17  # a batch of hashes fits into the processor's cache


def hashed(seed: int, function: NDArray[Any], item: NDArray[Any], buckets: int) -> NDArray[np.int64]:
    """The bucket of every function and item, which broadcast: two rounds of SplitMix64 (Steele, Lea and Flood 2014).

    The hashes of many items must be independent of each other, so a polynomial of low degree is not enough.
    """
    mixed = (function.astype(np.uint64) << np.uint64(32)) ^ item.astype(np.uint64) ^ (np.uint64(seed) << np.uint64(16))
    for odd in (0x9E3779B97F4A7C15, 0xD1342543DE82EF95):
        mixed = split_mixed((mixed + np.uint64(1)) * np.uint64(odd))
    return ((mixed >> np.uint64(32)) * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)


@dataclass(frozen=True)
class Collision(Mechanism):
    """A report is (hash function, bucket)."""

    domain: KeyValue

    ESTIMATE: ClassVar[type[KeyEstimate]] = KeyEstimate
    ID, PLANNED_FROM_SURVEYS = "collision", True
    SUMMARY = "all pairs of a small set hashed into a few buckets; best for many keys and small sets"
    ERROR_FLOOR = "hash functions come from a fixed pool"
    OPTIONS = (
        integer(
            "pairs",
            None,
            1,
            MOST_PAIRS,
            "s: pairs of a device that count, larger sets are thinned out; else domain.pairs",
        ),
        integer("hashes", 1 << 14, 1, 1 << 20, "size of the pool of hash functions"),
        integer("seed", 0, 0, 2**31, "public seed of the hash functions"),
    )
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "epsilon": 1.0,
            "domain": {"kind": "key-value", "keys": 3},
            "options": {"pairs": 2, "hashes": 8},
        },
    )

    def check(self) -> None:
        if self.most > MOST_PAIRS:
            raise SpecificationError(
                what="options.pairs or domain.pairs", expected=f"at most {MOST_PAIRS}", got=self.most
            )
        if self.domain.dimensions > 1:
            raise SpecificationError(
                what="domain", must="have one value a pair for collision", got=self.domain.dimensions
            )

    def listed_values(self) -> Pairs:
        return self.domain.some_sets(2 if self.domain.dimensions else 1)

    def exact(self, values: Any) -> KeyEstimate:
        return exact_keys(self.domain, values)

    @property
    def most(self) -> int:
        """s."""
        return int(self.options["pairs"] or self.domain.pairs or self.domain.size)

    def canonical_options(self) -> dict[str, Any]:
        return {**self.options, "pairs": self.most}

    @property
    def pool(self) -> int:
        return int(self.options["hashes"])

    @property
    def signs(self) -> int:
        return 2 if self.domain.dimensions else 1

    @cached_property
    def buckets(self) -> int:
        """t with the least variance of a rare key, 2 t (s(e-1)+t)^2/((e-1)^2 (t-s)^2)."""
        s, gain = self.most, exp(self.epsilon) - 1
        return min(range(s + 1, 64 * s + 64), key=lambda t: t * (s * gain + t) ** 2 / (t - s) ** 2)

    @cached_property
    def covered_chance(self) -> tuple[int, ...]:
        """The chance out of 2^64, rounded down, that the reported bucket is covered, if c buckets are, for c = 0..s."""
        e = exponential(self.epsilon)
        omega = self.most * e + self.buckets - self.most
        return tuple(down(covered * e / omega) for covered in range(self.most + 1))

    def _exact(self) -> tuple[list[Fraction], list[Fraction]]:
        """The chances of each covered and of each other bucket, if c buckets are covered, for c = 0..s."""
        named = [probability(chance) for chance in self.covered_chance]
        inside = [Fraction(0), *(chance / covered for covered, chance in enumerate(named[1:], start=1))]
        outside = [(1 - chance) / (self.buckets - covered) for covered, chance in enumerate(named)]
        return inside, outside

    @property
    def spent_epsilon(self) -> float:
        inside, outside = self._exact()
        return log_ratio(max(*inside[1:], *outside), min(*inside[1:], *outside))

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("hash", self.pool), Scalar("bucket", self.buckets))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"counts": (self.pool, self.buckets)}

    def perturb(self, values: Any, random: Random) -> Reports:
        def draw(pairs: Any) -> Reports:
            n = len(pairs)
            function = random.narrow_below(self.pool, n)
            covered = self._covered(pairs, thinned(pairs, self.most, random), function, random)
            count = (covered < self.buckets).sum(axis=1)
            # Every device draws one word: the time of a step must not depend on how many buckets are covered.
            inside = random.words(n) < np.array(self.covered_chance, dtype=np.uint64)[count]
            number = random.below_each(np.where(inside, count, self.buckets - count))
            uncovered = number.copy()  # the bucket with this number among those that are not covered
            for column in range(self.most):
                uncovered += uncovered >= covered[:, column]  # covered buckets are in ascending order
            bucket = np.where(inside, covered[np.arange(n), np.minimum(number, self.most - 1)], uncovered)
            return {
                "hash": function.astype(smallest_unsigned(self.pool)),
                "bucket": bucket.astype(smallest_unsigned(self.buckets)),
            }

        return by_parts(draw, self.domain.check(values))  # type: ignore[arg-type]

    def _covered(
        self, pairs: Pairs, indices: NDArray[np.int64], function: NDArray[Any], random: Random
    ) -> NDArray[np.int64]:
        """One row per device: its covered buckets in ascending order, each once; then t as padding."""
        item = pairs.key_at(indices) * self.signs
        if self.signs == 2:
            item = item + plus_signs(pairs.value_at(indices, 0).reshape(-1), random).reshape(indices.shape)
        # Missing pairs are hashed too, so that the time does not depend on the size of a set.
        buckets = hashed(self.options["seed"], function[:, None], np.maximum(item, 0), self.buckets)
        table = np.where(indices >= 0, buckets, self.buckets)
        table.sort(axis=1)
        table[:, 1:] = np.where(table[:, 1:] == table[:, :-1], self.buckets, table[:, 1:])
        table.sort(axis=1)
        return table

    def fold(self, state: State, reports: Reports) -> State:
        counters = reports["hash"].astype(np.int64) * self.buckets + reports["bucket"]
        count_into(state["counts"].reshape(-1), counters)
        return state

    def reports(self, state: State) -> int:
        return int(state["counts"].sum())

    def hits(self, state: State) -> Floats:
        """The number of reports that hit each (key, sign)."""
        items = np.arange(self.domain.size * self.signs)
        total = np.zeros(items.size)
        step = max(1, _HASHES_AT_ONCE // items.size)
        used = np.flatnonzero(state["counts"].any(axis=1))
        for start in range(0, used.size, step):
            functions = used[start : start + step, None]
            counters = hashed(self.options["seed"], functions, items, self.buckets)
            counters += functions * self.buckets
            total += state["counts"].reshape(-1).take(counters).sum(axis=0)
        return total.reshape(-1, self.signs)

    def estimate(self, state: State) -> KeyEstimate:
        n, t = self.reports(state), self.buckets
        gap = float(self._exact()[0][-1]) - 1 / t
        keep = self.domain.dimensions
        with np.errstate(divide="ignore", invalid="ignore"):
            hits = self.hits(state) / n
            y = hits.sum(axis=1)
            chance = self.signs / t
            share = (y - chance) / gap
            likely = np.clip(y, chance, chance + gap)
            both = 2 * (likely - 1 / t) / t if keep else 0.0
            share_variance = (likely + both - likely**2) / (n * gap**2)
            x = (hits[:, 1] - hits[:, 0])[:, None] if keep else np.zeros((self.domain.size, 0))
            limit = gap * np.clip(share, 0.0, 1.0)[:, None]
            clipped = np.clip(x, -limit, limit)
            total_variance = ((likely - both)[:, None] - clipped**2) / (n * gap**2)
            covariance = clipped * (1 - likely[:, None]) / (n * gap**2)
        stderr = np.sqrt(share_variance)
        noise = (total_variance[:, :keep], covariance[:, :keep])
        return KeyEstimate(self.domain, n, share, stderr, x / gap, share_variance, *noise, scores=self._scores(n, gap))

    def _scores(self, n: int, gap: float) -> KeyScores:
        """From y = 2/t + g f and the chance (y - 1/t)/t that a report hits both signs; item sets have one sign."""
        t, keys = self.buckets, self.domain.size
        chance = self.signs / t
        both_signs = (2 / t if self.signs == 2 else 0.0) * np.array([chance - 1 / t, gap])
        y = np.array([chance, gap])  # as constant and slope in f, like the others
        presence = (y * (1 - 2 * chance) + both_signs + np.array([chance**2, 0.0])) / gap**2
        value = (y - both_signs) / gap**2
        each = np.full((keys, self.domain.dimensions), float(n))
        both = (1 - chance) / gap
        return KeyScores(tuple(presence), tuple(value), both, 1 / gap, 1 / gap, np.full(keys, float(n)), each)

    def channel(self) -> NDArray[np.float64]:
        """Rows: `domain.every_set` with signs for values. A set of more than s pairs is a mixture over its samples."""
        inside, outside = self._exact()
        sets = self.domain.every_set(self.signs)
        rows = []
        for number in range(len(sets)):
            one = sets[number : number + 1]
            item = one.keys * self.signs + (one.values[:, 0] > 0 if self.signs == 2 else 0)
            samples = [np.roll(item, -first)[: self.most] for first in range(max(len(item), 1))]
            row = []
            for function in range(self.pool):
                chances = np.zeros(self.buckets)
                for kept in samples:
                    buckets = hashed(self.options["seed"], np.array(function), kept, self.buckets)
                    covered = np.isin(np.arange(self.buckets), buckets)
                    count = int(covered.sum())
                    chances += np.where(covered, float(inside[count]), float(outside[count])) / len(samples)
                row.append(chances)
            rows.append(np.concatenate(row) / self.pool)
        return np.array(rows)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        t, gap = self.buckets, float(self._exact()[0][-1]) - 1 / self.buckets
        errors = {"point": float(np.sqrt(self.signs / t / reports) / gap)}
        if self.domain.dimensions:
            errors["mean"] = float(np.sqrt((2 / t + 0.25 * gap) / reports) / gap / 0.25)
        return errors


def thinned(pairs: Pairs, most: int, random: Random) -> NDArray[np.int64]:
    """One row per device: the indices of at most `most` of its pairs, ascending, and -1 for each pair that is missing.

    Of a larger set it takes consecutive pairs from a random one on, cyclically: every pair is equally likely to be
    kept, and estimates need nothing more. The steps are the same for every device.
    """
    sizes = np.maximum(pairs.sizes, 1)[:, None]
    of_set = (random.below_each(sizes[:, 0])[:, None] + np.arange(most)) % sizes
    end = len(pairs.keys)
    indices = np.where(np.arange(most) < pairs.sizes[:, None], pairs.starts[:-1, None] + of_set, end)
    indices.sort(axis=1)
    return np.where(indices < end, indices, -1)
