"""All single bits and all pairs of bits of a bit vector: two bits together may leak what neither leaks alone."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import Mechanism, Reports

_MOST_REPORTS, _MOST_BITS = 1 << 13, 1 << 11  # what is learned from; wider vectors by the first bits
_DEVIATIONS = 4.0  # standard errors by which a loss is reduced before losses are compared


class BitPairs:
    """How often each pair of bits is set together, for each of several values."""

    def __init__(self, mechanism: Mechanism, drawn: dict[int, Reports], learn: slice) -> None:
        vectors = [variant.vector for variant in mechanism.layout.variants if variant.vector is not None]
        self._drawn, self._learn = drawn, learn
        self._name = "bits" if mechanism.layout.selector is not None else vectors[0].name if vectors else ""
        self.any = bool(vectors) and all(vector.bound == 2 for vector in vectors)

    @cached_property
    def _together(self) -> dict[int, NDArray[np.float32]]:
        counts = {}
        for value in self._drawn:
            bits = self._bits(value)[self._learn][:_MOST_REPORTS].astype(np.float32)
            counts[value] = bits.T @ bits
        return counts

    def _bits(self, value: int) -> NDArray[np.uint8]:
        return np.unpackbits(self._drawn[value][self._name], axis=1, bitorder="little")[:, :_MOST_BITS]

    def classes(self, one: int, other: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The content 0..3 of the pair of bits with the greatest sure loss between two values (or of a single bit)."""
        best, best_pair = -np.inf, 0
        for mine, theirs in zip(self._events[one], self._events[other], strict=True):
            sure = mine[0] - theirs[0] - _DEVIATIONS * np.sqrt(mine[1] + theirs[1])
            at = int(np.argmax(sure))
            if sure.flat[at] > best:
                best, best_pair = float(sure.flat[at]), at
        first, second = np.unravel_index(best_pair, self._together[one].shape)
        pair = [self._bits(value)[:, [first, second]].astype(np.int64) for value in (one, other)]
        return 2 * pair[0][:, 0] + pair[0][:, 1], 2 * pair[1][:, 0] + pair[1][:, 1]

    @cached_property
    def _events(self) -> dict[int, list[tuple[NDArray[Any], NDArray[Any]]]]:
        """For the four contents of a pair of bits: the log of the frequency, and its variance."""
        n, half = min(_MOST_REPORTS, self._learn.stop - self._learn.start), np.float32(0.5)
        events = {}
        for value, both in self._together.items():
            ones = np.diag(both)
            first, second = ones[:, None] - both, ones[None, :] - both
            often = [np.maximum(each, 0) + half for each in (both, first, second, n - both - first - second)]
            events[value] = [(np.log(each), 1 / each) for each in often]
        return events
