"""A heat map of coefficients between pairs of attributes, with how sure each of them is.

Pearson's coefficient has a sign and Cramer's V has none: each kind has its own colours and its own colour bar, and a
letter in its cells where both occur. A cell is pale where its 95% interval contains 0, and says half the width of that
interval below its value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from hearsay.mechanisms.queries.answer import Answer

_KINDS = {  # colours and least value of a coefficient, its name, and its letter where both kinds occur
    "pearson": ("RdBu_r", -1.0, "r: Pearson's coefficient", "r"),
    "cramers-v": ("Purples", 0.0, "V: Cramer's V (no sign)", "V"),
}
LEGEND = "pale: the 95% interval contains 0; +-: half its width"
_PALE = 0.3
_MOST_NAMES = 16  # beyond it numbers do not fit into the cells


@dataclass(frozen=True)
class Cell:
    """The coefficient of two attributes, by their numbers; None where unknown, without ends where it is exact."""

    pair: tuple[int, int]
    kind: str
    value: float | None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, answer: Answer, pair: tuple[int, int]) -> "Cell":
        """What an answer of `correlations` says."""
        return cls(pair, answer.coefficient or "pearson", answer.value, answer.low, answer.high)

    @property
    def unsure(self) -> bool:
        """Whether there may be no association at all."""
        return self.low is not None and self.high is not None and self.low <= 0 <= self.high

    @property
    def words(self) -> str:
        """What stands in the cell.

        >>> Cell((0, 1), "pearson", -0.001, -0.06, 0.04).words
        '0.00\\n+-0.05'
        """
        if self.value is None or not isfinite(self.value):
            return "?"
        shown = f"{round(self.value, 2) + 0.0:.2f}"  # no "-0.00"
        if self.low is None or self.high is None:
            return shown
        return f"{shown}\n+-{(self.high - self.low) / 2:.2f}"


def kinds_of(cells: Sequence[Cell]) -> list[str]:
    """The kinds of coefficients that occur, Pearson's first."""
    return [kind for kind in _KINDS if any(cell.kind == kind for cell in cells)]


def paint(axis: Any, names: Sequence[str], cells: Sequence[Cell], fontsize: float = 8) -> list[Any]:
    """Draw the cells, each at both its places; returns what the colour bars are made from."""
    size = len(names)
    axis.imshow([[0.15 if one == other else nan for one in range(size)] for other in range(size)],
                cmap="Greys", vmin=0, vmax=1)  # fmt: skip
    images = []
    mixed = len(kinds_of(cells)) > 1
    for kind in kinds_of(cells):
        colours, least, *_ = _KINDS[kind]
        values = [[nan] * size for _ in range(size)]
        opacity = [[1.0] * size for _ in range(size)]
        for cell in cells:
            for row, column in (cell.pair, cell.pair[::-1]) if cell.kind == kind else ():
                values[row][column] = nan if cell.value is None else cell.value
                opacity[row][column] = _PALE if cell.unsure else 1.0
        images.append(axis.imshow(values, cmap=colours, vmin=least, vmax=1, alpha=opacity))
    for cell in cells if size <= _MOST_NAMES else ():
        dark = abs(cell.value or 0.0) > 0.6 and not cell.unsure
        words = f"{_KINDS[cell.kind][3]} {cell.words}" if mixed else cell.words
        for row, column in (cell.pair, cell.pair[::-1]):
            axis.text(column, row, words, ha="center", va="center", fontsize=fontsize,
                      color="white" if dark else "black")  # fmt: skip
    axis.set_xticks(range(size), names, rotation=60, ha="right")
    axis.set_yticks(range(size), names)
    return images


def colour_bars(figure: Any, axes: Any, cells: Sequence[Cell], images: Sequence[Any]) -> None:
    """One bar for each kind of coefficient, with its name."""
    for kind, image in zip(kinds_of(cells), images, strict=True):
        figure.colorbar(image, ax=axes, label=_KINDS[kind][2], shrink=0.8)
