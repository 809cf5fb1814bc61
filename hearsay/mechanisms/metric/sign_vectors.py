"""A cell of a grid as signs along each axis: -1 before the value, +1 from it on (Xiang et al. 4.1).

A sign is one bit (1 for +1); the bits of all axes follow each other, packed little-endian. An axis of m cells has m
signs. The last one is always +1: the anchored form leaves it out of the report, and folds an exact +1 instead.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.exact.bit_counting import Packed, count_bits

# At index i the byte whose bits i..7 are set.
_BITS_FROM = np.array([0xFF << bit & 0xFF for bit in range(9)], dtype=np.uint8)
_CHUNK_BYTES = 1 << 18
# The eight signs of every byte: a look-up is much faster than unpacking and converting.
_SIGNS_OF_BYTE = (2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little") - 1).astype(
    np.float32
)
_BATCH_BYTES = 1 << 23  # of the factors of one matrix product: small and reused, because allocating memory is slow
_LARGEST_BATCH = 1 << 11
_EXACT_ROWS = 1 << 22  # reports summed in single precision, which is exact up to 2^24, before the integers get them
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
        """The position of each axis' first bit, and last the number of bits."""
        return tuple(sum(self.lengths[:axis]) for axis in range(len(self.sizes) + 1))

    @property
    def width(self) -> int:
        """Bits in a report."""
        return self.starts[-1]

    def pack(self, cells: NDArray[np.int64]) -> Packed:
        """The true signs of cells, which have shape (n, axes)."""
        row_bytes = (self.width + 7) // 8
        packed = np.zeros((len(cells), row_bytes), dtype=np.uint8)
        rows_per_chunk = max(1, _CHUNK_BYTES // row_bytes)
        for start in range(0, len(cells), rows_per_chunk):
            rows = slice(start, start + rows_per_chunk)
            for axis in range(len(self.sizes)):
                first, end = self.starts[axis], self.starts[axis + 1]
                # The bits from the value to the end of the axis: all from the value on, except all from the end on.
                packed[rows] ^= _from(first + cells[rows, axis], row_bytes) ^ _from(np.array([end]), row_bytes)
        return packed

    def observe(self, packed: Packed) -> NDArray[np.int64]:
        """The sum over reports of the outer product of the axes' signs: exact integers, shape `sizes`."""
        if len(self.sizes) == 1:
            sums = 2 * count_bits(packed, self.width) - len(packed)
            return np.append(sums, len(packed)) if self.anchored else sums
        split = self._split
        observed = np.zeros((prod(self.sizes[:split]), prod(self.sizes[split:])), dtype=np.int64)
        product, total = (np.zeros(observed.shape, dtype=np.float32) for _ in range(2))
        batch = min(max(_SMALLEST_BATCH, _BATCH_BYTES // (4 * sum(observed.shape))), _LARGEST_BATCH, len(packed))
        factors = [_Factor(self, 0, split, batch), _Factor(self, split, len(self.sizes), batch)]
        signs = np.empty((batch, packed.shape[1], 8), dtype=np.float32)
        pending = 0
        for start in range(0, len(packed), batch):
            rows = packed[start : start + batch]
            unpacked = np.take(_SIGNS_OF_BYTE, rows, axis=0, out=signs[: len(rows)], mode="clip")
            left, right = (factor.outer(unpacked.reshape(len(rows), -1)) for factor in factors)
            total += np.matmul(left, right.T, out=product)
            pending += len(rows)
            if pending >= _EXACT_ROWS:
                observed += total.astype(np.int64)
                total[:], pending = 0, 0
        observed += total.astype(np.int64)
        return observed.reshape(self.sizes)

    @cached_property
    def _split(self) -> int:
        """How many axes are in the left factor of the matrix product: the two factors have similar sizes."""
        return min(range(1, len(self.sizes)), key=lambda split: prod(self.sizes[:split]) + prod(self.sizes[split:]))


class _Factor:
    """Outer products of the signs of the axes first..end-1, in buffers that every batch reuses."""

    def __init__(self, vectors: SignVectors, first: int, end: int, batch: int) -> None:
        self._columns = [slice(vectors.starts[axis], vectors.starts[axis + 1]) for axis in range(first, end)]
        sizes = vectors.sizes[first:end]
        self.cells = prod(sizes)
        # In buffers of products the reports are the last axis, so that the innermost loop is long even if axes are
        # short. A single axis needs no product; its buffer has one row per report. An anchored last sign is never
        # written: it stays 1.
        self._single = np.ones((batch, sizes[0]), dtype=np.float32) if len(sizes) == 1 else None
        self._vectors = [np.ones((size, batch), dtype=np.float32) for size in sizes if len(sizes) > 1]
        self._products = [
            np.empty((prod(sizes[:axis]), size, batch), dtype=np.float32) for axis, size in enumerate(sizes) if axis
        ]

    def outer(self, signs: NDArray[np.float32]) -> NDArray[np.float32]:
        """The products of each report's signs (rows of `signs`), shape (cells, reports); valid until the next call."""
        rows = len(signs)
        if self._single is not None:
            (columns,) = self._columns
            self._single[:rows, : columns.stop - columns.start] = signs[:, columns]
            return self._single[:rows].T
        for vector, columns in zip(self._vectors, self._columns, strict=True):
            vector[: columns.stop - columns.start, :rows] = signs[:, columns].T
        result = self._vectors[0][:, :rows]
        for vector, product in zip(self._vectors[1:], self._products, strict=True):
            cells = product[:, :, :rows]
            np.multiply(result[:, None, :], vector[None, :, :rows], out=cells)
            result = cells.reshape(-1, rows)
        return result


def _from(positions: NDArray[np.int64], row_bytes: int) -> Packed:
    """Packed rows: in each, all bits from its position on are set."""
    shift = positions.astype(np.int32)[:, None] - 8 * np.arange(row_bytes, dtype=np.int32)
    return _BITS_FROM[np.clip(shift, 0, 8, out=shift)]
