"""Figures 3 to 10 and 12 of Ye et al. 2019, as far as the paper defines them, with curves for joint and pckv-grr."""

from functools import partial

import numpy as np

from hearsay.mechanisms.key_value.simulated.laws import PairLaw
from hearsay.ops.experiments.key_value.curves import Panel, figure
from hearsay.ops.experiments.key_value.methods import (
    VIRTUAL_ROUNDS,
    KeyEstimates,
    Method,
    Setting,
    krr_and_harmony,
    mean_error,
    oracle,
    pckv_grr,
    privkv,
    privkvm,
    privkvm_harmony,
    privkvm_mean_est,
    relative_error,
    virtual_harmony,
    virtual_mean_est,
)
from hearsay.ops.experiments.output import Result

Generator = np.random.Generator
BUDGETS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
FREQUENCY_BUDGETS = (0.1, 0.2, 0.4, 0.6, 0.8)
USERS = (2 * 10**4, 5 * 10**4, 10**5, 2 * 10**5, 5 * 10**5, 10**6)
KEYS = (50, 100, 200, 400, 700, 1000)
ROUNDS = (1, 2, 3, 4, 6, 8, 10)
OURS: dict[str, Method] = {"joint": privkv(), "pckv-grr": pckv_grr}
PRIVKVM = "PrivKVM (1 real, 5 virtual)"
VIRTUAL = privkv(budget="split", virtual=VIRTUAL_ROUNDS, initial=1.0)
MEANS = "mean squared error of means"
SHARES = "median relative error of frequencies"


def by_epsilon(data: str, keys: int = 100, reports: int = 10**5) -> dict[float, Setting]:
    return {epsilon: Setting(data, keys, reports, epsilon) for epsilon in BUDGETS}


def figure_3(runs: int, generator: Generator) -> Result:
    methods = {PRIVKVM: VIRTUAL, "PrivKVM-Harmony": virtual_harmony, "PrivKVM-MeanEst": virtual_mean_est, **OURS}
    panels = [
        Panel(f"{data}, n = 100,000", "epsilon", by_epsilon(data), methods, mean_error, MEANS, log_x=True)
        for data in ("gauss", "power-law")
    ]
    caption = "the paper's methods have five virtual rounds after the real one, as in the paper"
    result, by_panel = figure(
        "figure-3", "Ye et al., figure 3: error of means by epsilon", panels, runs, generator, caption
    )
    for curves in by_panel:
        result.expect(curves["joint"][-1].error < curves[PRIVKVM][-1].error, "joint is not below PrivKVM")
        for rival in ("PrivKVM-Harmony", "PrivKVM-MeanEst"):
            above = any(own.surely_above(its) for own, its in zip(curves[PRIVKVM], curves[rival], strict=True))
            result.expect(not above, f"PrivKVM is above {rival}")
    return result


def figure_4(runs: int, generator: Generator) -> Result:
    settings = {epsilon: Setting("power-law", 100, 10**5, epsilon) for epsilon in FREQUENCY_BUDGETS}
    methods = {
        "PrivKVM": privkv(budget="split"),
        "k-RR": oracle("k-RR"),
        "RAPPOR": oracle("RAPPOR"),
        "SHist": oracle("SHist"),
        **OURS,
    }
    panels = [
        Panel(f"top {top:.0%} of the keys", "epsilon", settings, methods, partial(relative_error, top=top), SHARES)
        for top in (0.1, 0.2, 0.3, 0.4, 0.5)
    ]
    caption = "power-law, n = 100,000; the comparators send absent keys too, which the paper's versions do not"
    result, by_panel = figure(
        "figure-4", "Ye et al., figure 4: error of frequencies by epsilon", panels, runs, generator, caption
    )
    for curves in by_panel:
        best = min(curves[name][-1].error for name in ("k-RR", "RAPPOR", "SHist"))
        result.expect(curves["joint"][-1].error < curves["PrivKVM"][-1].error, "joint is not below PrivKVM")
        result.expect(curves["PrivKVM"][-1].error < best, "PrivKVM is not below the comparators")
    return result


