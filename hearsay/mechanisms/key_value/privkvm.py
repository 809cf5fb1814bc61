"""PrivKVM: c rounds, in which non-holders report fake signs with the mean of the round before (Ye et al. 2019, alg. 5).

Device    Round 1: as `privkv_split`, with eps/2 for presence and eps/(2c) for the sign. Later rounds: only a sign with
          eps/(2c), of a holder its own, of a non-holder a fake one with the published mean m0. With
          `presence = "literal"` also presence, by a fair coin, since it has no budget; this wastes half of the reports.
Privacy   At most eps over all rounds, for any published means, even malicious ones; see `rounds`. Less where the fake
          signs of round 1 have both values, as in `privkv_split`.
Estimate  f from round 1. Round r > 1 estimates f m by X_r/c2 - (1-f) m0_r, round 1 as in `calibration`, which defines X
          and c2; they are weighted by inverse variance. With `estimator = "paper"` only X_c/c2 of the last round is
          used; its bias is multiplied by theta in round 1, and by 1 - f in each later round (theorem 5.3).
Variance  By linear propagation of X_r and of f, which all rounds share; means by Fieller. For a fixed epsilon, more
          rounds have less information: it is proportional to c tanh^2(eps/4c).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.randomness import WORD, Random
from hearsay.mechanisms.exact.thresholds import log_ratio, probability
from hearsay.mechanisms.key_value.calibration import Coins, Seen, paper_mean, unbiased
from hearsay.mechanisms.key_value.estimate import KeyEstimate
from hearsay.mechanisms.key_value.fieller import KeyScores, Ratio
from hearsay.mechanisms.key_value.privkv_split import flip_signs, key_estimate, show_presence, sign_threshold
from hearsay.mechanisms.key_value.rounds import (
    SCALE,
    InRounds,
    at_most,
    draw_plus,
    hand_out,
    published,
    read,
    truth_threshold,
)
from hearsay.mechanisms.key_value.sampled_key import (
    SampledKey,
    Symbols,
    fold_keyed,
    keyed_channel,
    keyed_layout,
    keyed_reports,
    sample,
    true_symbols,
)
from hearsay.mechanisms.layout import Layout, Reports, by_parts
from hearsay.mechanisms.options import Option, choice, integer
from hearsay.mechanisms.options import number as number_option

SHARED_OPTIONS: tuple[Option, ...] = (
    choice("estimator", "unbiased", ("unbiased", "paper"), "all rounds without bias, or the last one as published"),
    choice("disclose", "draws", ("draws", "means"), "devices get signs drawn for them, or the means to draw from"),
    choice(
        "presence", "none", ("none", "literal"), "after round 1 only signs, or presence by a fair coin as published"
    ),
    number_option("initial", 0.0, -1.0, 1.0, "mean of the values that non-holders make up in round 1"),
)


@dataclass(frozen=True)
class PrivKVM(SampledKey, InRounds):
    """A first round with presence and sign, then rounds with signs only."""

    ID = "privkvm"
    SUMMARY = "PrivKV in rounds: non-holders report the mean of the round before; frequencies and means"
    UNSPENT = "non-holders report fake signs of either value, which hide more than the two coins promise"
    OPTIONS = (integer("rounds", 3, 1, 64, "rounds, which share half of epsilon"), *SHARED_OPTIONS)
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 2.0, "domain": {"kind": "key-value", "keys": 3}, "options": {"rounds": 2}},
    )

    def check(self) -> None:
        if not self.domain.dimensions:
            raise SpecificationError(f"mechanism {self.ID} needs a domain with values, got item sets")

    @property
    def rounds(self) -> int:
        return int(self.options["rounds"])

    @property
    def one_round_each(self) -> bool:
        return False

    @cached_property
    def presence_keep(self) -> int:
        """The chance p out of 2^64 that presence is kept in round 1."""
        return truth_threshold(self.presence_budget())

    def presence_budget(self) -> float:
        """The epsilon of presence."""
        return self.epsilon / 2

    def sign_budget(self, number: int) -> float:
        """The epsilon of the sign in a round."""
        return at_most(Fraction(self.epsilon) / (2 * self.rounds))

    def sign_keep(self, number: int) -> int:
        """The chance p2 out of 2^64 that a sign is kept in a round."""
        return truth_threshold(self.sign_budget(number))

    @property
    def spent_epsilon(self) -> float:
        """The epsilon of a device that reports in every round, for the worst signs that could be published.

        In round 1 the mean of fake signs is known, which limits the ratio of presence and sign together; each later
        round is a randomised response of its own.
        """
        keep, first = probability(self.presence_keep), probability(self.sign_keep(1))
        plus = probability(sign_threshold(self.options["initial"]))
        lowest = min(plus * first + (1 - plus) * (1 - first), plus * (1 - first) + (1 - plus) * first)
        worst = max(keep * first / ((1 - keep) * lowest), keep / (1 - keep), first / (1 - first))
        for number in range(2, self.rounds + 1):
            truth = probability(self.sign_keep(number))
            worst *= truth / (1 - truth)
        return log_ratio(worst, Fraction(1))

    def shows_presence(self, number: int) -> bool:
        """Whether reports of a round have three symbols: absent, minus and plus."""
        return number == 1 or bool(self.options["presence"] == "literal")

    def round_layout(self, number: int) -> Layout:
        return keyed_layout(self.domain.size, self.dimensions, 3 if self.shows_presence(number) else 2)

    @cached_property
    def layout(self) -> Layout:
        return self.round_layout(self.number)

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {self.array(r): self._shape(r) for r in range(1, self.rounds + 1)}

    def array(self, number: int) -> str:
        """The name of a round's array in the state."""
        return f"r{number}/{'counts' if self.shows_presence(number) else 'signs'}"

    def _shape(self, number: int) -> tuple[int, ...]:
        return (self.domain.size, self.dimensions, 3 if self.shows_presence(number) else 2)

    def fold(self, state: State, reports: Reports) -> State:
        fold_keyed(state[self.array(self.number)], reports)
        return state

    def reports(self, state: State) -> int:
        return sum(int(state[name].sum()) for name in self.arrays)

    def perturb(self, values: Any, random: Random) -> Reports:
        given = read(self.history[-1], self.domain.size * self.dimensions) if self.history else None

        def draw(pairs: Any) -> Reports:
            key, dimension = sample(self.domain.size, self.dimensions, len(pairs), random)
            symbols = true_symbols(pairs, key, dimension, 2, random)
            if given is None:
                fake = random.bernoulli(sign_threshold(self.options["initial"]), len(symbols))
            else:
                fake = draw_plus(given, key.astype(np.int64) * self.dimensions + dimension, random)
            signs = flip_signs(np.where(symbols > 0, symbols, 1 + fake), self.sign_keep(self.number), random)
            return keyed_reports(self.layout, key, dimension, self._sent(symbols > 0, signs, random))

        return by_parts(draw, self.domain.check(values))  # type: ignore[arg-type]

    def _sent(self, has_key: NDArray[np.bool_], signs: Symbols, random: Random) -> Symbols:
        if self.number == 1:
            return show_presence(has_key, signs, self.presence_keep, random)
        if self.shows_presence(self.number):
            return show_presence(has_key, signs, WORD // 2, random)
        return signs - 1

    def channel(self) -> NDArray[np.float64]:
        """The channel of this round, with the published means of each key."""
        return keyed_channel(self.domain, 2, self.round_channel(self.number, self.fakes(self.number)))

    def round_channel(self, number: int, fake: Floats | float) -> NDArray[np.float64]:
        """P(symbol | absent, -, +) in a round, one table for each of the means `fake` of the fake signs."""
        truth = float(probability(self.sign_keep(number)))
        absent = (1 + np.asarray(fake)) / 2
        plus = np.stack([absent, np.zeros_like(absent), np.ones_like(absent)], axis=-1)
        sent_plus = plus * truth + (1 - plus) * (1 - truth)
        signs = np.stack([1 - sent_plus, sent_plus], axis=-1)
        if not self.shows_presence(number):
            return signs
        keep = float(probability(self.presence_keep)) if number == 1 else 0.5
        seen = np.broadcast_to(np.array([[1 - keep], [keep], [keep]]), (*signs.shape[:-1], 1))
        return np.concatenate([1 - seen, seen * signs], axis=-1)

    def fakes(self, number: int) -> Floats:
        """The mean m0 of the fake signs in a round: keys x dimensions."""
        shape = (self.domain.size, self.dimensions)
        if number == 1:
            return np.full(shape, 2 * float(probability(sign_threshold(self.options["initial"]))) - 1)
        return read(self.history[number - 2], shape[0] * shape[1]).reshape(shape) / SCALE

    def _coins(self, number: int) -> Coins:
        keep = float(probability(self.presence_keep)) if number == 1 else 0.5
        return Coins(keep, float(probability(self.sign_keep(number))), self.fakes(number))

    def seen(self, state: State, number: int) -> Seen:
        """Y and X of a round; reports without presence count as present."""
        counts = state[self.array(number)].astype(np.float64)
        absent = counts[:, :, 0] if self.shows_presence(number) else np.zeros(counts.shape[:2])
        return Seen.of(absent, counts[:, :, -2], counts[:, :, -1])

    def estimate(self, state: State) -> KeyEstimate:
        first = state[self.array(1)].astype(np.float64)
        pooled = Seen.of(*np.moveaxis(first.sum(axis=1, keepdims=True), 2, 0))
        start = unbiased(self.seen(state, 1), self._coins(1), pooled)
        answered = [r for r in range(2, self.number + 1) if state[self.array(r)].any()]
        biased: Any = (None, None)
        if self.options["estimator"] == "paper":
            last = answered[-1] if answered else 1
            biased = paper_mean(self.seen(state, last), self._coins(last))
        ratio = self._combined(state, start, answered)
        made = key_estimate(self, state, ratio, pooled.reports[:, 0], biased)
        # Shares are of the devices of round 1. Means of few reports have Fieller's interval with Student's quantile.
        return replace(made, reports=int(first.sum()), share_scores=self._share_scores(pooled, self.seen(state, 1)))

    def _share_scores(self, pooled: Seen, seen: Seen) -> KeyScores:
        """The scores of presence in round 1."""
        keep = float(probability(self.presence_keep))
        presence = np.array([[keep, 1 - keep], [1 - keep, keep], [1 - keep, keep]])
        phi = (np.array([0.0, 1.0]) - 1 + keep) / (2 * keep - 1)
        known = {"certain": 1 / self.domain.size, "apart": True}
        return KeyScores.of(presence, phi, np.zeros(2), pooled.reports[:, 0], seen.reports, **known)

    def _combined(self, state: State, start: Ratio, rounds: list[int]) -> Ratio:
        """The estimates of f m of all rounds, weighted by inverse variance.

        Round r estimates s_r = a_r X_r + b_r f + constant. Its own noise v_r = a_r^2 Var X_r determines its weight w_r.
        All rounds share the noise of f. With B = sum of w_r b_r, and D = w_1 Cov(a_1 X_1, f)/Var f, since f and X_1
        come from the same reports: Var s = sum of w_r^2 v_r + (B^2 + 2 B D) Var f, and Cov(f, s) = (B + D) Var f.
        """
        coins = self._coins(1)
        b_1 = (1 - coins.presence) * np.asarray(coins.fake) / coins.presence
        v_1 = start.total_variance - 2 * b_1 * start.covariance + b_1**2 * start.share_variance
        slope = (start.covariance - b_1 * start.share_variance) / start.share_variance  # Cov(a_1 X_1, f)/Var f
        parts = [(start.total, v_1, b_1)]
        for number in rounds:
            seen, coins = self.seen(state, number), self._coins(number)
            fake, present = np.asarray(coins.fake), 1.0 if not self.shows_presence(number) else 0.5
            scale = 1 / (coins.gain * present)
            with np.errstate(divide="ignore", invalid="ignore"):
                likely = np.clip(seen.balance, -coins.gain * present, coins.gain * present)
                noise = scale**2 * (present - likely**2) / seen.reports
            parts.append((seen.balance * scale - (1 - start.share) * fake, noise, fake))
        with np.errstate(divide="ignore", invalid="ignore"):
            inverses = [np.where(np.isfinite(v) & np.isfinite(s), 1 / v, 0.0) for s, v, _ in parts]
            sum_of_inverses = np.sum(inverses, axis=0)
            weights = [inverse / sum_of_inverses for inverse in inverses]
        weighted = list(zip(weights, parts, strict=True))
        total = np.sum([np.where(w > 0, w * np.nan_to_num(s), 0.0) for w, (s, _, _) in weighted], axis=0)
        own_noise = np.sum([np.where(w > 0, w**2 * v, 0.0) for w, (_, v, _) in weighted], axis=0)
        B = np.sum([w * b for w, (_, _, b) in weighted], axis=0)
        D = weights[0] * slope
        f_variance = start.share_variance
        return start._replace(
            total=np.where(sum_of_inverses > 0, total, np.nan),
            total_variance=own_noise + (B**2 + 2 * B * D) * f_variance,
            covariance=(B + D) * f_variance,
        )

    def hand_out(self, parameters: Mapping[str, Any], random: Random) -> dict[str, Any]:
        return hand_out(parameters, str(self.options["disclose"]), random)

    def next_round(self, state: State) -> dict[str, Any] | None:
        if self.number >= self.rounds:
            return None
        return self.announcement(state)

    def announcement(self, state: State) -> dict[str, Any]:
        """The parameters of the next round: the estimated means, for fake signs."""
        return published(self.estimated_means(state))

    def estimated_means(self, state: State) -> Floats:
        """The means by the survey's estimator; NaN where they are unknown."""
        estimate = self.estimate(state)
        return estimate.biased_means if estimate.biased_means is not None else estimate.ratio.mean()

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """The errors with so many reports in every round."""
        keep = float(probability(self.presence_keep))
        each = self.predicted_keys(reports)
        information = sum(
            (2 * float(probability(self.sign_keep(r))) - 1) ** 2 * (keep**2 if r == 1 else 1.0)
            for r in range(1, self.rounds + 1)
        )
        return {
            "point": float(np.sqrt(keep * (1 - keep) / each) / (2 * keep - 1)),
            "mean": float(np.sqrt(self.dimensions / (each * information)) / 0.25),
        }
