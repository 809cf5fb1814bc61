"""Several numbers per pair: a report about one of them, chosen at random, against one about all of them (MeanEst).

P has several value dimensions in its text (V.B), where each is answered with the whole budget; here they share it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.thresholds import keep_threshold, probability
from hearsay.ops.experiments.key_value.curves import Spot
from hearsay.ops.experiments.key_value.laws import draw_padded, draw_sampled
from hearsay.ops.experiments.key_value.methods import Setting
from hearsay.ops.experiments.key_value.rivals import MeanEst
from hearsay.ops.experiments.output import Result
from hearsay.ops.terminal.present import counted

Floats = NDArray[np.float64]
DIMENSIONS = (1, 2, 3)


def several_values(runs: int, generator: np.random.Generator) -> Result:
    """Mean squared error of means by the number of value dimensions, all with the same means."""
    counted_values = [counted(count, "value") for count in DIMENSIONS]
    result = Result(
        "several-values",
        f"Mean squared error of means with several numbers per pair (gauss, n = 100,000, epsilon 2); {runs} runs",
        ["method", *counted_values],
        [],
        "joint, split and pckv-grr report on one number, chosen at random; MeanEst on all of them at once, with "
        "presence as in split. Means are clipped to -1..1",
    )
    setting = Setting("gauss", 100, 10**5, 2.0)
    methods: dict[str, Callable[[Setting, int, np.random.Generator], Floats]] = {
        "split": partial(_sampled, budget="split"),
        "split with MeanEst": _mean_est,
        "joint": _sampled,
        "pckv-grr": _padded,
    }
    last: dict[str, Spot] = {}
    for name, method in methods.items():
        spots = [
            Spot.of([_error(setting, method(setting, count, generator)) for _ in range(runs)]) for count in DIMENSIONS
        ]
        result.rows.append([name, *(spot.error for spot in spots)])
        result.expect(spots[0].error < spots[-1].error, f"{name}: more numbers cost nothing")
        last[name] = spots[-1]
    result.expect(not last["split"].surely_above(last["split with MeanEst"]), "MeanEst beats one number at random")
    result.expect(last["joint"].error < last["split"].error, "joint is not below the split")
    return result


def _error(setting: Setting, means: Floats) -> float:
    """The mean squared error of means by key and dimension."""
    clipped = np.clip(np.nan_to_num(means), -1.0, 1.0)
    return float(((clipped - setting.law.mean[:, None]) ** 2).mean())


def _built(setting: Setting, mechanism: str, count: int, **options: object) -> Any:
    values = [{"name": f"value{number}"} for number in range(count)]
    domain = {"kind": "key-value", "keys": setting.keys, "values": values}
    return build({"mechanism": mechanism, "epsilon": setting.epsilon, "domain": domain, "options": options})


def _means(estimate: Any) -> Floats:
    means: Floats = np.where(estimate.share[:, None] > 0, estimate.means.value, 0.0)
    return means


def _sampled(setting: Setting, count: int, generator: np.random.Generator, **options: str) -> Floats:
    mechanism = _built(setting, "privkv", count, **options)
    return _means(mechanism.estimate(draw_sampled(mechanism, setting.law, setting.reports, generator)))


def _padded(setting: Setting, count: int, generator: np.random.Generator) -> Floats:
    mechanism = _built(setting, "pckv-grr", count, padding=setting.padding)
    return _means(mechanism.estimate(draw_padded(mechanism, setting.law, setting.reports, generator)))


def _mean_est(setting: Setting, count: int, generator: np.random.Generator) -> Floats:
    """The split's presence, and half of epsilon for all numbers at once; sums of signs are drawn as normal."""
    law, rival = setting.law, MeanEst(count, setting.epsilon / 2)
    keep = float(probability(keep_threshold(setting.epsilon / 2, 2)))
    each = generator.multinomial(setting.reports, np.full(setting.keys, 1 / setting.keys))
    chance = law.share * keep + (1 - law.share) * (1 - keep)
    present = generator.binomial(each, chance)
    share = (present / each - 1 + keep) / (2 * keep - 1)
    mean_sent = (keep * law.share * law.mean / chance)[:, None]  # the mean of those that say present
    noise = generator.normal(size=(setting.keys, count)) * np.sqrt((rival.scale**2 - mean_sent**2) * present[:, None])
    total = (present[:, None] * mean_sent + noise) / (each[:, None] * keep)
    return np.where(share[:, None] > 0, total / np.where(share > 0, share, 1.0)[:, None], 0.0)
