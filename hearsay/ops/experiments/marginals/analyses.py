"""Figures 4.2, 4.8 and 4.9: correlations, tests of independence and trees, private beside not private."""

from collections.abc import Iterator
from itertools import combinations
from math import log
from typing import Any

import numpy as np

from hearsay.mechanisms.marginals.analyses.association import associate
from hearsay.mechanisms.marginals.analyses.correlation import coefficient, correlation
from hearsay.mechanisms.marginals.analyses.information import mutual_information
from hearsay.mechanisms.marginals.analyses.tree import spanning_tree
from hearsay.ops.experiments.lines import line_style
from hearsay.ops.experiments.marginals.data import FLIGHT_ATTRIBUTES, People, chained, flight_bits
from hearsay.ops.experiments.marginals.runs import INP_HT, MARG_PS, OURS, Method, Settings, build, survey
from hearsay.ops.experiments.output import Result
from hearsay.ops.terminal.heat_map import LEGEND, Cell, colour_bars, paint
from hearsay.ops.terminal.progress import steps_bar

UNIFORM = Method("inp-ht, ours, even levels", OURS.made, {"weights": "uniform"})
CRITICAL = 3.841  # of chi-squared with one degree of freedom at 5%


def heat_map(settings: Settings) -> Iterator[Result]:
    """Figure 4.2: Pearson's coefficient of every pair of the flights' attributes, N = 2^18, e^epsilon = 3."""
    generator = settings.generator
    devices = 1 << 16 if settings.quick else 1 << 18
    people = flight_bits(8).drawn(devices, generator)
    estimate = survey(build(OURS, 8, 2, log(3)), people, settings.random, generator)
    title = f"Figure 4.2: correlations, N = {devices:,}, e^epsilon = 3"
    result = Result("figure-4.2", title, ["one", "other", "true", "private", "stderr"], [])
    true: list[Cell] = []
    private: list[Cell] = []
    for pair in combinations(range(8), 2):
        expected = coefficient(people.marginal(pair), (2, 2))
        value, stderr, low, high = correlation(estimate.table(pair))
        true.append(Cell(pair, "pearson", expected))
        private.append(Cell(pair, "pearson", value, low, high))
        names = FLIGHT_ATTRIBUTES[pair[0]], FLIGHT_ATTRIBUTES[pair[1]]
        result.rows.append([*names, round(expected, 4), round(value, 4), round(stderr, 4)])
        result.expect(abs(value - expected) < 6 * stderr, f"{names}: {value:.3f} for {expected:.3f}")
    result.draw = lambda figure: _two_maps(figure, true, private)
    yield result


def _two_maps(figure: Any, true: list[Cell], private: list[Cell]) -> None:
    figure.set_size_inches(11, 6)
    axes = figure.subplots(1, 2, sharey=True)
    for axis, cells, title in zip(axes, (true, private), ("true", f"private ({LEGEND})"), strict=True):
        images = paint(axis, FLIGHT_ATTRIBUTES, cells, fontsize=6.5)
        axis.set_title(title, fontsize=9)
    colour_bars(figure, axes, private, images)


def association(settings: Settings) -> Iterator[Result]:
    """Figure 4.8: chi-squared of associated and unassociated pairs, N = 2^18, epsilon 1.1, naive and noise-aware."""
    generator, devices = settings.generator, 1 << 16 if settings.quick else 1 << 18
    data = _with_unrelated(flight_bits(8))
    pairs = [(0, 1), (3, 4), (2, 7), (8, 9), (2, 8), (5, 9)]
    names = [*FLIGHT_ATTRIBUTES, "coin", "die"]
    columns = ["pair", "associated", "not private", "method", "naive", "noise-aware", "naive rejects", "ours rejects"]
    result = Result(
        "figure-4.8",
        f"Figure 4.8: chi-squared, N = {devices:,}, epsilon 1.1, critical value {CRITICAL}",
        columns,
        [],
        "medians of the runs and shares of runs that reject; pairs with the coin or the die are independent by "
        "construction: the naive test rejects them nearly always, which the dissertation calls a type I error where it "
        "fails to reject: it is the other way round",
    )
    with steps_bar("figure 4.8", settings.runs) as step:
        runs_by_pair: dict[tuple[str, tuple[int, int]], list[tuple[float, float, float, bool]]] = {}
        for _ in range(settings.runs):
            people = data.drawn(devices, generator)
            for method in (INP_HT, MARG_PS, UNIFORM):
                estimate = survey(build(method, 10, 2, 1.1), people, settings.random, generator)
                for pair in pairs:
                    test = associate(estimate.table(pair))
                    table = people.marginal(pair).reshape(2, 2)
                    even = np.outer(table.sum(axis=1), table.sum(axis=0))
                    exact = devices * float(((table - even) ** 2 / even).sum())
                    runs_by_pair.setdefault((method.name, pair), []).append(
                        (exact, test.naive_statistic, test.statistic, test.p_value < 0.05)
                    )
            step()
    for (name, pair), runs in runs_by_pair.items():
        exact, naive, ours, rejected = np.array(runs, dtype=float).T
        label = f"{names[pair[0]]}, {names[pair[1]]}"
        associated = max(pair) < 8
        result.rows.append(
            [label, associated, round(float(np.median(exact)), 2), name, round(float(np.median(naive)), 2),
             round(float(np.median(ours)), 2), f"{(naive > CRITICAL).mean():.0%}", f"{rejected.mean():.0%}"]
        )  # fmt: skip
        if not associated and len(runs) >= 10:
            result.expect(
                rejected.mean() <= 0.5, f"{label}, {name}: {rejected.mean():.0%} rejected without association"
            )
    result.draw = lambda figure: _points(figure, result.rows)
    yield result


