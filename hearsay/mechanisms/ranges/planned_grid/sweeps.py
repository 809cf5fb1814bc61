"""Sums over all tuples of levels, in time proportional to the boxes: coarse tuples are spread over finer ones.

Tensors have a power of two of entries along every axis; level l of an axis has 2^l. R_e averages a tensor over the
boxes of a tuple e. Tables have one entry a tuple, from the roots on. D_e = the product over the axes of
R_(level) - R_(level - 1) is what a tuple adds to the coarser ones, so the sum of table[e] D_e is the sum of
falls(table)[e] R_e.
"""

from collections.abc import Sequence

import numpy as np

from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.estimates.estimate import Floats

Levels = tuple[int, ...]
Block = tuple[Levels, Floats]  # a tuple with a number for each of its boxes


def falls(table: Floats) -> Floats:
    """Every entry less the next one along each axis, beyond the end 0."""
    for axis in range(table.ndim):
        table = -np.diff(table, axis=axis, append=0.0)
    return table


def rises(table: Floats) -> Floats:
    """Every entry less the one before along each axis."""
    for axis in range(table.ndim):
        table = np.diff(table, axis=axis, prepend=0.0)
    return table


def sums_up_to(table: Floats) -> Floats:
    """The sum over all tuples that are nowhere finer."""
    for axis in range(table.ndim):
        table = np.cumsum(table, axis=axis)
    return table


def cumulative(values: Floats) -> Floats:
    """The sum of all that is before, with one entry more along every axis."""
    return sums_up_to(np.pad(values, [(1, 0)] * values.ndim))


def sums_between(sums: Floats, low: Indices, after: Indices) -> Floats:
    """Of ranges low..after-1, a row each, from the cumulative sums at their corners."""
    result = np.zeros(len(low))
    for corner in np.ndindex((2,) * sums.ndim):
        at = np.where(np.array(corner) == 1, after, low)
        result += (-1) ** (sums.ndim - sum(corner)) * sums[tuple(at.T)]
    return result


def sums_from(table: Floats) -> Floats:
    """The sum over all tuples that are nowhere coarser."""
    for axis in range(table.ndim):
        table = np.flip(np.cumsum(np.flip(table, axis), axis=axis), axis)
    return table


def up_to(table: Floats, levels: Levels) -> Floats:
    """The part of a table for tuples that are nowhere finer than the given one."""
    return table[tuple(slice(level + 1) for level in levels)]


def halved(tensor: Floats, axis: int) -> Floats:
    """Averages of pairs of neighbours along an axis."""
    before = (slice(None),) * axis
    means: Floats = tensor[(*before, slice(0, None, 2))] + tensor[(*before, slice(1, None, 2))]
    means *= 0.5
    return means


def averaged(tensor: Floats, levels: Levels) -> Floats:
    """R_e of a tensor, with one entry a box."""
    for axis, level in enumerate(levels):
        while tensor.shape[axis] > 1 << level:
            tensor = halved(tensor, axis)
    return tensor


def blended(tensor: Floats, table: Floats, axis: int = 0) -> Floats:
    """The sum over all tuples e of table[e] R_e of the tensor."""
    if table.ndim == 0:
        return tensor * table
    finer = [tensor]
    for _ in range(len(table) - 1):
        finer.append(halved(finer[-1], axis))
    result = blended(finer.pop(), table[0], axis + 1)
    for row in table[1:]:
        result = np.repeat(result, 2, axis=axis)
        result += blended(finer.pop(), row, axis + 1)
    return result


def spread_over(blocks: Sequence[Block], levels: Levels, axis: int = 0) -> Floats:
    """The sum of blocks, at least one, with every box's number at all of its boxes of the tuple `levels`."""
    if axis == len(levels):
        return np.asarray(sum(tensor for _, tensor in blocks))
    result: Floats | None = None
    for level in range(levels[axis] + 1):
        if result is not None:
            result = np.repeat(result, 2, axis=axis)
        here = [block for block in blocks if block[0][axis] == level]
        if here:
            part = spread_over(here, levels, axis + 1)
            result = part if result is None else result + part
    assert result is not None
    return result
