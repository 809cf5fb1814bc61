"""PrivKVM: c rounds, in which non-holders say what the round before found (P algorithm 5).

Device    Round 1 as `privkv` with two coins, eps/2 for presence and eps/(2c) for the sign. From round 2 on only a sign
          with eps/(2c): a holder's own, a non-holder's drawn with the published mean m0.
          (`presence = "literal"`: also presence, without budget a fair coin that wastes half of the reports.)
Privacy   Exactly eps over all rounds, for any published means, even hostile ones; see `rounds`.
Estimate  f from round 1. f m of round r: X_r/c2 - (1-f) m0_r, of round 1 as in `calibration`; combined by inverse
          variance. `estimator = "paper"`: the last round's X_c/c2 alone, whose bias shrinks by theta in round 1 and by
          1 - f a round after it (P theorem 5.3).
Variance  By linear propagation of X_r and of f, which all rounds share; means by Fieller. With epsilon fixed more
          rounds have less information, c tanh^2(eps/4c).
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
    """Rounds of signs after a first round with presence."""

    ID = "privkvm"
    SUMMARY = "PrivKV in rounds: non-holders say what the round before found; frequencies and means"
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
        """Chance out of 2^64 that presence is told truthfully in round 1."""
        return truth_threshold(self.presence_budget())

    def presence_budget(self) -> float:
        """Epsilon of presence."""
        return self.epsilon / 2

    def sign_budget(self, number: int) -> float:
        """Epsilon of the sign in a round."""
        return at_most(Fraction(self.epsilon) / (2 * self.rounds))

    def sign_keep(self, number: int) -> int:
        """Chance out of 2^64 that a sign is told truthfully in a round."""
        return truth_threshold(self.sign_budget(number))

    @property
    def spent_epsilon(self) -> float:
        """Of a device that answers every round, with the worst signs that may be published.

        Presence and the first sign multiply where the first fake is known; the rounds after it are plain coins.
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
        """Whether reports of a round have three symbols."""
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
        """The state's array of a round."""
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
        """Of this round, with what was published for each key."""
        return keyed_channel(self.domain, 2, self.round_channel(self.number, self.fakes(self.number)))

    def round_channel(self, number: int, fake: Floats | float) -> NDArray[np.float64]:
        """P(sent | absent, -, +) in a round where non-holders' signs have the means `fake`: a table for each."""
        truth = float(probability(self.sign_keep(number)))
        absent = (1 + np.asarray(fake)) / 2
        plus = np.stack([absent, np.zeros_like(absent), np.ones_like(absent)], axis=-1)
        says = plus * truth + (1 - plus) * (1 - truth)
        signs = np.stack([1 - says, says], axis=-1)
        if not self.shows_presence(number):
            return signs
        keep = float(probability(self.presence_keep)) if number == 1 else 0.5
        seen = np.broadcast_to(np.array([[1 - keep], [keep], [keep]]), (*signs.shape[:-1], 1))
        return np.concatenate([1 - seen, seen * signs], axis=-1)

    def fakes(self, number: int) -> Floats:
        """The mean of the non-holders' signs in a round: keys x dimensions."""
        shape = (self.domain.size, self.dimensions)
        if number == 1:
            return np.full(shape, 2 * float(probability(sign_threshold(self.options["initial"]))) - 1)
        return read(self.history[number - 2], shape[0] * shape[1]).reshape(shape) / SCALE

    def _coins(self, number: int) -> Coins:
        keep = float(probability(self.presence_keep)) if number == 1 else 0.5
        return Coins(keep, float(probability(self.sign_keep(number))), self.fakes(number))

    def seen(self, state: State, number: int) -> Seen:
        """The reports of a round; signs alone count as present."""
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
        # Shares are of the devices of round 1; means of few reports have no better interval than a widened Fieller's.
        return replace(made, reports=int(first.sum()), share_scores=self._share_scores(pooled, self.seen(state, 1)))

    def _share_scores(self, pooled: Seen, seen: Seen) -> KeyScores:
        """What presence alone says in round 1."""
        keep = float(probability(self.presence_keep))
        presence = np.array([[keep, 1 - keep], [1 - keep, keep], [1 - keep, keep]])
        phi = (np.array([0.0, 1.0]) - 1 + keep) / (2 * keep - 1)
        known = {"certain": 1 / self.domain.size, "apart": True}
        return KeyScores.of(presence, phi, np.zeros(2), pooled.reports[:, 0], seen.reports, **known)

    def _combined(self, state: State, start: Ratio, rounds: list[int]) -> Ratio:
        """Round r says s_r = a X_r + m0 f + const; its own noise a^2 Var X weighs it, and f's part they all share."""
        coins = self._coins(1)
        of_f = (1 - coins.presence) * np.asarray(coins.fake) / coins.presence
        own = start.total_variance - 2 * of_f * start.covariance + of_f**2 * start.share_variance
        slope = (start.covariance - of_f * start.share_variance) / start.share_variance  # of round 1's own noise on f
        parts = [(start.total, own, of_f)]
        for number in rounds:
            seen, here = self.seen(state, number), self._coins(number)
            fake, present = np.asarray(here.fake), 1.0 if not self.shows_presence(number) else 0.5
            scale = 1 / (here.gain * present)
            with np.errstate(divide="ignore", invalid="ignore"):
                likely = np.clip(seen.balance, -here.gain * present, here.gain * present)
                noise = scale**2 * (present - likely**2) / seen.reports
            parts.append((seen.balance * scale - (1 - start.share) * fake, noise, fake))
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = [np.where(np.isfinite(noise) & np.isfinite(total), 1 / noise, 0.0) for total, noise, _ in parts]
            every = np.sum(weights, axis=0)
            shares = [weight / every for weight in weights]
        weighed = list(zip(shares, parts, strict=True))
        total = np.sum([np.where(w > 0, w * np.nan_to_num(t), 0.0) for w, (t, _, _) in weighed], axis=0)
        own_noise = np.sum([np.where(w > 0, w**2 * v, 0.0) for w, (_, v, _) in weighed], axis=0)
        along = np.sum([w * b for w, (_, _, b) in weighed], axis=0)
        direct = shares[0] * slope
        f_variance = start.share_variance
        return start._replace(
            total=np.where(every > 0, total, np.nan),
            total_variance=own_noise + (along**2 + 2 * along * direct) * f_variance,
            covariance=(along + direct) * f_variance,
        )

    def hand_out(self, parameters: Mapping[str, Any], random: Random) -> dict[str, Any]:
        return hand_out(parameters, str(self.options["disclose"]), random)

    def next_round(self, state: State) -> dict[str, Any] | None:
        if self.number >= self.rounds:
            return None
        return self.announcement(state)

    def announcement(self, state: State) -> dict[str, Any]:
        """What non-holders say next: the means found so far."""
        return published(self.estimated_means(state))

    def estimated_means(self, state: State) -> Floats:
        """By the estimator that the survey names; not a number where nothing is known."""
        estimate = self.estimate(state)
        return estimate.biased_means if estimate.biased_means is not None else estimate.ratio.mean()

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """With so many reports in every round."""
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
