"""PCKV-GRR: pad and sample one pair, then randomised response over all keys, in one round.

Device    Sample one pair of the set padded to l, and round its value to a sign; of several value dimensions, draw
          one and report it too. There are D = d + l keys, dummies included. Report the sampled key with probability
          a and each other key with b = (1-a)/(D-1). Keep the sign of the sampled key with probability p; another key
          has a fair sign.
Privacy   With e = exp(eps), a = (l(e-1)+2)/(l(e-1)+2D) and p = (l(e-1)+1)/(l(e-1)+2) spend at most eps; tests enumerate
          all sets. Item sets have no sign, and a = (l(e-1)+1)/(l(e-1)+D).
Estimate  f = l (y-b)/(a-b), f m = l x/(a(2p-1)), unbiased if no set is longer than l; y and x are defined in `padding`.
Variance  n Var f = A^2 y(1-y) with A = l/(a-b); that of means is in `padding`.
                                                                                 Gu et al. 2020, amplified by sampling

Better than `privkv` if sets are small compared with the number of keys d. The mean of a key has the smaller error here
if l < d e/(e+1).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.exact.randomness import WORD, Random
from hearsay.mechanisms.exact.thresholds import down, exponential, log_ratio, probability
from hearsay.mechanisms.key_value.padding import PADDING, Padded, padded_signs, sample_padded
from hearsay.mechanisms.key_value.sampled_key import KeyedCounts, keyed_reports
from hearsay.mechanisms.layout import Reports, by_parts


@dataclass(frozen=True)
class PckvGRR(KeyedCounts, Padded):
    """A report names one key."""

    ID = "pckv-grr"
    SUMMARY = "one pair of the padded set, its key by randomised response; best where sets are small"
    OPTIONS = PADDING
    EXCLUSIVE = True
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.0, "domain": {"kind": "key-value", "keys": 4}, "options": {"padding": 2}},
        {"epsilon": 1.0, "domain": {"kind": "key-value", "keys": 4, "values": False}, "options": {"padding": 3}},
    )

    @cached_property
    def truth(self) -> int:
        """The chance t out of 2^64 that the sampled key is sent; otherwise a key is drawn uniformly from all D."""
        gain = self.length * (exponential(self.epsilon) - 1)
        kept = (gain + self.signs) / (gain + self.signs * self.all_keys)
        other = (1 - kept) / (self.all_keys - 1)
        return min(down(kept - other), WORD - 1)

    @cached_property
    def sign_keep(self) -> int:
        """The chance s out of 2^64 to keep the sign of the sampled key if it is sent on purpose.

        With probability t (`truth`) the sampled key is sent; otherwise a key is drawn uniformly, each with probability
        u = (1-t)/D in all, and gets a fair sign. So the sampled key with its true sign has probability
        a p = t s + u/2, and another key with a given sign has u/2. Privacy needs
        (1/l)(t s + u/2) + (1 - 1/l) u/2 <= e u/2, which is solved for s.
        """
        if self.signs == 1:
            return WORD
        t = probability(self.truth)
        u = (1 - t) / self.all_keys
        most = (self.length * (exponential(self.epsilon) - 1)) * u / 2 / t
        return min(down(most), WORD)

    def _exact(self) -> tuple[Fraction, Fraction, Fraction]:
        """a, b, and the probability a p of the sampled key with its true sign."""
        t = probability(self.truth)
        u = (1 - t) / self.all_keys
        return t + u, u, t * probability(self.sign_keep) + u / self.signs

    def chances(self) -> tuple[float, float, float]:
        a, b, true_sign = self._exact()
        return float(a), float(b), float(true_sign / a)

    @property
    def spent_epsilon(self) -> float:
        """The privacy loss of the worst two sets: only one of them has the reported pair."""
        _, b, true_sign = self._exact()
        other = b / self.signs
        return log_ratio((true_sign + (self.length - 1) * other) / self.length, other)

    @property
    def counted(self) -> tuple[int, int, int]:
        return self.all_keys, self.dimensions, self.signs

    def perturb(self, values: Any, random: Random) -> Reports:
        def draw(pairs: Any) -> Reports:
            n = len(pairs)
            dimension: Any = random.narrow_below(self.dimensions, n) if self.dimensions > 1 else 0
            key, pair = sample_padded(pairs, self.length, self.domain.size, random)
            kept = random.bernoulli(self.truth, n)
            key = np.where(kept, key, random.narrow_below(self.all_keys, n))
            if self.signs == 1:
                return keyed_reports(self.layout, key, dimension, np.zeros(n))
            plus = padded_signs(pairs, pair, dimension, random)
            plus = np.where(kept, plus == random.bernoulli(self.sign_keep, n), random.bernoulli(WORD // 2, n))
            return keyed_reports(self.layout, key, dimension, plus)

        return by_parts(draw, self.domain.check(values))  # type: ignore[arg-type]

    def named(self, state: State) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        counts = state["counts"]
        return counts[: self.domain.size], counts.sum(axis=(0, 2))

    def set_channel(self, sampled: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(report), from the probability of every (key, sign) to be the sampled pair."""
        a, b, true_sign = (float(part) for part in self._exact())
        if self.signs == 1:
            return b + sampled * (a - b)
        wrong = a - true_sign
        by_key = sampled.reshape(-1, 2)
        chance = by_key.sum(axis=1, keepdims=True)
        return ((1 - chance) * b / 2 + by_key * true_sign + by_key[:, ::-1] * wrong).reshape(-1)
