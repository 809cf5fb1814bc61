"""How matrices, curves and bars are drawn."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.ops.experiments.lines import line_style

Floats = NDArray[np.float64]


def heat_maps(figure: Any, matrices: Sequence[tuple[str, Floats]], columns: int) -> None:
    """Matrices side by side, output down and input across, numbers in the cells of small ones."""
    rows = -(-len(matrices) // columns)
    figure.set_size_inches(3.2 * columns, 3.3 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.ravel()[len(matrices) :]:
        axes.set_axis_off()
    for axes, (title, matrix) in zip(grid.ravel(), matrices, strict=False):
        shown = axes.imshow(matrix, cmap="Blues", vmin=0)
        axes.set(title=title, xlabel="input", ylabel="output")
        ticks = np.arange(0, len(matrix), max(1, len(matrix) // 8))
        axes.set_xticks(ticks)
        axes.set_yticks(ticks)
        if len(matrix) <= 8:
            for (row, column), share in np.ndenumerate(matrix):
                dark = share > 0.6 * matrix.max()
                axes.text(column, row, f"{share:.2f}", ha="center", va="center", fontsize=6,
                          color="white" if dark else "black")  # fmt: skip
        figure.colorbar(shown, ax=axes, shrink=0.8, label="probability")


def curves(
    figure: Any,
    panels: Mapping[str, Mapping[str, Sequence[tuple[float, float, float]]]],
    columns: int,
    x: str,
    y: str,
) -> None:
    """Panels of lines: points are (x, y, half of an error bar); one legend for all."""
    rows = -(-len(panels) // columns)
    figure.set_size_inches(3.6 * columns, 3.0 * rows + 0.4)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.ravel()[len(panels) :]:
        axes.set_axis_off()
    styles: dict[str, Any] = {}
    for axes, (title, lines) in zip(grid.ravel(), panels.items(), strict=False):
        for number, (name, points) in enumerate(lines.items()):
            at, value, error = (np.array(part, dtype=np.float64) for part in zip(*points, strict=True))
            style = line_style(number, len(lines)) | {"elinewidth": 1}
            styles[name] = axes.errorbar(at, value, yerror(error), **style)
        axes.set(title=title, xlabel=x, ylabel=y)
        axes.title.set_fontsize(9)
    figure.legend(styles.values(), styles.keys(), loc="outside lower center", ncols=min(len(styles), 7), fontsize=8)


def yerror(half: Floats) -> Floats | None:
    """Error bars where there are any."""
    return half if half.any() else None
