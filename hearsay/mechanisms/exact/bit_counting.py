"""How often each bit is set in many packed bit strings: the fold of every mechanism that reports bits.

Carry-save addition turns three rows into one row of sums and one row of carries of twice the weight, with five bitwise
operations on whole bytes. So few rows are left to unpack. All additions are exact.
"""

import numpy as np
from numpy.typing import NDArray

Packed = NDArray[np.uint8]
_BLOCK_BYTES = 1 << 20  # of the rows in one block: the intermediate rows stay in the processor's cache
_UNPACKED_BYTES = 1 << 13  # below this, unpacking costs less than another round of carries


def count_bits(packed: Packed, width: int) -> NDArray[np.int64]:
    """For each of `width` positions, how many rows have it set; rows are packed little-endian."""
    counts = np.zeros(width, dtype=np.int64)
    rows_per_block = max(64, _BLOCK_BYTES // max(1, packed.shape[1]))
    for start in range(0, len(packed), rows_per_block):
        _add_block(counts, packed[start : start + rows_per_block])
    return counts


def _add_block(counts: NDArray[np.int64], rows: Packed) -> None:
    weight = 1
    while rows.size:
        carries = []
        while rows.size > _UNPACKED_BYTES and len(rows) >= 3:
            third = len(rows) // 3
            one, two, three = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]
            half = one ^ two
            carries.append((one & two) | (half & three))
            _add_unpacked(counts, rows[3 * third :], weight)
            rows = half ^ three
        _add_unpacked(counts, rows, weight)
        rows = np.concatenate(carries) if carries else rows[:0]
        weight *= 2


def _add_unpacked(counts: NDArray[np.int64], rows: Packed, weight: int) -> None:
    for start in range(0, len(rows), 255):  # a byte holds sums up to 255
        bits = np.unpackbits(rows[start : start + 255], axis=1, count=counts.size, bitorder="little")
        counts += weight * np.add.reduce(bits, axis=0, dtype=np.uint8).astype(np.int64)
