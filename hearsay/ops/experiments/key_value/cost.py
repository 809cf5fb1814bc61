"""Figure 11 of Ye et al. 2019, total cost of fixed numbers of rounds and of PrivKVM+; table IV, bits per device."""

import json
from collections.abc import Callable
from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np

from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.exact.randomness import Random, seeded
from hearsay.mechanisms.key_value.rounds import published
from hearsay.mechanisms.key_value.simulated.laws import PairLaw
from hearsay.ops.experiments.key_value.curves import Spot, method_styles, own_ticks
from hearsay.ops.experiments.key_value.laws import run_rounds
from hearsay.ops.experiments.key_value.methods import Method, Setting, answers, pckv_grr, privkv
from hearsay.ops.experiments.key_value.rivals import over_keys
from hearsay.ops.experiments.output import Result

COSTS = (0.2, 0.02)
PANELS = tuple((data, cost) for data in ("gauss", "power-law") for cost in COSTS)
BUDGETS = (0.5, 1.0, 2.0, 4.0)
APPS = 1134  # keys of the paper's AppData


def figure_11(runs: int, generator: np.random.Generator) -> Result:
    """Mean absolute error of means plus the cost of the rounds, A0 each (t = 2)."""
    result = Result(
        "figure-11",
        f"Ye et al., figure 11: total cost, mean absolute error of means + A0 x rounds; {runs} runs",
        ["data", "A0", "epsilon", *METHODS, "rounds of PrivKVM+"],
        [],
        "In the paper PrivKVM+ always costs least. Here it does if rounds are expensive (A0 = 0.2); if they are cheap "
        "and epsilon is large, its noise rule stops it too early (the paper's own rule stops only by chance). joint "
        "and pckv-grr have one round",
        bars="one standard error",
    )
    noise: list[list[float]] = []
    for data, cost in PANELS:
        for epsilon in BUDGETS:
            setting = Setting(data, 100, 10**5, epsilon)
            made = {name: [method(setting, cost, generator) for _ in range(runs)] for name, method in METHODS.items()}
            costs = {
                name: Spot.of([_error(one, setting) + cost * one.rounds for one in estimates])
                for name, estimates in made.items()
            }
            rounds = float(np.mean([one.rounds for one in made["PrivKVM+"]]))
            result.rows.append([data, cost, epsilon, *(spot.error for spot in costs.values()), rounds])
            noise.append([spot.noise for spot in costs.values()])
            if cost == max(COSTS):
                late = any(costs["PrivKVM+"].surely_above(costs[fixed]) for fixed in ("PrivKVM-3", "PrivKVM-6"))
                result.expect(not late, f"{data} eps {epsilon:g}: PrivKVM+ costs more than fixed rounds")
            best = min(costs[name].error for name in METHODS if name.startswith("PrivKVM"))
            result.expect(costs["joint"].error < best, f"{data} eps {epsilon:g}: joint costs more than rounds")

    def draw(picture: Any) -> None:
        picture.set_size_inches(11, 7)
        for axes, panel in zip(picture.subplots(2, 2).flat, PANELS, strict=True):
            rows = [index for index, row in enumerate(result.rows) if tuple(row[:2]) == panel]
            for number, name in enumerate(METHODS):
                costs, bars = [result.rows[row][3 + number] for row in rows], [noise[row][number] for row in rows]
                style = method_styles(METHODS)[name] | {"elinewidth": 1}
                axes.errorbar([result.rows[row][2] for row in rows], costs, bars, label=name, **style)
            own_ticks(axes, BUDGETS)
            axes.set(title=f"{panel[0]}, A0 = {panel[1]:g}", xlabel="epsilon", ylabel="total cost", ylim=(0, None))
        picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(METHODS), fontsize=8)

    result.draw = draw
    return result


class Run(NamedTuple):
    """The estimated means of one run, and its number of rounds."""

    mean: Any
    rounds: int


