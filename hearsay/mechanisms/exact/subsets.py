"""Uniform subsets of a given size, many at once, as packed bits: exact, at little more than the cost of coins.

Flip a coin with the same probability for every cell. Given how many cells are chosen, they are a uniform subset of that
size. So flip coins with a probability a little below the wanted density, draw rows with too many cells again, and add
uniform cells to the others until none is missing. Every step treats all cells but the forbidden one alike. So all
subsets of the wanted size are equally likely, whatever the probability of the coins.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.exact.randomness import Random

_SPARE_DEVIATIONS = 1.0  # by which the coins aim below the wanted size: a balance of rows drawn again and cells added
_DIGITS = 6  # binary, of the coins' probability: any is right, and every digit costs a random bit per cell
_ONE = np.uint64(1)


def uniform_subsets(
    wanted: int, width: int, without: NDArray[np.int64], random: Random
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """For every row a uniform subset of `wanted` of the cells 0..width-1, except the row's cell `without`.

    The second array has one more cell for every row, neither in the subset nor forbidden: with it the subset is a
    uniform subset of `wanted` + 1 cells. So `wanted` is at most width - 2.
    """
    count, density = len(without), wanted / width
    aim = max(0.0, density - _SPARE_DEVIATIONS * sqrt(density * (1 - density) / width))
    threshold = int(aim * (1 << _DIGITS)) << 64 - _DIGITS
    row_bytes = (width + 7) // 8
    packed = np.zeros((count, -(-width // 64) * 8), dtype=np.uint8)
    words = packed.view(np.uint64)  # a row is padded to whole words
    own_word = np.arange(count) * words.shape[1] + (without >> 6)
    allowed = ~(_ONE << (without & 63).astype(np.uint64))

    def missing(rows: NDArray[np.intp] | slice) -> NDArray[np.int64]:
        """Remove the forbidden cell from the rows; how many cells each then lacks."""
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
    rows = np.arange(len(words))
    while True:
        cell = added[rows]
        bit = words[rows, cell >> 6] >> (cell & 63).astype(np.uint64) & _ONE
        rows = rows[(bit == _ONE) | (cell == without[rows])]
        if not rows.size:
            return added
        added[rows] = random.below(width, rows.size).astype(np.int64)


def _fill_words(
    words: NDArray[np.uint64], lack: NDArray[np.int64], allowed: NDArray[np.uint64], width: int, random: Random
) -> None:
    """Rows of a single word, in place: each round adds at most one cell to every row that lacks any."""
    rows = np.flatnonzero(lack)
    word, missing, mask = words[rows], lack[rows], allowed[rows]
    while rows.size:
        more = (word | (_ONE << random.below(width, rows.size))) & mask
        missing -= more != word
        word, done = more, missing == 0
        words[rows[done]] = word[done]
        rows, word, missing, mask = rows[~done], word[~done], missing[~done], mask[~done]