def figures_5_and_6(runs: int, generator: Generator) -> list[Result]:
    frequencies = {PRIVKVM: VIRTUAL, "k-RR": oracle("k-RR"), **OURS}
    means = {PRIVKVM: VIRTUAL, "PrivKVM-Harmony": virtual_harmony, **OURS}
    users = {float(count): Setting("gauss", 100, count, 1.0) for count in USERS}
    keys = {float(count): Setting("linear", count, 10**6, 1.0) for count in KEYS}
    results = []
    for name, title, along, settings in (
        ("figure-5", "Ye et al., figure 5: errors by number of devices (gauss, epsilon 1)", "devices", users),
        ("figure-6", "Ye et al., figure 6: errors by number of keys (linear, n = 1,000,000, epsilon 1)", "keys", keys),
    ):
        panels = [
            Panel("frequencies", along, settings, frequencies, relative_error, SHARES, log_x=True),
            Panel("means", along, settings, means, mean_error, MEANS, log_x=True),
        ]
        result, by_panel = figure(name, title, panels, runs, generator)
        for curves in by_panel:
            for method, spots in curves.items():
                first, last = (spots[0], spots[-1]) if along == "devices" else (spots[-1], spots[0])
                result.expect(last.error < first.error, f"{method} does not move with the number of {along}")
        results.append(result)
    return results


def correlation(estimate: KeyEstimates, law: PairLaw) -> float:
    """Pearson's coefficient over the keys, between the true share and the estimated mean of a key.

    The paper does not define its own; in these data keys with larger shares have larger means.
    """
    assert estimate.mean is not None
    if estimate.mean.std() == 0:
        return 0.0
    return float(np.corrcoef(law.share, estimate.mean)[0, 1])


def figure_7(runs: int, generator: Generator) -> Result:
    methods: dict[str, Method] = {
        "real": lambda setting, _: KeyEstimates(None, setting.law.mean),
        PRIVKVM: VIRTUAL,
        "k-RR & Harmony": krr_and_harmony,
        **OURS,
    }
    plaw = {epsilon: Setting("power-law", 100, 10**5, epsilon) for epsilon in BUDGETS}
    linear = {epsilon: Setting("linear", 1000, 10**6, epsilon) for epsilon in BUDGETS}
    panels = [
        Panel("power-law", "epsilon", plaw, methods, correlation, "correlation", log_x=True),
        Panel("linear", "epsilon", linear, methods, correlation, "correlation", log_x=True),
    ]
    caption = "Pearson's coefficient of a key's true share and estimated mean (our definition; the paper has none)"
    result, by_panel = figure(
        "figure-7", "Ye et al., figure 7: correlation of keys and values by epsilon", panels, runs, generator, caption
    )
    for curves in by_panel:
        last = {method: spots[-1].error for method, spots in curves.items()}
        result.expect(last["joint"] > 0.8, "joint does not keep the correlation")
        result.expect(last["joint"] > last[PRIVKVM], "PrivKVM keeps more of it")
        result.expect(abs(last["k-RR & Harmony"]) < 0.5, "k-RR & Harmony should lose the correlation")
    return result


def figure_8(generator: Generator) -> Result:
    setting = {epsilon: Setting("gauss", 100, 10**5, epsilon) for epsilon in (0.4, 1.6, 6.4)}
    methods: dict[str, Method] = {
        PRIVKVM: VIRTUAL,
        "k-RR & Harmony": krr_and_harmony,
        "joint": privkv(),
        "pckv-grr": pckv_grr,
    }
    drawn = {
        (name, epsilon): method(one, generator).mean
        for name, method in methods.items()
        for epsilon, one in setting.items()
    }
    law = next(iter(setting.values())).law
    rows = [
        [name, epsilon, float(((mean - law.mean) ** 2).mean())]  # type: ignore[operator]
        for (name, epsilon), mean in drawn.items()
    ]
    result = Result(
        "figure-8",
        "Ye et al., figure 8: estimated means of all keys (gauss, n = 100,000), one run",
        ["method", "epsilon", "mean squared error"],
        rows,
    )

    def draw(picture: object) -> None:
        picture.set_size_inches(4.2 * len(methods), 3.8)  # type: ignore[attr-defined]
        for axes, name in zip(picture.subplots(1, len(methods), sharey=True), methods, strict=True):  # type: ignore[attr-defined]
            for marker, epsilon in zip("xo.", setting, strict=True):
                label = f"epsilon {epsilon:g}"
                axes.plot(drawn[name, epsilon], marker, markersize=4, markerfacecolor="none", label=label)
            axes.plot(law.mean, "k-", linewidth=1, label="true")
            axes.set(title=name, xlabel="key", ylim=(-1.05, 1.05))
        picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)  # type: ignore[attr-defined]

    result.draw = draw
    return result


