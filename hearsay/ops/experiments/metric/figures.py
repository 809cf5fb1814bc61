"""Figures 1 and 2 of Xiang, Ding, He, Zhou: sensitive values against plain LDP; cells and ranges against theorem 2."""

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import build
from hearsay.mechanisms.catalogue import parse_domain
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.distances import distances
from hearsay.mechanisms.metric.bounds import cell_bound, range_bound
from hearsay.mechanisms.metric.collector_modes import KeptReports
from hearsay.mechanisms.metric.l1 import MetricL1Signs
from hearsay.mechanisms.metric.noise_rates import CONTINUOUS, LATTICE, Noise, optimise
from hearsay.mechanisms.metric.sign_estimate import SignEstimate
from hearsay.ops.experiments.lines import line_style
from hearsay.ops.experiments.output import Result

VALUES = 100
# Total squared error / n by number of sensitive values: the paper's continuous noise, and ours on the integers.
EXPECTED_1 = {
    1: (356.2, 340.0),
    5: (493.7, 477.4),
    10: (584.4, 568.1),
    20: (692.9, 676.5),
    40: (789.2, 772.8),
    60: (800.0, 783.5),
}
TOLERANCE_1 = 0.005
DEVICES_1 = 500
REPORTS_2, CELLS_2, RUNS_2, RANGES_2, ZIPF = 1000, 10, 3, 100, 1.1
RANGE_RUNS_2 = 50  # most of them on the fly (`metric.collector_modes`), without a grid of a million cells
STANDARD_ERRORS = 6  # of a mean of so many runs: a correct program is further off less than once in a million times
EPSILONS_2 = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)


def figure_1(quick: bool, random: Random) -> Result:
    """Total squared error of frequencies under E_S, by the number of sensitive values, epsilon 1."""
    counts = sorted({*EXPECTED_1, VALUES, *([] if quick else range(1, VALUES + 1))})
    plain = [_total({"kind": "ldp"}, {}, noise) for noise in (CONTINUOUS, LATTICE)]
    result = Result(
        "figure-1",
        f"Figure 1: total squared error / n, {VALUES} values, epsilon 1, |S| sensitive ones",
        [
            "|S|",
            "continuous",
            "expected",
            "lattice",
            "expected lattice",
            "measured lattice",
            "standard error",
            "LDP",
            "LDP lattice",
        ],
        [],
        f"measured: laplace-histogram, {DEVICES_1} devices, averaged over runs; expected: the paper's algebra",
    )
    for count in counts:
        sensitive = {"sensitive": [*range(count)]}
        totals = [_total({"kind": "sensitive"}, sensitive, noise) for noise in (CONTINUOUS, LATTICE)]
        expected = EXPECTED_1.get(count, (None, None))
        measured, stderr = (None, None)
        if count in EXPECTED_1:
            measured, stderr = _measured_total(count, 60 if quick else 300, random)
        result.rows.append([count, totals[0], expected[0], totals[1], expected[1], measured, stderr, *plain])
        for total, wanted in zip(totals, expected, strict=True):
            if wanted is not None:
                within = abs(total / wanted - 1) <= TOLERANCE_1
                result.expect(within, f"|S| = {count} gives {total:.1f} where {wanted} is expected")
        if measured is not None:
            # One sensitive value alone makes a fifth of the error: 5 standard deviations at 60 runs.
            result.expect(abs(measured / totals[1] - 1) < 0.2, f"|S| = {count} measured {measured:.1f}")

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        columns = list(zip(*result.rows, strict=True))
        labels = {1: "E_S, continuous (paper)", 3: "E_S, integers (ours)", 7: "LDP, continuous", 8: "LDP, integers"}
        for number, (column, label) in enumerate(labels.items()):
            axes.plot(columns[0], columns[column], label=label, **{**line_style(number, len(labels)), "marker": ""})
        points = [(row[0], row[5], row[6]) for row in result.rows if row[5] is not None]
        style = {"fmt": "o", "color": "black", "markersize": 4, "zorder": 3}
        axes.errorbar(*zip(*points, strict=True), **style, label="measured, integers")
        axes.set(xlabel="sensitive values |S|", ylabel="total squared error / n")
        axes.legend()

    result.draw, result.bars = draw, "one standard error"
    return result


