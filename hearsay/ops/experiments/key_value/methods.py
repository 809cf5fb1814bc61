"""Every method of the experiments under one signature: (setting, generator) -> shares and means of all keys."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import build
from hearsay.mechanisms.key_value.calibration import Seen, share, theta, virtual_factor
from hearsay.mechanisms.key_value.estimate import KeyEstimate
from hearsay.mechanisms.key_value.rounds import published
from hearsay.mechanisms.key_value.simulated.laws import PairLaw
from hearsay.ops.experiments.key_value.laws import draw_padded, draw_round, draw_sampled, run_rounds
from hearsay.ops.experiments.key_value.rivals import MeanEst, gain, harmony_mean, sampled_oracle

Floats = NDArray[np.float64]
Generator = np.random.Generator
VIRTUAL_ROUNDS = 6  # the real one included


class KeyEstimates(NamedTuple):
    """Answers for every key; one part may be missing."""

    share: Floats | None
    mean: Floats | None


@dataclass(frozen=True)
class Setting:
    """Who reports, and with how much epsilon."""

    data: str
    keys: int
    reports: int
    epsilon: float
    rounds: int = 1  # of the methods that are asked for no number of their own

    @property
    def law(self) -> PairLaw:
        return PairLaw.named(self.data, self.keys)

    @property
    def padding(self) -> int:
        """A length that hardly any set exceeds: the mean size and 3.1 deviations (43 on GAUSS, 24 on PLAW)."""
        share = self.law.share
        return ceil(share.sum() + 3.1 * sqrt((share * (1 - share)).sum()))

    def build(self, mechanism: str, **options: Any) -> Any:
        """The real mechanism of this setting."""
        return _built(self.keys, self.epsilon, mechanism, tuple(sorted(options.items())))


@lru_cache(maxsize=256)
def _built(keys: int, epsilon: float, mechanism: str, options: tuple[tuple[str, Any], ...]) -> Any:
    domain = {"kind": "key-value", "keys": keys}
    return build({"mechanism": mechanism, "epsilon": epsilon, "domain": domain, "options": dict(options)})


Method = Callable[[Setting, Generator], KeyEstimates]


def answers(estimate: KeyEstimate) -> KeyEstimates:
    """Means cut to -1..1, and 0 where no holder was found."""
    means = np.clip(np.nan_to_num(estimate.means.value[:, 0]), -1.0, 1.0)
    return KeyEstimates(estimate.share, np.where(estimate.share > 0, means, 0.0))


def privkv(**options: Any) -> Method:
    """One round, from its exact law."""

    def run(setting: Setting, generator: Generator) -> KeyEstimates:
        mechanism = setting.build("privkv", **options)
        return answers(mechanism.estimate(draw_sampled(mechanism, setting.law, setting.reports, generator)))

    return run


def pckv_grr(setting: Setting, generator: Generator) -> KeyEstimates:
    """Padded sets."""
    mechanism = setting.build("pckv-grr", padding=setting.padding)
    return answers(mechanism.estimate(draw_padded(mechanism, setting.law, setting.reports, generator)))


def privkvm(rounds: int | None = None, **options: Any) -> Method:
    """All rounds, every device in each."""

    def run(setting: Setting, generator: Generator) -> KeyEstimates:
        mechanism = setting.build("privkvm", rounds=rounds or setting.rounds, **options)
        last, state = run_rounds(mechanism, setting.law, setting.reports, generator)
        return answers(last.estimate(state))

    return run


def privkvm_harmony(setting: Setting, generator: Generator) -> KeyEstimates:
    """PrivKVM with Harmony's scaling in place of counting and cutting."""
    mechanism = setting.build("privkvm", rounds=setting.rounds, estimator="paper")
    state, history = mechanism.empty(), list[dict[str, Any]]()
    while True:
        here = mechanism.in_round(history)
        draw_round(here, state, setting.law, setting.reports, generator)
        seen = here.seen(state, here.number)
        one_value = Seen(*(part[:, 0] for part in seen))
        mean = np.clip(harmony_mean(one_value, gain(here.sign_budget(here.number)), setting.reports), -1.0, 1.0)
        if here.number == setting.rounds:
            return KeyEstimates(here.estimate(state).share, mean)
        history.append(published(mean))


