"""Curves of an error by one varying parameter, for several methods: most of the paper's figures."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, hypot, sqrt
from typing import Any, NamedTuple

import numpy as np

from hearsay.mechanisms.key_value.simulated.laws import PairLaw
from hearsay.ops.experiments.key_value.methods import KeyEstimates, Method, Setting
from hearsay.ops.experiments.lines import line_style, log_scale
from hearsay.ops.experiments.output import Result

Score = Callable[[KeyEstimates, PairLaw], float]
SURELY = 5.0  # standard errors: a larger difference between two averages is not due to chance


class Spot(NamedTuple):
    """The average score of some runs, and its standard error."""

    error: float
    noise: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> "Spot":
        return cls(float(np.mean(scores)), float(np.std(scores, ddof=1)) / sqrt(len(scores)))

    def surely_above(self, other: "Spot") -> bool:
        """Whether it is significantly above the other one."""
        return self.error - other.error > SURELY * hypot(self.noise, other.noise)


@dataclass(frozen=True)
class Panel:
    """One set of axes: the parameter that varies, its settings, the methods, and what is measured."""

    title: str
    along: str
    settings: Mapping[float, Setting]
    methods: Mapping[str, Method]
    score: Score
    label: str
    log_x: bool = False
    once: frozenset[str] = frozenset()  # methods that always have one round: horizontal lines

    def curve(self, method: str) -> list[Setting]:
        """The settings of a method, one per point."""
        settings = list(self.settings.values())
        return [replace(each, rounds=1) for each in settings] if method in self.once else settings


Curves = dict[str, list[Spot]]


def figure(
    name: str, title: str, panels: Sequence[Panel], runs: int, generator: np.random.Generator, caption: str = ""
) -> tuple[Result, list[Curves]]:
    """The table and picture of some panels, and the measured values; panels with a common setting share its runs."""
    drawn: dict[tuple[Method, Setting], list[KeyEstimates]] = {}

    def spot(panel: Panel, method: Method, setting: Setting) -> Spot:
        if (method, setting) not in drawn:
            drawn[method, setting] = [method(setting, generator) for _ in range(runs)]
        return Spot.of([panel.score(estimate, setting.law) for estimate in drawn[method, setting]])

    by_panel: list[Curves] = [
        {label: [spot(panel, method, one) for one in panel.curve(label)] for label, method in panel.methods.items()}
        for panel in panels
    ]
    one_measure = len({panel.label for panel in panels}) == 1
    rows: list[list[Any]] = [
        [panel.title if one_measure else panel.label, method, x, *spot]
        for panel, curves in zip(panels, by_panel, strict=True)
        for method, spots in curves.items()
        for x, spot in zip(panel.settings, spots, strict=True)
    ]
    first, error = ("panel", panels[0].label) if one_measure else ("measure", "error")
    columns = [first, "method", panels[0].along, error, "standard error"]
    result = Result(name, f"{title}; {runs} runs", columns, rows, caption, bars="one standard error")

    def draw(picture: Any) -> None:
        across = len(panels) if len(panels) <= 3 else ceil(len(panels) / 2)
        down = ceil(len(panels) / across)
        picture.set_size_inches(5.2 * across, 4.2 * down)
        for number, (panel, curves) in enumerate(zip(panels, by_panel, strict=True), start=1):
            _draw_panel(picture.add_subplot(down, across, number), panel, curves)
        if len({tuple(panel.methods) for panel in panels}) == 1:
            handles = picture.axes[0].get_legend_handles_labels()
            picture.legend(
                *handles, loc="outside lower center", ncols=min(len(panels[0].methods), 3 * across), fontsize=8
            )
        else:
            for axes in picture.axes:
                axes.legend(fontsize=7)

    result.draw = draw
    return result, by_panel


# A method has the same colour, dashes and marker in every figure; no two of one figure have the same number.
_LOOKS = {
    "joint": 0, "pckv-grr": 1,
    "PrivKVM": 2, "PrivKVM (1 real, 5 virtual)": 2, "PrivKVM, paper": 2,
    "PrivKVM-Harmony": 3, "PrivKVM-MeanEst": 4,
    "k-RR": 5, "k-RR & Harmony": 6, "RAPPOR": 7, "SHist": 8,
    "virtual from 0 instead of 1": 7, "PrivKVM-noVI (6 real)": 8, "PrivKVM, unbiased, combined": 9, "real": 9,
}  # fmt: skip


def method_styles(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Matplotlib's settings of each method's curve: its look wherever it is drawn, its width by its place here.

    >>> alone, beside = method_styles(["joint"]), method_styles(["k-RR", "split", "joint, one round"])
    >>> alone["joint"]["color"], [style["color"] for style in beside.values()]
    ('C0', ['C5', 'C1', 'C0'])
    """
    names = {method: method.removesuffix(", one round") for method in methods}
    free = iter(sorted({*range(len(_LOOKS) + len(names))} - {_LOOKS.get(name) for name in names.values()}))
    looks = {method: _LOOKS[name] if name in _LOOKS else next(free) for method, name in names.items()}
    widths = {"linewidth", "markersize"}
    return {
        method: line_style(look, len(names)) | {key: line_style(number, len(names))[key] for key in widths}
        for number, (method, look) in enumerate(looks.items())
    }


def _draw_panel(axes: Any, panel: Panel, curves: Curves) -> None:
    styles = method_styles(curves)
    for method, spots in curves.items():
        style = styles[method] | ({"marker": ""} if method in panel.once else {})
        errors, noise = zip(*spots, strict=True)
        axes.errorbar(list(panel.settings), errors, noise, label=method, elinewidth=1, **style)
    if all(spot.error > 0 for spots in curves.values() for spot in spots):
        log_scale(axes, "y")
    if panel.log_x:
        own_ticks(axes, list(panel.settings))
    axes.set(xlabel=panel.along, ylabel=panel.label, title=panel.title)


def own_ticks(axes: Any, values: Sequence[float]) -> None:
    """A logarithmic axis with ticks at the measured values instead of powers of ten."""
    axes.set_xscale("log")
    axes.set_xticks(values, labels=[f"{value:,.9g}" for value in values], fontsize=8)
    axes.set_xticks([], minor=True)
