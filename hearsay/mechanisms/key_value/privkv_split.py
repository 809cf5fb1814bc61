"""PrivKV as published, in one round: half of epsilon for the key's presence, half for the value's sign.

Device    Draw one of the d keys uniformly. A holder rounds its value to a sign; a non-holder draws a fake sign with
          mean m0 (`initial`). Keep the sign with probability p2, and presence with p; p = p2 = e^(eps/2)/(e^(eps/2) +
          1).
Privacy   A holder reports its own sign with probability p p2, a non-holder the same sign with (1-p) s. s >= 1 - p2 for
          every m0, so the ratio is at most e^eps. If m0 = 0, s = 1/2, and only eps/2 + ln(2 p2) is spent.
Estimate  `unbiased`, `paper` or `virtual`: see `calibration`, which also defines Y, the share of reports that say
          present.
Variance  se(f)^2 = Y(1-Y)/(N(2p-1)^2) - f(1-f)/(dN) with N reports of the key. The intervals of means are Fieller's for
          the unbiased ratio, even if the estimate is the paper's, which is biased towards m0.
                                                                                       Ye et al. 2019 algorithms 3, 4, 7
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import WORD, Random
from hearsay.mechanisms.exact.thresholds import keep_threshold, log_ratio, probability
from hearsay.mechanisms.key_value.calibration import Coins, Seen, paper_mean, unbiased, virtual_mean
from hearsay.mechanisms.key_value.estimate import KeyEstimate
from hearsay.mechanisms.key_value.fieller import KeyScores
from hearsay.mechanisms.key_value.privkv import PRIVKV_OPTIONS
from hearsay.mechanisms.key_value.sampled_key import SampledKey, SampledOnce, Symbols


def sign_threshold(mean: float) -> int:
    """The chance out of 2^64 that a fake sign is plus."""
    return round((Fraction(mean) + 1) / 2 * WORD)


def flip_signs(symbols: Symbols, keep: int, random: Random) -> Symbols:
    """Signs 1 (minus) and 2 (plus), each kept with the given chance out of 2^64."""
    return np.where(random.bernoulli(keep, len(symbols)), symbols, 3 - symbols)


def show_presence(has_key: NDArray[np.bool_], signs: Symbols, keep: int, random: Random) -> Symbols:
    """Presence, kept with the given chance out of 2^64: the sign if it is then present, else 0."""
    return np.where(has_key == random.bernoulli(keep, len(signs)), signs, 0)


@dataclass(frozen=True)
class PrivKVSplit(SampledOnce):
    """Presence and sign are perturbed separately, with half of epsilon each."""

    ID = "privkv"
    SUMMARY = "one key of all, sampled; a coin for presence and one for the value's sign, as published"
    UNSPENT = "non-holders report fake signs of either value, which hide more than the two coins promise"
    OPTIONS = PRIVKV_OPTIONS
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 2.0, "domain": {"kind": "key-value", "keys": 3}, "options": {"budget": "split"}},
    )

    def check(self) -> None:
        if not self.domain.dimensions:
            raise SpecificationError('options.budget "split" needs a domain with values, got item sets')
        if self.options["bins"] != 2:
            raise SpecificationError(
                what="options.bins", expected='2 with options.budget "split"', got=self.options["bins"]
            )
        if self.options["virtual"] and self.options["estimator"] == "paper":
            raise SpecificationError('options.virtual goes with options.estimator "unbiased", got "paper"')

    @cached_property
    def keep(self) -> int:
        """The chance p = p2 out of 2^64. Halving epsilon is exact in binary."""
        return keep_threshold(self.epsilon / 2, 2)

    @cached_property
    def coins(self) -> Coins:
        p = float(probability(self.keep))
        return Coins(p, p, 2 * float(probability(sign_threshold(self.options["initial"]))) - 1)

    def _exact(self) -> list[list[Fraction]]:
        p = probability(self.keep)
        plus = probability(sign_threshold(self.options["initial"]))
        shown = plus * p + (1 - plus) * (1 - p)  # s: that a fake sign is plus after it is perturbed
        return [  # rows: absent, minus, plus; columns: what is reported, in the same order
            [p, (1 - p) * (1 - shown), (1 - p) * shown],
            [1 - p, p * p, p * (1 - p)],
            [1 - p, p * (1 - p), p * p],
        ]

    def symbol_channel(self) -> NDArray[np.float64]:
        return np.array([[float(chance) for chance in row] for row in self._exact()])

    @property
    def spent_epsilon(self) -> float:
        columns = list(zip(*self._exact(), strict=True))
        worst = max(max(column) / min(column) for column in columns)
        return log_ratio(worst, Fraction(1))

    def perturb_symbols(self, symbols: Symbols, random: Random) -> Symbols:
        fake = 1 + random.bernoulli(sign_threshold(self.options["initial"]), len(symbols)).astype(np.int64)
        signs = flip_signs(np.where(symbols > 0, symbols, fake), self.keep, random)
        return show_presence(symbols > 0, signs, self.keep, random)

    def estimate(self, state: State) -> KeyEstimate:
        counts = state["counts"].astype(np.float64)
        seen = Seen.of(*np.moveaxis(counts, 2, 0))
        pooled = Seen.of(*np.moveaxis(counts.sum(axis=1, keepdims=True), 2, 0))
        ratio = unbiased(seen, self.coins, pooled)
        biased: Any = (None, None)
        if self.options["estimator"] == "paper":
            biased = paper_mean(seen, self.coins)
        elif self.options["virtual"]:
            biased = virtual_mean(seen, self.coins, self.options["virtual"])
        estimate = key_estimate(self, state, ratio, pooled.reports[:, 0], biased)
        return replace(estimate, scores=self._scores(pooled, seen))

    def _scores(self, pooled: Seen, seen: Seen) -> KeyScores:
        p, gain, fake = self.coins.presence, self.coins.gain, float(self.coins.fake)
        phi = (np.array([0.0, 1.0, 1.0]) - 1 + p) / (2 * p - 1)
        sigma = (np.array([0.0, -1.0, 1.0]) / gain - (1 - p) * (1 - phi) * fake) / p
        known = {"certain": 1 / self.domain.size, "apart": True}
        return KeyScores.of(self.symbol_channel(), phi, sigma, pooled.reports[:, 0], seen.reports, **known)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        p, gain = self.coins.presence, self.coins.gain
        each = self.predicted_keys(reports)
        present = 1 - p + 0.25 * (2 * p - 1)
        return {
            "point": float(np.sqrt(p * (1 - p) / each) / (2 * p - 1)),
            "mean": float(np.sqrt(present * self.dimensions / each) / (gain * p * 0.25)),
        }


def key_estimate(mechanism: SampledKey, state: State, ratio: Any, per_key: Any, biased: Any) -> KeyEstimate:
    """The estimate from the ratio of every key and dimension.

    Shares are of these n = d N devices, not of a population, so the sampling variance f(1-f)/n is subtracted.
    """
    share, variance = ratio.share[:, 0], ratio.share_variance[:, 0]
    clipped = np.clip(share, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        corrected = variance - clipped * (1 - clipped) / (mechanism.domain.size * per_key)
    return KeyEstimate(
        mechanism.domain,
        mechanism.reports(state),
        share,
        np.sqrt(np.maximum(corrected, 0.0)),
        ratio.total,
        variance,
        ratio.total_variance,
        ratio.covariance,
        biased_means=biased[0],
        biased_stderr=biased[1],
    )