def _total(metric: dict[str, Any], domain: dict[str, Any], noise: Noise) -> float:
    bound = distances(metric, parse_domain({"kind": "categorical", "size": VALUES, **domain}))
    return float(noise.variance(optimise(np.eye(VALUES, dtype=np.int64), np.ones(VALUES), bound, noise)).sum())


def _measured_total(count: int, runs: int, random: Random) -> tuple[float, float]:
    """The total measured with the mechanism, and its standard error: reports are drawn, folded and estimated."""
    domain = {"kind": "categorical", "size": VALUES, "sensitive": [*range(count)]}
    mechanism = build({"mechanism": "laplace-histogram", "epsilon": 1.0, "domain": domain})
    cells = np.arange(DEVICES_1) % VALUES
    errors = []
    for _ in range(runs):
        estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random)))
        errors.append(DEVICES_1 * float(((estimate.arrays()["estimate"] - 1 / VALUES) ** 2).sum()))
    return float(np.mean(errors)), float(np.std(errors, ddof=1)) / runs**0.5


def figure_2(axes: int, quick: bool, random: Random) -> Result:
    """Squared error of counts: all cells and random ranges, anchored beside literal, against theorem 2.

    What holds of ranges, and is checked: the measured error is the exact one, as far as so many runs can tell; no range
    has more than `largest_variance`; and the mean of the anchored form lies within theorem 2. The literal form's mean
    may lie above it, and single ranges of either form may lie above theorem 3: the proofs take correlated observations
    for independent ones.
    """
    generator = np.random.default_rng(axes)
    weights = np.arange(1, CELLS_2 + 1) ** -ZIPF
    cells = generator.choice(CELLS_2, size=(REPORTS_2, axes), p=weights / weights.sum())
    ends = np.sort(generator.integers(0, CELLS_2, (RANGES_2, 2, axes)), axis=1)
    cut = ((ends[:, 0] > 0) | (ends[:, 1] < CELLS_2 - 1)).sum(axis=1)
    result = Result(
        f"figure-2-{axes}d",
        f"Figure 2: squared error of counts, D = {axes}, m = {CELLS_2}, n = {REPORTS_2}, Zipf {ZIPF}",
        ["epsilon", "form", "cells", "exact", "cells / exact", "ranges", "exact ranges", "ranges / exact", "theorem 2",
         "cells / theorem 2", "ranges / theorem 2", "worst range / theorem 3"],
        [],
        f"means over all {CELLS_2**axes:,} cells and {RUNS_2} runs, over {RANGES_2} random ranges and {RANGE_RUNS_2} "
        "runs; exact: the variance that standard errors claim, for these devices; worst: the exact one",
    )  # fmt: skip
    noise: dict[tuple[str, str], list[float]] = {
        key: [] for key in product(("cells", "ranges"), ("anchored", "literal"))
    }
    for epsilon in EPSILONS_2[:: 2 if quick else 1]:
        correlation = float(np.tanh(epsilon / 2))
        bound = REPORTS_2 * cell_bound(correlation, axes)
        limits = REPORTS_2 * largest_variance(correlation, axes, cut)
        allowed = REPORTS_2 * np.array([range_bound(correlation, axes, int(count)) for count in cut])
        for anchored in (True, False):
            form = "anchored" if anchored else "literal"
            subject = f"epsilon {epsilon} {form}"
            measured = _errors(epsilon, anchored, cells, ends, random)
            ratio, ranges, exact = (
                measured.cells / measured.exact_cells,
                measured.ranges.mean(),
                measured.exact_ranges.mean(),
            )
            worst = float((measured.exact_ranges / allowed).max())
            result.rows.append(
                [epsilon, form, measured.cells, measured.exact_cells, ratio, ranges, exact, ranges / exact, bound,
                 measured.cells / bound, ranges / bound, worst]
            )  # fmt: skip
            result.expect(0.8 < ratio < 1.25, f"{subject}: cells {ratio:.2f} times the exact variance")
            stderr = float(measured.ranges.std(ddof=1)) / RANGE_RUNS_2**0.5
            noise["cells", form].append(measured.cells_stderr)
            noise["ranges", form].append(stderr)
            within = abs(ranges - exact) <= STANDARD_ERRORS * stderr
            result.expect(within, f"{subject}: ranges {ranges / exact:.2f} times the exact variance")
            result.expect(
                bool((measured.exact_ranges <= limits).all()), f"{subject}: a range above any that is possible"
            )
            if anchored:
                result.expect(ranges <= bound, f"{subject}: ranges {ranges / bound:.2f} times theorem 2")

    def draw(figure: Any) -> None:
        plot = figure.subplots()
        for number, (form, (column, what)) in enumerate(
            product(("anchored", "literal"), ((2, "cells"), (5, "ranges")))
        ):
            chosen = [row for row in result.rows if row[1] == form]
            errors = [row[column] for row in chosen]
            style = line_style(number, 4) | {"elinewidth": 1}
            plot.errorbar([row[0] for row in chosen], errors, noise[what, form], label=f"{what}, {form}", **style)
        plot.plot([row[0] for row in chosen], [row[8] for row in chosen], "k:", label="theorem 2")
        plot.set(xlabel="epsilon", ylabel="squared error of counts", yscale="log")
        plot.legend()

    result.draw, result.bars = draw, "one standard error"
    return result


