"""A cell of a grid as signs along each axis: -1 before the value, +1 from it on (Xiang et al. 4.1).

Bits stand for signs (1 for +1), axis after axis, packed little-endian. An axis of m cells has m signs, of which the
last is always +1; the anchored form leaves it out of the report and puts an exact +1 in its place when folding.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from mechanisms.bit_counting import Packed, count_bits

# Byte with the bits from position i (0..8) on set.
_BITS_FROM = np.array([0xFF << place & 0xFF for place in range(9)], dtype=np.uint8)
_CHUNK_BYTES = 1 << 22
_PRODUCT_BYTES = 1 << 25  # of the factors of one matrix product
_LARGEST_BATCH = 1 << 16  # far below 2^24, so that single precision holds every sum exactly
_SMALLEST_BATCH = 256


@dataclass(frozen=True)
class SignVectors:
    """Signs of a grid with `sizes` cells along its axes."""

    sizes: tuple[int, ...]
    anchored: bool

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Bits of each axis in a report."""
        return tuple(size - 1 if self.anchored else size for size in self.sizes)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Position of each axis' first bit; last: the end."""
        return tuple(sum(self.lengths[:axis]) for axis in range(len(self.sizes) + 1))

    @property
    def width(self) -> int:
        """Bits in a report."""
        return self.starts[-1]

    def pack(self, cells: NDArray[np.int64]) -> Packed:
        """The true signs of cells, shape (n, axes)."""
        row_bytes = (self.width + 7) // 8
        packed = np.zeros((len(cells), row_bytes), dtype=np.uint8)
        rows_per_chunk = max(1, _CHUNK_BYTES // row_bytes)
        for start in range(0, len(cells), rows_per_chunk):
            rows = slice(start, start + rows_per_chunk)
            for axis in range(len(self.sizes)):
                first, end = self.starts[axis], self.starts[axis + 1]
                # Bits set from the value to the axis' end: all from the value on, without all from the end on.
                packed[rows] ^= _from(first + cells[rows, axis], row_bytes) ^ _from(np.array([end]), row_bytes)
        return packed

    def observe(self, packed: Packed) -> NDArray[np.int64]:
        """The sum over reports of the outer product of the axes' signs: exact integers, shape `sizes`."""
        if len(self.sizes) == 1:
            sums = 2 * count_bits(packed, self.width) - len(packed)
            return np.append(sums, len(packed)) if self.anchored else sums
        split = self._split
        left, right = self.sizes[:split], self.sizes[split:]
        observed = np.zeros((prod(left), prod(right)), dtype=np.int64)
        batch = min(max(_SMALLEST_BATCH, _PRODUCT_BYTES // (4 * sum(observed.shape))), _LARGEST_BATCH)
        for start in range(0, len(packed), batch):
            signs = self._signs(packed[start : start + batch])
            product = _outer(signs[:split]).T @ _outer(signs[split:])
            np.add(observed, product, out=observed, casting="unsafe")
        return observed.reshape(self.sizes)

    @cached_property
    def _split(self) -> int:
        """Where the axes part into two factors of a matrix product: the halves' sizes as equal as can be."""
        return min(range(1, len(self.sizes)), key=lambda at: prod(self.sizes[:at]) + prod(self.sizes[at:]))

    def _signs(self, packed: Packed) -> list[NDArray[np.float32]]:
        bits = np.unpackbits(packed, axis=1, count=self.width, bitorder="little")
        signs = []
        for axis, size in enumerate(self.sizes):
            first, end = self.starts[axis], self.starts[axis + 1]
            column = np.ones((len(packed), size), dtype=np.float32)
            column[:, : end - first] = bits[:, first:end]
            column[:, : end - first] *= 2
            column[:, : end - first] -= 1
            signs.append(column)
        return signs


def _from(positions: NDArray[np.int64], row_bytes: int) -> Packed:
    """Packed rows with all bits from each position on set."""
    places = positions.astype(np.int32)[:, None] - 8 * np.arange(row_bytes, dtype=np.int32)
    return _BITS_FROM[np.clip(places, 0, 8, out=places)]


def _outer(factors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Row-wise outer product, flattened row-major."""
    result = factors[0]
    for factor in factors[1:]:
        result = (result[:, :, None] * factor[:, None, :]).reshape(len(result), -1)
    return result
