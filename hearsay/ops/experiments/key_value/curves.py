"""Curves of an error against one thing that varies, for several methods: what most of the paper's figures are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, hypot, sqrt
from typing import Any, NamedTuple

import numpy as np

from hearsay.mechanisms.key_value.simulated.laws import PairLaw
from hearsay.ops.experiments.key_value.methods import KeyEstimates, Method, Setting
from hearsay.ops.experiments.lines import line_style
from hearsay.ops.experiments.output import Result

Score = Callable[[KeyEstimates, PairLaw], float]
SURELY = 5.0  # standard errors of a difference between two averages that chance does not explain


class Spot(NamedTuple):
    """The average score of some runs, and its standard error."""

    error: float
    noise: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> "Spot":
        return cls(float(np.mean(scores)), float(np.std(scores, ddof=1)) / sqrt(len(scores)))

    def surely_above(self, other: "Spot") -> bool:
        """Whether it would be above the other one with any number of runs."""
        return self.error - other.error > SURELY * hypot(self.noise, other.noise)


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
    once: frozenset[str] = frozenset()  # methods of one round whatever the setting says: level lines

    def curve(self, method: str) -> list[Setting]:
        """What a method is run in, one setting a spot."""
        settings = list(self.settings.values())
        return [replace(each, rounds=1) for each in settings] if method in self.once else settings


Curves = dict[str, list[Spot]]


def figure(
    name: str, title: str, panels: Sequence[Panel], runs: int, generator: np.random.Generator, caption: str = ""
) -> tuple[Result, list[Curves]]:
    """The table and picture of some panels, and what was measured; panels that share a setting share its runs."""
    drawn: dict[tuple[Method, Setting], list[KeyEstimates]] = {}

    def spot(panel: Panel, method: Method, setting: Setting) -> Spot:
        if (method, setting) not in drawn:
            drawn[method, setting] = [method(setting, generator) for _ in range(runs)]
        return Spot.of([panel.score(estimate, setting.law) for estimate in drawn[method, setting]])

    by_panel: list[Curves] = [
        {label: [spot(panel, method, one) for one in panel.curve(label)] for label, method in panel.methods.items()}
        for panel in panels
    ]
    rows: list[list[Any]] = [
        [panel.title, method, x, *spot]
        for panel, curves in zip(panels, by_panel, strict=True)
        for method, spots in curves.items()
        for x, spot in zip(panel.settings, spots, strict=True)
    ]
    columns = ["panel", "method", panels[0].along, panels[0].label, "standard error"]
    result = Result(name, f"{title}; {runs} runs", columns, rows, caption)

    def draw(picture: Any) -> None:
        across = len(panels) if len(panels) <= 3 else ceil(len(panels) / 2)
        down = ceil(len(panels) / across)
        picture.set_size_inches(5.2 * across, 4.2 * down)
        for number, (panel, curves) in enumerate(zip(panels, by_panel, strict=True), start=1):
            _draw_panel(picture.add_subplot(down, across, number), panel, curves)

    result.draw = draw
    return result, by_panel


def _draw_panel(axes: Any, panel: Panel, curves: Curves) -> None:
    for number, (method, spots) in enumerate(curves.items()):
        style = line_style(number, len(curves)) | ({"marker": ""} if method in panel.once else {})
        axes.plot(list(panel.settings), [spot.error for spot in spots], label=method, **style)
    if all(spot.error > 0 for spots in curves.values() for spot in spots):
        axes.set_yscale("log")
    if panel.log_x:
        own_ticks(axes, list(panel.settings))
    axes.set(xlabel=panel.along, ylabel=panel.label, title=panel.title)
    axes.legend(fontsize=7)


def own_ticks(axes: Any, values: Sequence[float]) -> None:
    """A logarithmic axis that names what was measured, not powers of ten."""
    axes.set_xscale("log")
    axes.set_xticks(values, labels=[f"{value:,.9g}" for value in values], fontsize=8)
    axes.set_xticks([], minor=True)
