"""Figure 2 of Acharya et al.: total variation error by number of reports, with plain privacy and 10 to 100 blocks."""

from math import sqrt
from typing import Any

import numpy as np

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.ops.experiments.context_aware.blocks import EPSILON, errors, in_blocks, plain
from hearsay.ops.experiments.lines import line_style, log_scale
from hearsay.ops.experiments.output import Result

SIZE = 1000
BLOCKS = (10, 20, 50, 100)
# The paper does not state lambda, so these are our choice, and the geometric one matters: if a few values have nearly
# all the mass (0.2, 0.8), the raw error still decreases with every step to more blocks, but the projected one increases
# in a few of the 40 steps; `--geometric` shows it.
GEOMETRIC, ZIPF = 0.02, 1.0
Points = list[tuple[float, float]]  # mean and standard error at each number of reports


def distributions(generator: np.random.Generator, rate: float = GEOMETRIC) -> dict[str, Floats]:
    """The distributions of the four panels; the last one spreads the frequent values over the blocks."""
    index = np.arange(SIZE)
    geometric = (1 - rate) ** index * rate
    return {
        "uniform": np.full(SIZE, 1 / SIZE),
        f"geometric({rate:g})": geometric / geometric.sum(),
        f"zipf({ZIPF})": (index + 1.0) ** -ZIPF / ((index + 1.0) ** -ZIPF).sum(),
        f"geometric({rate:g}) permuted": generator.permutation(geometric / geometric.sum()),
    }


def figure_2(quick: bool, generator: np.random.Generator, geometric: float = GEOMETRIC) -> Result:
    """Mean errors over repetitions; they must decrease with the number of blocks at every number of reports."""
    repetitions, doublings = (3, 6) if quick else (10, 10)
    mechanisms = {"plain": plain(SIZE)} | {f"{count} blocks": in_blocks(SIZE, SIZE // count) for count in BLOCKS}
    reports = [1000 * 2**step for step in range(doublings)]
    rows: list[list[Any]] = []
    lines: dict[str, dict[str, Points]] = {}
    for panel, shares in distributions(generator, geometric).items():
        lines[panel] = {name: [] for name in mechanisms}
        for n in reports:
            samples = [generator.choice(SIZE, size=n, p=shares) for _ in range(repetitions)]
            for name, mechanism in mechanisms.items():
                runs = [errors(mechanism, cells, shares, int(generator.integers(1 << 62))) for cells in samples]
                raw, projected = np.mean(runs, axis=0).tolist()
                stderr = float(np.std(runs, axis=0, ddof=1)[1]) / sqrt(repetitions)
                rows.append([panel, n, name, raw, projected, stderr])
                lines[panel][name].append((projected, stderr))
    result = Result(
        "figure-2",
        f"Figure 2: total variation error, {SIZE} values, epsilon {EPSILON:g}, mean of {repetitions} runs",
        ["distribution", "reports", "privacy", "raw", "projected", "standard error"],
        rows,
        caption="projected: shares projected onto the simplex, as plotted; raw: the unbiased shares. The paper does "
        f"not state lambda: geometric({geometric:g}) is our choice. If a few values have nearly all the mass "
        "(--geometric 0.8), the projected error does not decrease at every step",
        draw=lambda figure: _draw(figure, reports, lines),
        bars="one standard error",
    )
    for panel, by_name in lines.items():
        table = np.array(list(by_name.values()))[:, :, 0]
        falls = bool((np.diff(table, axis=0) < 0).all())
        result.expect(falls, f"the error of {panel} does not fall with the number of blocks at every number of reports")
    return result


def _draw(figure: Any, reports: list[int], lines: dict[str, dict[str, Points]]) -> None:
    figure.set_size_inches(8, 6.4)
    axes = figure.subplots(2, 2, sharex=True)
    for axis, (panel, by_name) in zip(axes.flat, lines.items(), strict=True):
        for number, (name, points) in enumerate(by_name.items()):
            values, stderr = zip(*points, strict=True)
            axis.errorbar(reports, values, stderr, label=name, elinewidth=1, **line_style(number, len(by_name)))
        log_scale(axis, "x")
        log_scale(axis, "y")
        axis.set_title(panel, fontsize=9)
        axis.grid(alpha=0.3)
    for axis in axes[1]:
        axis.set_xlabel("reports")
    for axis in axes[:, 0]:
        axis.set_ylabel("total variation error")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=len(lines) + 1, fontsize=8)
