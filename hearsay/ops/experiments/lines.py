"""Styles of curves, so that none hides another: the first ones are wide and solid, the later ones narrow and dashed.

Two curves that coincide then look like one with a rim and gaps. Hollow markers of different shapes and sizes do the
same for their points. So curves differ by more than their colour.
"""

from typing import Any

_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)), (0, (1, 1.5)))
_MARKERS = "osD^vXP*"
_WIDEST, _NARROWEST = 3.4, 1.1  # points


def log_scale(axes: Any, which: str) -> None:
    """Make the axis `x` or `y` logarithmic, with numbers such as 0.6 instead of 6 x 10^-1."""
    from matplotlib.ticker import LogFormatter

    class Plain(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:,.6g}" if super().__call__(x, pos) else ""

    axes.set(**{f"{which}scale": "log"})
    axis = getattr(axes, f"{which}axis")
    axis.set_major_formatter(Plain())
    axis.set_minor_formatter(Plain(minor_thresholds=(1.5, 0.7)))


def line_style(number: int, of: int) -> dict[str, Any]:
    """Matplotlib's settings of curve `number` (from 0) among `of` in the same axes.

    >>> [round(line_style(number, 3)["linewidth"], 2) for number in range(3)]
    [3.4, 2.25, 1.1]
    """
    rest = 1.0 if of < 2 else 1 - number / (of - 1)
    return {
        "color": f"C{number % 10}",
        "linestyle": _DASHES[number % len(_DASHES)],
        "linewidth": _NARROWEST + rest * (_WIDEST - _NARROWEST),
        "marker": _MARKERS[number % len(_MARKERS)],
        "markersize": 4 + 4 * rest,
        "markerfacecolor": "none",
        "markeredgewidth": 1.0,
    }