def _in_rounds(mechanism: str, **options: Any) -> Callable[[Setting, float, np.random.Generator], Run]:
    def run(setting: Setting, cost: float, generator: np.random.Generator) -> Run:
        given = {**options, "cost": cost} if mechanism == "privkvm+" else options
        made = setting.build(mechanism, estimator="paper", **given)
        last, state = run_rounds(made, setting.law, setting.reports, generator)
        return Run(answers(last.estimate(state)).mean, last.number)

    return run


def _in_one(method: Method) -> Callable[[Setting, float, np.random.Generator], Run]:
    return lambda setting, _, generator: Run(method(setting, generator).mean, 1)


METHODS = {
    "PrivKVM-3": _in_rounds("privkvm", rounds=3),
    "PrivKVM-6": _in_rounds("privkvm", rounds=6),
    "PrivKVM+": _in_rounds("privkvm+"),
    "joint": _in_one(privkv()),
    "pckv-grr": _in_one(pckv_grr),
}


def _error(run: Run, setting: Setting) -> float:
    return float(np.abs(run.mean - setting.law.mean).mean())


def table_4() -> Result:
    """Bits that a device sends and receives, for the paper's 1134 keys, and the bytes that are really sent."""
    result = Result(
        "table-iv",
        f"Ye et al., table IV: bits that one device sends and receives, {APPS} keys",
        ["method", "paper's bits", "bits up", "bytes up, measured", "bytes down, measured"],
        [],
        "down: what a device receives between rounds, over all rounds. The paper counts one (key, bit) per round, "
        "which the collector could choose only if it knew the key that the device samples. Comparators: an oracle over "
        "the keys and absent, and the value's sign (Harmony) or a sign for every key (MeanEst) in separate bytes",
    )
    pairs = PairLaw.named("power-law", APPS).draw(64, 1, np.random.default_rng(1))
    paper: int | None
    for name, paper, oracle, signs in (
        ("k-RR & Harmony", 17, "k-RR", 1),
        ("SHist & Harmony", 18, "SHist", 1),
        ("RAPPOR & MeanEst", 1166, "RAPPOR", APPS),
    ):
        # RAPPOR's reports have the same length for any number of keys, and the paper's filters are too small for so
        # many.
        rival = over_keys(oracle, 100 if oracle == "RAPPOR" else APPS, 1.0)
        bits, size = _sent(rival, np.arange(64), seeded(1))
        result.rows.append([name, paper, bits + signs, size + ceil(signs / 8), 0])
    rounds = 10
    setting = Setting("power-law", APPS, 10**5, 1.0)
    for name, paper, mechanism in (
        ("PrivKV (split)", 17, setting.build("privkv", budget="split")),
        ("PrivKVM, 10 rounds", 323, setting.build("privkvm", rounds=rounds)),
        ("PrivKVM, 10 rounds, means", None, setting.build("privkvm", rounds=rounds, disclose="means")),
        ("joint", None, setting.build("privkv")),
        ("pckv-grr", None, setting.build("pckv-grr", padding=4)),
    ):
        bits = size = down = 0
        history: list[Any] = []
        for number in range(1, mechanism.rounds + 1):
            in_round = mechanism.in_round(history)
            more_bits, more_bytes = _sent(in_round, pairs, seeded(number))
            bits, size = bits + more_bits, size + more_bytes
            if number < mechanism.rounds:
                history.append(published(setting.law.mean))
                down += len(json.dumps(in_round.hand_out(history[-1], seeded(number)), separators=(",", ":")))
        result.rows.append([name, paper, bits, size, down])
        most = bits + 16 * mechanism.rounds
        result.expect(8 * size <= most, f"{name} sends more than its entropy and two bytes per report")
    return result


def _sent(mechanism: Any, values: Any, random: Random) -> tuple[int, int]:
    """The bits that distinguish all possible reports, and the bytes of the longest of some real ones."""
    singles = codec(mechanism).encode_singles(mechanism.perturb(values, random))
    return ceil(log2(mechanism.layout.outcomes)), max(map(len, singles))
