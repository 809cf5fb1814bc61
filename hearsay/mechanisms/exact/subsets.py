"""Uniform subsets of a given size, many at once, as packed bits: exact, and for little more than the price of coins.

Independent equal coins make, given how many came up, a uniform subset of that size. So draw coins a little below the
wanted density, draw rows with too many again, and fill the others up with uniform cells until none is missing. Every
step treats all cells but the forbidden one alike, so all subsets of the wanted size stay equally likely, whatever the
density.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.exact.randomness import Random

_SPARE_DEVIATIONS = 1.0  # how far below the wanted size the coins aim: few redraws against few cells to add
_DIGITS = 6  # of the density aimed at: any density is right, and every digit costs a random bit per cell
_ONE = np.uint64(1)


def uniform_subsets(
    wanted: int, width: int, without: NDArray[np.int64], random: Random
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """For every row a uniform subset of `wanted` of the cells 0..width-1 that does not hold the cell `without`.

    And one more such cell that is not in the subset: together they are a uniform subset of one more. So `wanted` is at
    most width - 2.
    """
    count, density = len(without), wanted / width
    aim = max(0.0, density - _SPARE_DEVIATIONS * sqrt(density * (1 - density) / width))
    threshold = int(aim * (1 << _DIGITS)) << 64 - _DIGITS
    row_bytes = (width + 7) // 8
    packed = np.zeros((count, -(-width // 64) * 8), dtype=np.uint8)
    words = packed.view(np.uint64)  # a row is so many whole words
    own_word = np.arange(count) * words.shape[1] + (without >> 6)
    allowed = ~(_ONE << (without & 63).astype(np.uint64))

    def missing(rows: NDArray[np.intp] | slice) -> NDArray[np.int64]:
        """How many cells the rows lack once the forbidden one is taken out."""
        words.reshape(-1)[own_word[rows]] &= allowed[rows]
        return wanted - np.bitwise_count(words[rows]).sum(axis=1, dtype=np.int64)

    packed[:, :row_bytes] = random.bits(threshold, count, width)
    lack = missing(slice(None))
    while (full := np.flatnonzero(lack < 0)).size:
        packed[full, :row_bytes] = random.bits(threshold, full.size, width)
        lack[full] = missing(full)
    if words.shape[1] == 1:
        _fill_words(words[:, 0], lack, allowed, width, random)
    else:
        while (short := np.flatnonzero(lack)).size:
            rows = np.repeat(short, lack[short])
            cell = random.below(width, rows.size)
            word = rows * words.shape[1] + (cell >> np.uint64(6)).astype(np.intp)
            np.bitwise_or.at(words.reshape(-1), word, _ONE << (cell & np.uint64(63)))
            lack[short] = missing(short)
    return np.ascontiguousarray(packed[:, :row_bytes]), _one_more(words, width, without, random)


def _one_more(words: NDArray[np.uint64], width: int, without: NDArray[np.int64], random: Random) -> NDArray[np.int64]:
    """For every row a uniform cell that is neither in it nor forbidden."""
    added = random.below(width, len(words)).astype(np.int64)
    left = np.arange(len(words))
    while True:
        cell = added[left]
        bit = words[left, cell >> 6] >> (cell & 63).astype(np.uint64) & _ONE
        left = left[(bit == _ONE) | (cell == without[left])]
        if not left.size:
            return added
        added[left] = random.below(width, left.size).astype(np.int64)


def _fill_words(
    words: NDArray[np.uint64], lack: NDArray[np.int64], allowed: NDArray[np.uint64], width: int, random: Random
) -> None:
    """Rows of a single word, in place: one cell per round for every row that lacks any, finished rows put away."""
    rows = np.flatnonzero(lack)
    word, left, mask = words[rows], lack[rows], allowed[rows]
    while rows.size:
        more = (word | (_ONE << random.below(width, rows.size))) & mask
        left -= more != word
        word, done = more, left == 0
        words[rows[done]] = word[done]
        rows, word, left, mask = rows[~done], word[~done], left[~done], mask[~done]
