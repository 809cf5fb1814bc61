"""Curves of an error against one thing that varies, for several methods: what most of the paper's figures are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hearsay.ops.experiments.key_value.methods import Found, Method, Setting, average
from hearsay.ops.experiments.output import Result
from hearsay.producer.pair_populations import PairLaw

Score = Callable[[Found, PairLaw], float]


@dataclass(frozen=True)
class Panel:
    """One set of axes: what varies, in which settings, by which methods, and what is measured."""

    title: str
    along: str
    settings: Mapping[float, Setting]
    methods: Mapping[str, Method]
    score: Score
    label: str
    log_x: bool = False


def measured(panel: Panel, runs: int, generator: np.random.Generator) -> dict[str, list[float]]:
    """The score of every method in every setting."""
    return {
        name: [average(method, setting, panel.score, runs, generator) for setting in panel.settings.values()]
        for name, method in panel.methods.items()
    }


def figure(
    name: str, title: str, panels: Sequence[Panel], runs: int, generator: np.random.Generator, caption: str = ""
) -> tuple[Result, list[dict[str, list[float]]]]:
    """The table and picture of some panels, and what was measured."""
    found = [measured(panel, runs, generator) for panel in panels]
    rows: list[list[Any]] = []
    for panel, curves in zip(panels, found, strict=True):
        for method, errors in curves.items():
            rows += [[panel.title, method, x, error] for x, error in zip(panel.settings, errors, strict=True)]
    result = Result(name, f"{title}; {runs} runs", ["panel", "method", panels[0].along, "error"], rows, caption)

    def draw(picture: Any) -> None:
        picture.set_size_inches(5.2 * len(panels), 4.2)
        for axes, panel, curves in zip(picture.subplots(1, len(panels), squeeze=False)[0], panels, found, strict=True):
            for number, (method, errors) in enumerate(curves.items()):
                style = ("-", "--", ":")[number // 6 % 3]
                axes.plot(list(panel.settings), errors, style, marker=".", label=method, linewidth=1.2)
            if all(error > 0 for errors in curves.values() for error in errors):
                axes.set_yscale("log")
            if panel.log_x:
                axes.set_xscale("log")
            axes.set(xlabel=panel.along, ylabel=panel.label, title=panel.title)
            axes.legend(fontsize=7)

    result.draw = draw
    return result, found