def privkvm_mean_est(setting: Setting, generator: Generator) -> KeyEstimates:
    """All keys at once with eps/(2c) a round; presence as in PrivKVM's round 1."""
    law = setting.law
    rival = MeanEst(setting.keys, setting.epsilon / (2 * setting.rounds))
    keep = np.exp(setting.epsilon / 2) / (1 + np.exp(setting.epsilon / 2))
    fake = np.zeros(setting.keys)
    part, present = theta(law.share, keep), law.share * keep + (1 - law.share) * (1 - keep)
    for _ in range(setting.rounds):
        true = (1 - part) * law.mean + part * fake
        fake = np.clip(rival.draw_means(true, setting.reports * present, generator), -1.0, 1.0)
        part, present = 1 - law.share, np.ones(setting.keys)
    return KeyEstimates(None, fake)


def virtual_harmony(setting: Setting, generator: Generator) -> KeyEstimates:
    """One real round with Harmony's scaling, then virtual ones as in PrivKVM."""
    return _virtual(setting, generator, lambda seen, coins: harmony_mean(seen, coins.gain, setting.reports))


def virtual_mean_est(setting: Setting, generator: Generator) -> KeyEstimates:
    """One real round with MeanEst's vectors for values, then virtual ones as in PrivKVM."""
    rival = MeanEst(setting.keys, setting.epsilon / 2)

    def first(seen: Seen, coins: Any) -> Floats:
        part = theta(setting.law.share, coins.presence)
        true = setting.law.mean + part * (coins.fake - setting.law.mean)
        return rival.draw_means(true, setting.reports * seen.present, generator)

    return _virtual(setting, generator, first)


def _virtual(setting: Setting, generator: Generator, first: Callable[[Seen, Any], Floats]) -> KeyEstimates:
    """Presence as in PrivKV; `first` gives the means of the real round, from which VIRTUAL_ROUNDS are predicted."""
    mechanism = setting.build("privkv", budget="split", initial=1.0)
    state, coins = draw_sampled(mechanism, setting.law, setting.reports, generator), mechanism.coins
    seen = Seen.of(*state["counts"][:, 0].T.astype(np.float64))
    shares, _ = share(seen, coins)
    mean = coins.fake + (first(seen, coins) - coins.fake) * virtual_factor(
        theta(shares, coins.presence), VIRTUAL_ROUNDS
    )
    return KeyEstimates(shares, np.where(shares > 0, np.clip(mean, -1.0, 1.0), 0.0))


def oracle(name: str) -> Method:
    """Shares alone."""

    def run(setting: Setting, generator: Generator) -> KeyEstimates:
        return KeyEstimates(sampled_oracle(name, setting.law, setting.reports, setting.epsilon, generator), None)

    return run


def krr_and_harmony(setting: Setting, generator: Generator) -> KeyEstimates:
    """Half of epsilon for a key by k-RR, half for a value by Harmony, without their connection: a key that was swapped
    keeps the value of the key it was."""
    keys, law = setting.keys, setting.law
    e = np.exp(setting.epsilon / 2)
    stay = (e - 1) / (e + keys)
    coin = (e - 1) / (e + 1)
    sampled = law.share / keys
    value = stay * sampled * law.mean + (1 - stay) / (keys + 1) * (sampled * law.mean).sum()
    named = stay * sampled + (1 - stay) / (keys + 1)
    counts = generator.binomial(setting.reports, named)
    with np.errstate(divide="ignore", invalid="ignore"):
        signs = generator.binomial(counts, (1 + coin * np.clip(value / named, -1, 1)) / 2)
        mean = np.nan_to_num((2 * signs - counts) / (coin * counts))
    share = keys * (counts / setting.reports - (1 - stay) / (keys + 1)) / stay
    return KeyEstimates(share, np.clip(mean, -1.0, 1.0))


def mean_error(estimate: KeyEstimates, law: PairLaw) -> float:
    """Mean squared error of the means."""
    assert estimate.mean is not None
    return float(((estimate.mean - law.mean) ** 2).mean())


def relative_error(estimate: KeyEstimates, law: PairLaw, top: float | None = None) -> float:
    """Median relative error of the shares, of all keys or of the most frequent part."""
    assert estimate.share is not None
    errors = np.abs(estimate.share - law.share) / law.share
    if top is not None:
        errors = errors[np.argsort(-law.share)[: max(1, round(top * len(errors)))]]
    return float(np.median(errors))