def largest_variance(correlation: float, axes: int, cut: NDArray[np.int64]) -> NDArray[np.float64]:
    """n Var of ranges that cut so many axes when every device is inside, where it is largest: theorem 3 corrected.

    A report's second moment is the product of (1 + c^2)/(2 c^2) for an axis that is cut and 1/c^2 for one that is not;
    outside a cut the factor is (1 - c^2)/(2 c^2), which is less by more than the 1 that the inside subtracts. Theorem 3
    has 1 in place of 1 + c^2. The anchored form has smaller factors at the ends of an axis, and the same between them.
    """
    c2 = correlation**2
    return ((1 + c2) / (2 * c2)) ** cut * c2 ** -(axes - cut).astype(np.float64) - 1


class Errors(NamedTuple):
    """Squared errors of counts: the mean over all cells, and of ranges the mean of every run; exact: of every range."""

    cells: float
    cells_stderr: float
    exact_cells: float
    ranges: NDArray[np.float64]
    exact_ranges: NDArray[np.float64]


def _errors(
    epsilon: float, anchored: bool, cells: NDArray[np.int64], ends: NDArray[np.int64], random: Random
) -> Errors:
    domain = {"kind": "grid", "sizes": [CELLS_2] * cells.shape[1]}
    mechanism = build(
        {"mechanism": "metric-l1", "epsilon": epsilon, "domain": domain, "options": {"anchored": anchored}}
    )
    assert isinstance(mechanism, MetricL1Signs)
    low, high = ends[:, 0], ends[:, 1]
    # Signs without noise give the true shares, and standard errors that know them.
    signs = mechanism.signs.observe(mechanism.signs.pack(cells)) / len(cells)
    truth = SignEstimate.of(mechanism.domain, len(cells), signs, mechanism.noise)
    inside, stderr, *_ = truth.plain_ranges(low, high)
    scale = float(len(cells)) ** 2
    cell_errors, range_errors = [], []
    for run in range(RANGE_RUNS_2):
        reports = mechanism.perturb(cells, random)
        if run < RUNS_2:
            estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), reports))
            cell_errors.append(scale * float(((estimate.estimate - truth.estimate) ** 2).mean()))
            answers = estimate.ranges(low, high).value
        else:
            answers = KeptReports(mechanism, reports["bits"]).ranges(low, high).value
        range_errors.append(scale * float(((answers - inside) ** 2).mean()))
    exact_cells = scale * float((truth.stderr**2).mean())
    cells_stderr = float(np.std(cell_errors, ddof=1)) / RUNS_2**0.5
    return Errors(float(np.mean(cell_errors)), cells_stderr, exact_cells, np.array(range_errors), scale * stderr**2)
