"""Answers as a list that shows itself as a table, becomes a data frame and draws itself."""

from collections.abc import Sequence
from typing import Any

from hearsay.collector.showing import Rows, imported, text_of
from hearsay.mechanisms.queries.answer import Answer

_ENDS = 2  # an item that is a bin or a range is a list of its two ends


class Answers(Rows[Answer]):
    """A list of answers; in a notebook it shows itself as a table.

    >>> Answers([Answer("point 3", 0.25, 0.01)])
    query    value  stderr  low     high
    point 3  0.25   0.01    0.2304  0.2696
    """

    def plot(self, axes: Any = None, truth: Sequence[float | None] | None = None) -> Any:
        """The chart of these answers on matplotlib axes, made where none are given; `truth` is drawn beside them."""
        if axes is None:
            axes = new_axes()
        draw(axes, self, truth)
        return axes


def new_axes() -> Any:
    """Axes of a figure of their own."""
    imported("matplotlib", "experiments")
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def draw(axes: Any, answers: Sequence[Answer], truth: Sequence[float | None] | None = None) -> None:
    """Values over their positions, with their intervals as vertical lines.

    Values are points; from 40 on they are a line, unless they have labels. `truth` has one value per answer.
    """
    positions, labels = _positions(answers)
    for position, each in zip(positions, answers, strict=True):
        if each.low is not None and each.high is not None:
            axes.plot([position, position], [each.low, each.high], color="tab:blue", alpha=0.4, linewidth=2)
    known = [
        (position, each.value) for position, each in zip(positions, answers, strict=True) if each.value is not None
    ]
    style = "o" if labels is not None or len(known) < 40 else "-"
    axes.plot([one for one, _ in known], [value for _, value in known], style, color="tab:blue", label="answer")
    if truth is not None:
        true = [(position, value) for position, value in zip(positions, truth, strict=True) if value is not None]
        axes.plot([one for one, _ in true], [value for _, value in true], "k_", markersize=9, label="truth")
        axes.legend()
    if labels is not None:
        axes.set_xticks(positions, labels, rotation=45, ha="right")
    axes.set_title(answers[0].query if len({each.query for each in answers}) == 1 else "answers")


def _positions(answers: Sequence[Answer]) -> tuple[list[float], list[str] | None]:
    """The horizontal position of each answer: its item or the middle of its bin; else 0, 1, 2 and so on, and labels."""
    # Only quantiles have a band. Their item is the cell of their value, which is the height already.
    numbers = [_middle(each.item) if each.band is None else None for each in answers]
    if len(answers) > 1 and all(number is not None for number in numbers):
        return [number for number in numbers if number is not None], None
    return [float(position) for position in range(len(answers))], [_label(each) for each in answers]


def _middle(item: Any) -> float | None:
    if isinstance(item, list | tuple) and len(item) == _ENDS:
        item = (item[0] + item[1]) / 2 if all(isinstance(end, int | float) for end in item) else None
    return float(item) if isinstance(item, int | float) and not isinstance(item, bool) else None


def _label(each: Answer) -> str:
    if each.cell is not None:
        return ", ".join(f"{name} {text_of(value)}" for name, value in each.cell.items())
    return each.query if each.item is None or each.band is not None else str(each.item)
