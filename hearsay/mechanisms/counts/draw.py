"""Releasing counts: an output for each input, by the matrix's exact integers."""

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.counts.promise import Table
from hearsay.mechanisms.exact.randomness import Random


def release(whole: Table, counts: NDArray[np.integer], random: Random) -> NDArray[np.int64]:
    """A private count for every true one, each drawn afresh."""
    released = np.empty(counts.size, dtype=np.int64)
    for given in np.unique(counts):
        at = np.flatnonzero(counts == given)
        # Outputs that are never given are left out: the ends of the others then lie strictly inside a word.
        possible = np.flatnonzero(whole[:, given] > 0)
        ends = np.cumsum(whole[possible[:-1], given]).astype(np.uint64)
        released[at] = possible[random.choose(ends, at.size)]
    return released