def _with_unrelated(people: People) -> People:
    """Two more attributes that nothing depends on: a coin, and a die that shows six."""
    more = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    times = np.array([5, 1, 5, 1])
    rows = np.concatenate([np.repeat(people.rows, 4, axis=0), np.tile(more, (len(people.rows), 1))], axis=1)
    return People(rows, (people.counts[:, None] * times).reshape(-1))


def _points(figure: Any, rows: list[list[Any]]) -> None:
    """Hollow: naive, filled: noise-aware; crosses: without privacy. Above the line a test rejects."""
    axis = figure.subplots()
    pairs = list(dict.fromkeys((row[0], row[1]) for row in rows))
    methods = list(dict.fromkeys(row[3] for row in rows))
    first_free = sum(associated for _, associated in pairs)
    axis.axvspan(first_free - 0.5, len(pairs) - 0.5, color="0.93", label="independent by construction")
    axis.axhline(CRITICAL, color="black", linewidth=0.8, linestyle="--", label=f"critical value {CRITICAL}")
    exact = [next(row[2] for row in rows if row[0] == pair) for pair, _ in pairs]
    axis.plot(np.arange(len(pairs)) - 0.3, exact, "kx", label="without privacy")
    for number, method in enumerate(methods):
        x = np.arange(len(pairs)) - 0.1 + 0.2 * number
        for column, kind, fill in ((4, "naive", "none"), (5, "noise-aware", f"C{number}")):
            heights = [next(row[column] for row in rows if (row[0], row[3]) == (pair, method)) for pair, _ in pairs]
            axis.plot(x, heights, "o", color=f"C{number}", markerfacecolor=fill, label=f"{method}, {kind}")
    axis.set(yscale="log", ylabel="chi-squared, median of the runs", xlim=(-0.5, len(pairs) - 0.5))
    axis.set_xticks(range(len(pairs)), [pair for pair, _ in pairs], rotation=20, ha="right", fontsize=7)
    figure.legend(loc="outside lower center", fontsize=7, ncols=3)


def trees(settings: Settings) -> Iterator[Result]:
    """Figure 4.9: true mutual information of private trees, d = 10, N = 200,000, synthetic."""
    generator, devices = settings.generator, 50_000 if settings.quick else 200_000
    epsilons = (0.4, 1.1) if settings.quick else (0.2, 0.4, 0.6, 0.8, 1.1, 1.4)
    result = Result(
        "figure-4.9",
        f"Figure 4.9: true mutual information (nats) of the tree's edges, d = 10, N = {devices:,}",
        ["epsilon", "method", "information", "+-", "best tree", "share"],
        [],
        "share: of the information of the tree that is found without privacy",
    )
    data = chained(10)
    with steps_bar("figure 4.9", len(epsilons)) as step:
        for epsilon in epsilons:
            for method in (INP_HT, MARG_PS, UNIFORM):
                shares, totals, best = [], [], []
                for _ in range(settings.runs):
                    people = data.drawn(devices, generator)
                    true = {
                        pair: float(mutual_information(people.marginal(pair).reshape(2, 2)))
                        for pair in combinations(range(10), 2)
                    }
                    estimate = survey(build(method, 10, 2, epsilon), people, settings.random, generator)
                    noisy = {
                        pair: float(mutual_information(estimate.table(pair).projected.reshape(2, 2))) for pair in true
                    }
                    total = sum(true[edge] for edge in spanning_tree(10, noisy))
                    most = sum(true[edge] for edge in spanning_tree(10, true))
                    totals.append(total)
                    best.append(most)
                    shares.append(total / most)
                result.rows.append(
                    [epsilon, method.name, round(float(np.mean(totals)), 4), round(float(np.std(totals)), 4),
                     round(float(np.mean(best)), 4), round(float(np.mean(shares)), 4)]
                )  # fmt: skip
            step()
    result.draw = lambda figure: _tree_lines(figure, result.rows)
    yield result


def _tree_lines(figure: Any, rows: list[list[Any]]) -> None:
    axis = figure.subplots()
    methods = list(dict.fromkeys(row[1] for row in rows))
    for number, method in enumerate(methods):
        own = [(row[0], row[2], row[3]) for row in rows if row[1] == method]
        style = line_style(number, len(methods)) | {"elinewidth": 1, "capsize": 2}
        axis.errorbar(*zip(*own, strict=True), label=method, **style)
    best = sorted({(row[0], row[4]) for row in rows if row[1] == rows[0][1]})
    axis.plot(*zip(*best, strict=True), "k--", label="without privacy")
    axis.set(xlabel="epsilon", ylabel="true mutual information of the tree, nats")
    axis.legend()
