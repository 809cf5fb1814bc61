"""Figures 4.3 to 4.7: total variation by number of devices, order, attributes and epsilon, and against oracles."""

from collections.abc import Callable, Iterator
from math import exp, log, sqrt
from typing import Any

from hearsay.ops.experiments.lines import line_style
from hearsay.ops.experiments.marginals.data import People, flight_bits, skewed
from hearsay.ops.experiments.marginals.runs import (
    DISSERTATION,
    INP_EM,
    INP_HT,
    INP_OLH,
    INP_PS,
    INP_RR,
    MARG_PS,
    OURS,
    SKETCH,
    Method,
    Settings,
    Variation,
    agrees,
    variation,
)
from hearsay.ops.experiments.output import Result
from hearsay.ops.terminal.progress import steps_bar

EPSILON = log(3)
COLUMNS = ["data", "attributes", "k", "devices", "epsilon", "method", "total variation", "+-", "expected"]
SHORT = {"attributes": "d", "k": "k", "devices": "N", "epsilon": "epsilon"}
# A method has one colour in all figures; ours is black and dashed.
DRAWN = [method.name for method in (*DISSERTATION, INP_EM, INP_OLH, SKETCH, OURS)]
DATA: dict[str, Callable[[int], People]] = {"flights": flight_bits, "synthetic": skewed}


