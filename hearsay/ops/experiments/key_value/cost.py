"""P figure 11, total cost of fixed and of self-stopping rounds; and table IV, what a device sends and gets."""

from typing import Any

import numpy as np

from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.key_value.rounds import hand_out, published
from hearsay.ops.experiments.key_value.laws import run_rounds
from hearsay.ops.experiments.key_value.methods import Setting, answers
from hearsay.ops.experiments.output import Result

COSTS = (0.2, 0.02)
BUDGETS = (0.5, 1.0, 2.0, 4.0)
APPS = 1134  # keys of the paper's AppData


def figure_11(runs: int, generator: np.random.Generator) -> Result:
    """Mean absolute error of means plus the cost of the rounds, A0 each (t = 2)."""
    result = Result(
        "figure-11",
        f"P figure 11: total cost, mean absolute error + A0 x rounds; {runs} runs",
        ["data", "A0", "epsilon", "PrivKVM-3", "PrivKVM-6", "PrivKVM+", "rounds of PrivKVM+", "joint", "pckv-grr"],
        [],
        "PrivKVM+ stops by our rule; the paper's stops only by chance. joint and pckv-grr pay for one round",
    )
    for data in ("gauss", "power-law"):
        for cost in COSTS:
            for epsilon in BUDGETS:
                setting = Setting(data, 100, 10**5, epsilon)
                fixed = {
                    rounds: _cost(
                        setting, setting.build("privkvm", rounds=rounds, estimator="paper"), cost, runs, generator
                    )
                    for rounds in (3, 6)
                }
                plus = _cost(setting, setting.build("privkvm+", cost=cost, estimator="paper"), cost, runs, generator)
                ours = [_one_round(setting, name, cost, runs, generator) for name in ("joint", "pckv-grr")]
                result.rows.append([data, cost, epsilon, fixed[3][0], fixed[6][0], *plus, *ours])
                if cost == COSTS[0]:
                    result.expect(plus[0] <= min(fixed[3][0], fixed[6][0]), f"{data} eps {epsilon:g}: stops too late")

    def draw(picture: Any) -> None:
        picture.set_size_inches(11, 7)
        for axes, (data, cost) in zip(
            picture.subplots(2, 2).flat, [(d, c) for d in ("gauss", "power-law") for c in COSTS], strict=True
        ):
            rows = [row for row in result.rows if row[:2] == [data, cost]]
            for place in (3, 4, 5, 7, 8):
                axes.plot(
                    [row[2] for row in rows], [row[place] for row in rows], marker=".", label=result.columns[place]
                )
            axes.set(title=f"{data}, A0 = {cost:g}", xlabel="epsilon", ylabel="total cost", xscale="log")
            axes.legend(fontsize=7)

    result.draw = draw
    return result


def _cost(
    setting: Setting, mechanism: Any, cost: float, runs: int, generator: np.random.Generator
) -> tuple[float, float]:
    costs, rounds = [], []
    for _ in range(runs):
        last, state = run_rounds(mechanism, setting.law, setting.reports, generator)
        mean = answers(last.estimate(state)).mean
        assert mean is not None
        costs.append(float(np.abs(mean - setting.law.mean).mean()) + cost * last.number)
        rounds.append(last.number)
    return float(np.mean(costs)), float(np.mean(rounds))


def _one_round(setting: Setting, name: str, cost: float, runs: int, generator: np.random.Generator) -> float:
    from hearsay.ops.experiments.key_value.figures import OURS

    errors = [np.abs(OURS[name](setting, generator).mean - setting.law.mean).mean() for _ in range(runs)]  # type: ignore[operator]
    return float(np.mean(errors)) + cost


def table_4() -> Result:
    """Bits up and down a device, for the paper's 1134 keys, beside the bytes that are really sent."""
    result = Result(
        "table-iv",
        f"P table IV: bits of one device, {APPS} keys",
        ["method", "P's bits", "symbols up", "bits up", "bytes up, measured", "bytes down, measured"],
        [],
        "down: what a device gets between rounds, all of them together; P counts one (key, bit) a round, which the "
        "collector could choose only if it knew the key that the device samples",
    )
    rounds = 10
    setting = Setting("power-law", APPS, 10**5, 1.0)
    for name, paper, mechanism, times in (
        ("privkv", 17, setting.build("privkv"), 1),
        ("privkv split", 17, setting.build("privkv", budget="split"), 1),
        ("pckv-grr", None, setting.build("pckv-grr", padding=4), 1),
        ("privkvm, 10 rounds", 323, setting.build("privkvm", rounds=rounds), rounds),
        ("privkvm, 10 rounds, means", None, setting.build("privkvm", rounds=rounds, disclose="means"), rounds),
    ):
        pairs = setting.law.draw(64, 1, np.random.default_rng(1))
        sizes, outcomes, down = [], [], 0
        history: list[Any] = []
        for number in range(1, times + 1):
            here = mechanism.in_round(history) if times > 1 else mechanism
            singles = codec(here).encode_singles(here.perturb(pairs, seeded(number)))
            sizes.append(max(map(len, singles)))
            outcomes.append(here.layout.outcomes)
            if number < times:
                history.append(published(setting.law.mean))
                offer = hand_out(history[-1], mechanism.options["disclose"], seeded(number))
                down += len(offer["signs"]) if "signs" in offer else 3 * APPS
        bits = sum(int(np.ceil(np.log2(count))) for count in outcomes)
        result.rows.append([name, paper, outcomes[-1], bits, sum(sizes), down])
        result.expect(sum(sizes) * 8 <= bits + 16 * times, f"{name} sends more than its entropy and two bytes a report")
    return result
