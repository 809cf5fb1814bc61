"""The pictures of the concept pages: `python -m hearsay.ops.pages.pictures` draws them into docs/pictures."""

from collections.abc import Callable
from functools import reduce
from math import exp
from typing import Any

import numpy as np

from hearsay.mechanisms import merge
from hearsay.mechanisms.queries.answer import Answer
from hearsay.ops.pages.docs import DOCS
from hearsay.ops.simulate.library import simulate

FOLDER = DOCS / "pictures"
BLUE, ORANGE, GREY = "#2f6fab", "#d1622b", "#9aa3ab"
FRUIT = ["apple", "banana", "cherry", "date"]
SHARES = [0.45, 0.3, 0.15, 0.1]
SURVEY = {
    "name": "fruit",
    "mechanism": "grr",
    "epsilon": 1.0,
    "domain": {"kind": "categorical", "categories": FRUIT},
}


def epsilon(axes: Any) -> None:
    """How sure an observer can become by one report: odds grow by at most e^epsilon."""
    values = np.linspace(0, 4, 81)
    for prior, colour in ((0.5, BLUE), (0.1, ORANGE), (0.01, GREY)):
        after = [exp(each) * prior / (1 - prior + exp(each) * prior) for each in values]
        axes.plot(values, after, color=colour, label=f"thought {prior:.0%} likely before")
    axes.set(xlabel="epsilon of the report", ylabel="at most thought likely after", ylim=(0, 1), xlim=(0, 4))
    axes.legend(frameon=False)


def reports(axes: Any) -> None:
    """Reports are noisy one by one; the estimate undoes the noise of all together."""
    people = np.repeat(FRUIT, [round(share * 20_000) for share in SHARES])
    result = simulate(SURVEY, list(people), seed=4)
    ends = np.array([_ends(each) for each in result.ask("frequencies")])
    reported = result.state["hist"] / result.reports
    places = np.arange(len(FRUIT))
    axes.bar(places - 0.27, SHARES, 0.25, color=GREY, label="truth: nobody sees it")
    axes.bar(places, reported, 0.25, color=ORANGE, label="what the reports say")
    errors = [ends[:, 1] - ends[:, 0], ends[:, 2] - ends[:, 1]]
    axes.bar(places + 0.27, ends[:, 1], 0.25, yerr=errors, capsize=4, color=BLUE, label="estimate, with its interval")
    axes.set_xticks(places, FRUIT)
    axes.set(ylabel="share of 20,000 devices")
    axes.legend(frameon=False)


def intervals(axes: Any) -> None:
    """The same survey forty times: about one interval in twenty misses the truth."""
    people = list(np.repeat(FRUIT, [round(share * 5_000) for share in SHARES]))
    for number in range(40):
        low, value, high = _ends(simulate(SURVEY, people, seed=number).ask("point apple")[0])
        colour = BLUE if low <= SHARES[0] <= high else ORANGE
        axes.plot([number, number], [low, high], color=colour, linewidth=2)
        axes.plot([number], [value], "o", color=colour, markersize=3)
    axes.axhline(SHARES[0], color=GREY, linewidth=1)
    axes.set(xlabel="survey", ylabel="share of apple: value and 95% interval", xlim=(-1, 40))


def windows(axes: Any) -> None:
    """One answer for each window, and one for the last three together, whose states are added."""
    shares = [0.40, 0.41, 0.43, 0.46, 0.50, 0.53, 0.55, 0.56]
    results = []
    for number, share in enumerate(shares):
        people = ["apple"] * round(share * 4_000) + ["banana"] * round((1 - share) * 4_000)
        results.append(simulate(SURVEY, people, seed=number + 10))
        low, value, high = _ends(results[-1].ask("point apple")[0])
        axes.errorbar(number, value, [[value - low], [high - value]], fmt="o", color=BLUE)
    together: Any = results[0].survey.mechanism.estimate(reduce(merge, [each.state for each in results[-3:]]))
    value, error = float(together.estimate[0]), 1.96 * float(together.stderr[0])
    label = "the last three together, their interval"
    axes.fill_between([4.7, 7.3], value - error, value + error, color=ORANGE, alpha=0.3, label=label)
    axes.plot(range(len(shares)), shares, color=GREY, label="truth")
    axes.set(xlabel="window", ylabel="share of apple")
    axes.legend(frameon=False)


def _ends(answer: Answer) -> tuple[float, float, float]:
    assert answer.low is not None
    assert answer.value is not None
    assert answer.high is not None
    return answer.low, answer.value, answer.high


def rounds(axes: Any) -> None:
    """Three rounds: devices report while one is open; it is counted; then the next opens with what was found."""
    for number in range(3):
        start = 10 * number
        axes.broken_barh([(start, 6)], (2.1, 0.8), color=BLUE)
        axes.broken_barh([(start + 1, 7)], (1.1, 0.8), color=GREY)
        axes.broken_barh([(start + 8, 1)], (0.1, 0.8), color=ORANGE)
        axes.text(start + 3, 2.5, f"round {number + 1} open", ha="center", va="center", color="white")
        axes.text(start + 4.5, 1.5, "fold", ha="center", va="center", color="white")
        if number < 2:
            axes.annotate("", (start + 10, 2.1), (start + 9, 0.9), arrowprops={"arrowstyle": "->", "color": ORANGE})
            axes.text(start + 9.5, 0.5, "parameters", color=ORANGE, va="center")
    axes.set_yticks([0.5, 1.5, 2.5], ["estimator", "workers", "devices"])
    axes.set_xticks([])
    axes.set(xlabel="time", xlim=(-0.5, 31), ylim=(0, 3.1))


PICTURES: dict[str, Callable[[Any], None]] = {
    "epsilon": epsilon,
    "reports": reports,
    "intervals": intervals,
    "windows": windows,
    "rounds": rounds,
}


def main() -> None:
    """Draw them all, the same bytes every time."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "hearsay", "svg.fonttype": "none"}):
        for name, draw in PICTURES.items():
            figure = Figure(figsize=(7, 3.6), layout="constrained")
            axes = figure.add_subplot()
            axes.spines[["top", "right"]].set_visible(False)
            draw(axes)
            figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