class Panels:
    """Rows of one figure, and how it is drawn: a panel for each combination of attributes and order."""

    def __init__(self, name: str, title: str, settings: Settings, along: str) -> None:
        self.settings, self._along = settings, along
        caption = (
            "expected: from the exact variances; +-: standard deviation over runs, which are error bars in figures; "
            "for k = 1 inp-ht, marg-ps and marg-ht are the same method"
        )
        self.result = Result(name, title, list(COLUMNS), [], caption)
        self.result.draw = self._draw

    def add(self, data: str, bits: People, devices: int, order: int, epsilon: float, method: Method) -> Variation:
        """Play one setting and note it."""
        measured = variation(method, bits, devices, order, epsilon, self.settings)
        expected = None if measured.expected is None else round(measured.expected, 5)
        self.result.rows.append(
            [data, bits.attributes, order, devices, round(epsilon, 3), method.name, round(measured.mean, 5),
             round(measured.spread, 5), expected]
        )  # fmt: skip
        where = f"{data}, d = {bits.attributes}, k = {order}, N = {devices}, epsilon {epsilon:.2f}, {method.name}"
        biased = method.name == SKETCH.name
        self.result.expect(
            biased or agrees(measured, bits.attributes, self.settings.runs),
            f"{where}: {measured.mean:.4f} for {expected}",
        )
        return measured

    def _draw(self, figure: Any) -> None:
        rows, column = self.result.rows, COLUMNS.index(self._along)
        panels = sorted({tuple(row[:5][i] for i in range(5) if i != column) for row in rows})
        across = min(3, len(panels))
        figure.set_size_inches(4.2 * across + 1, 3.2 * -(-len(panels) // across) + 0.4)
        axes = figure.subplots(-(-len(panels) // across), across, squeeze=False)
        for axis in axes.flat[len(panels) :]:
            axis.set_visible(False)
        names = [name for name in COLUMNS[:5] if name != self._along]
        for axis, panel in zip(axes.flat, panels, strict=False):
            here = [row for row in rows if tuple(row[:5][i] for i in range(5) if i != column) == panel]
            for method in dict.fromkeys(row[5] for row in here):
                own = sorted((row[column], row[6], row[7]) for row in here if row[5] == method)
                style = line_style(DRAWN.index(method), len(DRAWN)) | {"elinewidth": 1, "capsize": 2}
                style |= {"color": "black"} if method == OURS.name else {}
                axis.errorbar(*zip(*own, strict=True), label=method, **style)
            axis.set(yscale="log", xlabel=self._along, ylabel="total variation")
            if self._along == "devices":
                axis.set_xscale("log", base=2)
            titles = (
                f"{value}" if name == "data" else f"{SHORT[name]} = {value:,}"
                for name, value in zip(names, panel, strict=True)
            )
            axis.set_title(", ".join(titles), fontsize=8)
            axis.tick_params(labelsize=7, which="both")
        figure.legend(*_every_label(axes), loc="outside lower center", ncols=4, fontsize=8)


def _every_label(axes: Any) -> tuple[list[Any], list[str]]:
    """Handles and labels of all panels, each label once: not every method is in every panel."""
    labels: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    return list(labels.values()), list(labels)


def methods_for(attributes: int) -> tuple[Method, ...]:
    """The dissertation's six and ours; the whole table only where it is small."""
    small = attributes <= 16
    return (*(m for m in DISSERTATION if small or m not in (INP_RR, INP_PS)), OURS)


def by_devices(settings: Settings) -> Iterator[Result]:
    """Figure 4.3: N = 2^16 .. 2^19, d = 4, 8, 16, k = 1, 2, 3, e^epsilon = 3."""
    panels = Panels("figure-4.3", "Figure 4.3: total variation by number of devices", settings, "devices")
    sizes = (4, 8) if settings.quick else (4, 8, 16)
    numbers = (1 << 16, 1 << 17) if settings.quick else (1 << 16, 1 << 17, 1 << 18, 1 << 19)
    data = ("flights",) if settings.quick else tuple(DATA)
    with steps_bar("figure 4.3", len(sizes) * 3 * len(numbers) * len(data)) as step:
        for name in data:
            for attributes in sizes:
                bits = DATA[name](attributes)
                for order in (1, 2, 3):
                    for devices in numbers:
                        for method in methods_for(attributes):
                            panels.add(name, bits, devices, order, EPSILON, method)
                        step()
    _falls_as_root(panels.result)
    yield panels.result


def _falls_as_root(result: Result) -> None:
    """Errors halve as the devices quadruple, for every method: also for inp-ps, where the dissertation denies it."""
    rows = {(row[0], row[1], row[2], row[5], row[3]): row[6] for row in result.rows}
    ratios: dict[str, list[float]] = {}
    for (data, attributes, order, method, devices), error in rows.items():
        later = rows.get((data, attributes, order, method, 2 * devices))
        if later is not None:
            ratios.setdefault(method, []).append(log(later / error))
    for method, logs in ratios.items():
        mean = exp(sum(logs) / len(logs))
        result.expect(0.55 < mean < 0.9, f"{method}: errors change by {mean:.2f} at twice as many devices")


def by_order(settings: Settings) -> Iterator[Result]:
    """Figure 4.4: N = 2^18, e^epsilon = 3, d = 8, k = 1 .. 7."""
    panels = Panels("figure-4.4", "Figure 4.4: total variation by order, d = 8", settings, "k")
    orders = (1, 2, 4, 5) if settings.quick else range(1, 8)
    devices = 1 << 16 if settings.quick else 1 << 18
    with steps_bar("figure 4.4", len(orders)) as step:
        for order in orders:
            measured = {
                m.name: panels.add("flights", flight_bits(8), devices, order, EPSILON, m) for m in methods_for(8)
            }
            if (
                order in (4, 5) and not settings.quick
            ):  # by the variances: measured errors differ by as much as they vary
                first = (measured["inp-ht"].expected or 0.0) < (measured["inp-rr"].expected or 0.0)
                panels.result.expect(
                    first == (order == 4), f"inp-ht and inp-rr do not cross between k = 4 and 5: {order}"
                )
            step()
    yield panels.result


def by_attributes(settings: Settings) -> Iterator[Result]:
    """Figure 4.5: k = 2, N = 2^19, d to 24 by repeated columns, against expectation maximisation."""
    panels = Panels(
        "figure-4.5", "Figure 4.5: total variation by epsilon for many attributes, k = 2", settings, "epsilon"
    )
    sizes, devices = ((8, 16), 1 << 16) if settings.quick else ((8, 12, 16, 24), 1 << 19)
    epsilons = (0.2, 1.4) if settings.quick else (0.2, 0.4, 0.6, 0.8, 1.1, 1.4)
    with steps_bar("figure 4.5", len(sizes) * len(epsilons)) as step:
        for attributes in sizes:
            for epsilon in epsilons:
                bits = flight_bits(attributes)
                measured = {
                    method.name: panels.add("flights", bits, devices, 2, epsilon, method).mean
                    for method in (INP_EM, INP_HT, MARG_PS, OURS)
                }
                if epsilon >= 0.8 and attributes >= 16:
                    panels.result.expect(
                        measured["inp-em, em"] > measured["inp-ht"], f"em is better at d = {attributes}"
                    )
                step()
    yield panels.result


def by_epsilon(settings: Settings) -> Iterator[Result]:
    """Figure 4.6: N = 2^18, epsilon 0.4 .. 1.4."""
    panels = Panels("figure-4.6", "Figure 4.6: total variation by epsilon", settings, "epsilon")
    sizes, devices = ((8,), 1 << 16) if settings.quick else ((4, 8, 16), 1 << 18)
    epsilons = (0.4, 1.4) if settings.quick else (0.4, 0.6, 0.8, 1.0, 1.2, 1.4)
    orders = (2,) if settings.quick else (1, 2, 3)
    data = ("synthetic",) if settings.quick else tuple(DATA)
    with steps_bar("figure 4.6", len(data) * len(sizes) * len(orders) * len(epsilons)) as step:
        for name in data:
            for attributes in sizes:
                for order in orders:
                    for epsilon in epsilons:
                        for method in methods_for(attributes):
                            panels.add(name, DATA[name](attributes), devices, order, epsilon, method)
                        step()
    yield panels.result


def oracles(settings: Settings) -> Iterator[Result]:
    """Figure 4.7: against local hashing and a Hadamard sketch of 5 x 256, e^epsilon = 3, k = 2, synthetic."""
    panels = Panels("figure-4.7", "Figure 4.7: total variation by attributes, against oracles", settings, "attributes")
    sizes, devices = ((4, 8), 1 << 16) if settings.quick else ((4, 6, 8, 10, 12, 16, 20), 1 << 18)
    with steps_bar("figure 4.7", len(sizes)) as step:
        for attributes in sizes:
            methods = (OURS, INP_HT, INP_OLH, *((SKETCH,) if attributes <= 16 else ()))
            ours, *others = (panels.add("synthetic", skewed(attributes), devices, 2, EPSILON, m) for m in methods)
            if attributes >= 8:  # below, local hashing is as good
                least = min(others, key=lambda measured: measured.mean)
                slack = 3 * sqrt((ours.spread**2 + least.spread**2) / settings.runs)
                panels.result.expect(ours.mean < least.mean + slack, f"an oracle is better at d = {attributes}")
            step()
    yield panels.result
