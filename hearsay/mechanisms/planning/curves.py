"""Half width against epsilon for one mechanism, as points that a page can interpolate.

Seventeen points evenly spaced in the logarithm of epsilon, 0.1 to 10. Between them a monotone cubic in logarithms is
within 3% (olh 9%, whose number of hash values jumps). For other numbers of users the width goes by the root.
"""

import time
from contextlib import suppress
from math import inf, isfinite

from hearsay.mechanisms.errors import MechanismError
from hearsay.mechanisms.planning.asked import Asked

POINTS = 17
EPSILONS = tuple(10 ** (-1 + step / 8) for step in range(POINTS))


def curve(asked: Asked, name: str, users: int, shape: str, seconds: float) -> list[tuple[float, float]]:
    """Points (epsilon, half width). Where building takes long, only those that `seconds` allow: the ends first, then
    the middles between what is there; where a mechanism takes no such epsilon, none."""
    started = time.monotonic()
    points: dict[int, tuple[float, float]] = {}
    for number in _spread_out(POINTS):
        if points and time.monotonic() - started > seconds:
            break
        try:
            widths = asked.widths(name, EPSILONS[number])
            width = widths.at(shape, users).within if widths.varies else widths.expected(shape, users)
        except MechanismError:
            continue
        if isfinite(width) and width > 0:
            points[number] = (EPSILONS[number], width)
    return [points[number] for number in sorted(points)]


def sketch(asked: Asked, name: str, users: int, shape: str, through: tuple[float, float]) -> list[tuple[float, float]]:
    """Rough points, every second one, soon there, moved so that they pass through a point (epsilon, half width) that is
    exact; none for widths that need whole surveys."""

    def rough(epsilon: float) -> float:
        widths = asked.widths(name, epsilon, rough=True)
        return inf if widths.varies else widths.expected(shape, users)

    points: dict[float, float] = {}
    for epsilon in (through[0], *EPSILONS[::2]):
        with suppress(MechanismError):
            points[epsilon] = rough(epsilon)
    ratio = through[1] / points.get(through[0], inf)
    drawn = [(epsilon, points[epsilon] * ratio) for epsilon in EPSILONS[::2] if epsilon in points]
    return [(epsilon, width) for epsilon, width in drawn if 0 < width < inf]


def _spread_out(count: int) -> list[int]:
    """0..count-1 in an order whose beginnings are spread evenly; count - 1 is a power of two.

    >>> _spread_out(5)
    [0, 4, 2, 1, 3]
    """
    order, step = [0, count - 1], count - 1
    while step > 1:
        order += range(step // 2, count - 1, step)
        step //= 2
    return order
