"""How curves are drawn so that none hides another: the earlier ones wide and solid, the later ones narrow and dashed.

Two curves that coincide are then seen as one with a rim and a gap pattern; hollow markers of different shapes and
sizes do the same for their points, and colour is not the only thing that tells curves apart.
"""

from typing import Any

_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)), (0, (1, 1.5)))
_MARKERS = "osD^vXP*"
_WIDEST, _NARROWEST = 3.4, 1.1  # points


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
