"""Exact integer counting of many small indices at once."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counters = NDArray[np.int64]

# Scattered additions cost less than a full histogram if there are more than so many counters for each index.
_SCATTER_RATIO = 16
# A level gets a histogram if the whole batch has at least so many reports for each of its symbols.
_REPORTS_PER_SYMBOL = 8
# Symbols are best added one by one, without a histogram, if there are more than so many counters for each.
COUNTERS_PER_SYMBOL = 4


def count_into(counts: Counters, indices: NDArray[Any]) -> None:
    """Add 1 to `counts` (one-dimensional) at every index, repeated indices included."""
    if indices.size * _SCATTER_RATIO < counts.size:
        np.add.at(counts, indices.astype(np.intp), 1)
    else:
        counts += np.bincount(indices.astype(np.intp, copy=False), minlength=counts.size)


def span(offset: NDArray[np.uint32], vectors: Sequence[NDArray[np.uint32]]) -> NDArray[np.intp]:
    """For every subset of the `vectors` one row: `offset` xor all vectors of the subset. 2^len(vectors) rows."""
    rows = np.empty((1 << len(vectors), offset.size), dtype=np.intp)
    rows[0] = offset
    for used, vector in enumerate(vectors):  # the rows so far are all subsets of the first `used` vectors
        np.bitwise_xor(rows[: 1 << used], vector.astype(np.intp), out=rows[1 << used : 2 << used])
    return rows


def count_scattered(counts: Counters, indices: NDArray[np.intp]) -> None:
    """`count_into` for one part of many: a histogram for every part would pass over all counters every time."""
    if 2 * indices.size < counts.size:
        np.add.at(counts, indices, 1)
    else:
        counts += np.bincount(indices, minlength=counts.size)


def add_signs(sums: Sequence[Counters], counts: Sequence[Counters], level: NDArray[Any], symbol: NDArray[Any]) -> None:
    """Add the sign of every report to the sum of its level and character, and 1 to their count.

    A symbol is twice the character, plus one if the sign is minus. Small levels share one histogram. A batch hits only
    few characters of a large level: those are updated one by one, in ascending order. A pass over all characters of
    the large levels would take longer than everything else.
    """
    sizes = [2 * total.size for total in sums]
    is_large = [size * _REPORTS_PER_SYMBOL > symbol.size for size in sizes]
    large = [index for index, large_level in enumerate(is_large) if large_level]
    small = [index for index, large_level in enumerate(is_large) if not large_level]
    below, above = ([0, *accumulate(sizes[index] for index in part)] for part in (large, small))
    starts = np.empty(len(sizes), dtype=np.intp)  # symbols of large levels are below 0, those of small ones start at 0
    starts[large], starts[small] = np.array(below[:-1]) - below[-1], above[:-1]
    symbols = starts[level]
    symbols += symbol
    if large:
        scattered = np.flatnonzero(symbols < 0)
        ascending = (symbols[scattered] + below[-1]).astype(np.min_scalar_type(below[-1]))
        ascending.sort()
        bounds = np.searchsorted(ascending, np.array(below, dtype=ascending.dtype)).tolist()
        for index, start, (first, last) in zip(large, below[:-1], pairwise(bounds), strict=True):
            add_each(sums[index], counts[index], ascending[first:last].astype(np.intp) - start)
        symbols[scattered] = above[-1]  # an extra cell behind the last level, which is never read
    signs = np.bincount(symbols, minlength=above[-1])
    for index, (start, end) in zip(small, pairwise(above), strict=True):
        plus, minus = signs[start:end:2], signs[start + 1 : end : 2]
        sums[index] += plus - minus
        counts[index] += plus + minus


def add_each(total: Counters, count: Counters, symbols: NDArray[Any]) -> None:
    """Add signs and counts of one level, symbol by symbol; much faster if the symbols are sorted."""
    characters = (symbols >> 1).astype(np.intp, copy=False)
    np.add.at(count, characters, 1)
    np.add.at(total, characters, 1 - 2 * (symbols & 1).astype(np.int64, copy=False))
