"""Where a query's words lie in a domain, and how cells are named in answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hearsay.mechanisms.domains.domain import Axis, Domain
from hearsay.mechanisms.errors import QueryError

BOUNDARY_SLACK = 1e-9  # in bins: 0.3 is the boundary of bins of width 0.1, whatever binary fractions make of it


def locate_range(axis: Axis, low: str | None, high: str) -> tuple[int, int]:
    """First and last cell of the inclusive range low..high; from the first cell on where low is None."""
    first = 0 if low is None else _end(axis, low, upper=False)
    last = _end(axis, high, upper=True)
    if low is not None and _position(axis, low) > _position(axis, high):
        raise QueryError(f"{axis.name} range must not be reversed, got {low} above {high}")
    # A range of a single point on a boundary still has a bin: the one the point falls into.
    return first, max(first, last)


def _end(axis: Axis, text: str, upper: bool) -> int:
    if axis.low is None:
        return axis.locate(text)
    position = _position(axis, text)
    boundary = round(position)
    if abs(position - boundary) <= BOUNDARY_SLACK:
        return min(max(boundary - upper, 0), axis.size - 1)
    return int(position)


def _position(axis: Axis, text: str) -> float:
    """Where a word lies, counted in cells; refuses what is outside the axis."""
    cell = axis.locate(text)
    return cell if axis.low is None else (float(text) - axis.low) / axis.width


def split_range(axis: Axis, text: str) -> tuple[str, str]:
    """The two ends of `A:B`. A label may hold a colon itself: the split at which both sides are labels counts."""
    splits = [(text[:place], text[place + 1 :]) for place, letter in enumerate(text) if letter == ":"]
    if axis.labels is not None and len(splits) > 1:
        splits = [split for split in splits if all(side in axis.labels for side in split)]
    if len(splits) != 1 or not all(splits[0]):
        raise QueryError(f"{axis.name} range must be A:B, got {text!r}")
    return splits[0]


def name_cell(domain: Domain, index: int) -> tuple[Any, dict[str, Any] | None]:
    """(item, None) on one axis, (None, cell) on a grid."""
    if domain.kind != "grid":
        return domain.axes[0].item(index), None
    indices = np.unravel_index(index, domain.shape)
    return None, {axis.name: axis.item(int(i)) for axis, i in zip(domain.axes, indices, strict=True)}


def covered(domain: Domain, ends: Sequence[tuple[int, int]]) -> tuple[Any, dict[str, Any] | None]:
    """What a range covers, where rounding to whole bins may have changed it: (item, cell), else (None, None)."""
    if all(axis.low is None for axis in domain.axes):
        return None, None
    stretches: dict[str, Any] = {}
    for axis, (first, last) in zip(domain.axes, ends, strict=True):
        if axis.low is None:
            stretches[axis.name] = [axis.item(first), axis.item(last)]
        else:
            stretches[axis.name] = [axis.units(first), axis.units(last + 1)]
    return (None, stretches) if domain.kind == "grid" else (stretches[domain.axes[0].name], None)