ONE_ROUND = tuple(f"{method}, one round" for method in OURS)
ONCE = frozenset(ONE_ROUND)


def by_rounds(data: str, epsilon: float) -> dict[float, Setting]:
    return {float(count): Setting(data, 100, 10**5, epsilon, count) for count in ROUNDS}


def figure_9(runs: int, generator: Generator) -> Result:
    methods: dict[str, Method] = {
        "PrivKVM, paper": privkvm(estimator="paper"),
        "PrivKVM, unbiased, combined": privkvm(),
        **dict(zip(ONE_ROUND, OURS.values(), strict=True)),
    }
    panels = [
        Panel(f"{data}, epsilon {epsilon:g}", "rounds", by_rounds(data, epsilon), methods, mean_error, MEANS, once=ONCE)
        for data in ("gauss", "power-law")
        for epsilon in (1.0, 4.0)
    ]
    caption = (
        "In the paper the error decreases with the rounds. It cannot if the rounds share epsilon: the information is "
        "proportional to c tanh^2(eps/4c). Only the bias of the paper's estimator decreases"
    )
    title = "Ye et al., figure 9: error of means by rounds (n = 100,000 in each)"
    result, by_panel = figure("figure-9", title, panels, runs, generator, caption)
    for curves in by_panel:
        for method in ("PrivKVM, paper", "PrivKVM, unbiased, combined"):
            result.expect(curves[method][0].error < curves[method][-1].error, f"{method}: more rounds do not lose")
    return result


def figure_10(runs: int, generator: Generator) -> Result:
    methods: dict[str, Method] = {
        "PrivKVM": privkvm(estimator="paper"),
        "PrivKVM-Harmony": privkvm_harmony,
        "PrivKVM-MeanEst": privkvm_mean_est,
        **dict(zip(ONE_ROUND, OURS.values(), strict=True)),
    }
    panel = Panel("power-law, epsilon 2", "rounds", by_rounds("power-law", 2.0), methods, mean_error, MEANS, once=ONCE)
    caption = (
        "In the paper no curve increases. Here all increase from the third round on, as in figure 9. MeanEst reports "
        "on all keys at once, in d bits"
    )
    title = "Ye et al., figure 10: error of means with other noise for values, by rounds (n = 100,000 in each)"
    return figure("figure-10", title, [panel], runs, generator, caption)[0]


def figure_12(runs: int, generator: Generator) -> Result:
    methods = {
        PRIVKVM: VIRTUAL,
        "virtual from 0 instead of 1": privkv(budget="split", virtual=6),
        "PrivKVM-noVI (6 real)": privkvm(6, estimator="paper"),
        **OURS,
    }
    panels = [
        Panel(f"{data}, n = 100,000", "epsilon", by_epsilon(data), methods, mean_error, MEANS, log_x=True)
        for data in ("gauss", "power-law")
    ]
    caption = (
        "In the paper virtual rounds have the larger error only if epsilon is very small. Here they have it on "
        "power-law only; with initial mean 0 instead of 1 nowhere"
    )
    title = "Ye et al., figure 12: error of means with and without virtual rounds"
    result, by_panel = figure("figure-12", title, panels, runs, generator, caption)
    for curves in by_panel:
        real, own = curves["PrivKVM-noVI (6 real)"], curves["virtual from 0 instead of 1"]
        result.expect(
            curves[PRIVKVM][-1].error < real[-1].error,
            "virtual rounds do not have the smaller error at the largest epsilon",
        )
        lost = any(one.surely_above(other) for one, other in zip(own, real, strict=True))
        result.expect(not lost, "virtual rounds from 0 have a larger error than real ones")
    return result
