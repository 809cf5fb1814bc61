"""msgpack's unsigned integers in bytes that stand side by side, read together without a loop over them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.layout import Symbols

Octets = NDArray[np.uint8]
HEADERS = {2: 0xCC, 3: 0xCD, 5: 0xCE, 9: 0xCF}  # by the length of the integer, its header included
MARGIN = bytes(8)  # what `values` needs in front of the first integer, and `LENGTHS` after the last

LENGTHS = np.full(256, -1, dtype=np.int16)  # of an integer by its first byte; -1: none begins so
LENGTHS[:0x80] = 1
LENGTHS[list(HEADERS.values())] = list(HEADERS)
_MASKS = np.array([(1 << 8 * max(length - 1, 1)) - 1 for length in range(9)] + [(1 << 64) - 1], dtype=np.uint64)


def beside(strings: list[bytes]) -> Octets:
    """Byte strings one after the other, between two margins."""
    return np.frombuffer(b"".join((MARGIN, *strings, MARGIN)), dtype=np.uint8)


def values(octets: Octets, ends: NDArray[np.intp], lengths: NDArray[Any]) -> Symbols:
    """The integers that end before these places; `lengths` are theirs, at most 9, with the header.

    An integer's bytes are the last ones of the eight before its end: one unaligned load each, and a mask.
    """
    eight: NDArray[np.uint64] = np.ndarray(
        shape=(octets.size - 7,), dtype=">u8", buffer=octets.data, strides=(1,)
    )  # the eight bytes from every place on
    return eight[ends - 8].astype(np.uint64) & _MASKS[lengths]


def read(strings: list[bytes]) -> tuple[Symbols, NDArray[np.bool_]]:
    """Strings that should be one integer each; and which of them are."""
    lengths = np.fromiter(map(len, strings), dtype=np.intp, count=len(strings))
    octets = beside(strings)
    ends = len(MARGIN) + np.cumsum(lengths)
    good = LENGTHS[octets[ends - lengths]] == lengths
    return values(octets, ends, np.where(good, lengths, 0)), good
