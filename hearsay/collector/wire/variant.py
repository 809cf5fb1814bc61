"""Reports of one variant as symbols, packed or one by one, or as rows of bytes where a symbol would be too wide."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.collector.wire.packing import Packing
from hearsay.mechanisms import Reports
from hearsay.mechanisms.layout import Layout, Symbols, Variant, length_of, select, smallest_unsigned

SYMBOL_BITS = 57  # an unaligned 57-bit field always lies within eight bytes


class VariantCodec:
    """Reports of one variant as symbols or as rows of bytes."""

    def __init__(self, layout: Layout, index: int) -> None:
        self.variant: Variant = layout.variants[index]
        self.selector, self.index = layout.selector, index
        self.selector_type = smallest_unsigned(len(layout.variants))
        vector = self.variant.vector
        self.strings = vector.bound**vector.length if vector else 1
        self.outcomes = self.variant.alphabet * self.strings
        self.compact = self.outcomes <= 1 << SYMBOL_BITS
        self.packing = Packing(self.outcomes) if self.compact else None
        self.scalar_bytes = (max(self.variant.alphabet - 1, 0).bit_length() + 7) // 8
        self.digits = Packing(vector.bound) if vector and vector.bound > 2 and not self.compact else None
        vector_bytes = self.digits.size(vector.length) if vector and self.digits else vector.width if vector else 0
        self.row_bytes = self.scalar_bytes + vector_bytes
        if self.compact:
            self.row_bytes = ((self.outcomes - 1).bit_length() + 7) // 8
        # In a frame, long vectors of digits run on from report to report: whole bytes for each would cost too much.
        self.only_digits = None if self.variant.scalars else self.digits

    def pack(self, reports: Reports) -> bytes:
        if self.packing is not None:
            return self.packing.pack(self.symbols(reports))
        if self.only_digits is not None:
            return self.only_digits.pack(self._matrix(reports).astype(np.uint64).reshape(-1))
        return self.rows(reports).tobytes()

    def size(self, count: int) -> int:
        """Bytes that `pack` makes of so many reports."""
        if self.packing is not None:
            return self.packing.size(count)
        if self.only_digits is not None:
            assert self.variant.vector is not None
            return self.only_digits.size(count * self.variant.vector.length)
        return count * self.row_bytes

    def unpack(self, packed: Sequence[bytes], counts: Sequence[int]) -> tuple[Reports, NDArray[np.bool_]]:
        """The valid reports of several packed ones, each of the size for its count, and which of them all are valid."""
        count = sum(counts)
        if self.packing is not None:
            symbols = self.packing.unpack(packed, counts)
            inside = np.ones(count, dtype=bool) if self.packing.exact else symbols < np.uint64(self.outcomes)
            return self.columns(symbols if inside.all() else symbols[inside]), inside
        vector = self.variant.vector
        assert vector is not None
        if self.only_digits is not None:
            digits = self.only_digits.unpack(packed, [each * vector.length for each in counts])
            matrix, inside = self._inside(digits.reshape(count, vector.length))
            reports = self._selected({vector.name: matrix}, count)
        else:
            rows = np.frombuffer(b"".join(packed), dtype=np.uint8)
            reports, inside = self.from_rows(rows.reshape(count, self.row_bytes))
        return reports if inside.all() else select(reports, inside), inside

    def symbols(self, reports: Reports) -> Symbols:
        """The whole report as one integer: the scalars, then the vector's digits, first digit least significant."""
        count = length_of(reports)
        result = self.variant.pack(reports) if self.variant.scalars else np.zeros(count, dtype=np.uint64)
        if self.variant.vector is not None:
            result = result * np.uint64(self.strings) + self._vector_numbers(reports)
        return result

    def _vector_numbers(self, reports: Reports) -> Symbols:
        vector = self.variant.vector
        assert vector is not None
        matrix = self._matrix(reports)
        base = 256 if vector.bound == 2 else vector.bound
        result = np.zeros(len(matrix), dtype=np.uint64)
        for column in range(vector.width - 1, -1, -1):
            result = result * np.uint64(base) + matrix[:, column].astype(np.uint64)
        return result

    def columns(self, symbols: Symbols) -> Reports:
        """The inverse of `symbols`."""
        vector = self.variant.vector
        scalars = symbols if vector is None else symbols // np.uint64(self.strings)
        result = self.variant.unpack(scalars)
        if vector is not None:
            rest, base = symbols % np.uint64(self.strings), 256 if vector.bound == 2 else vector.bound
            matrix = np.empty((len(symbols), vector.width), dtype=smallest_unsigned(base))
            for column in range(vector.width):
                matrix[:, column] = rest % np.uint64(base)
                rest = rest // np.uint64(base)
            result[vector.name] = matrix
        return self._selected(result, len(symbols))

    def rows(self, reports: Reports) -> NDArray[np.uint8]:
        """Reports as byte strings of equal length: scalars big-endian, then the vector's digits, packed."""
        if self.compact:
            return _big_endian(self.symbols(reports), self.row_bytes)
        matrix = self._matrix(reports)
        if self.digits is not None:
            matrix = self.digits.pack_rows(matrix.astype(np.uint64))
        if not self.variant.scalars:
            return np.ascontiguousarray(matrix, dtype=np.uint8)
        return np.concatenate([_big_endian(self.variant.pack(reports), self.scalar_bytes), matrix], axis=1)

    def from_rows(self, rows: NDArray[np.uint8]) -> tuple[Reports, NDArray[np.bool_]]:
        """Columns, and which of the rows are inside their bounds."""
        if self.compact:
            symbols = from_big_endian(rows)
            inside = symbols < np.uint64(self.outcomes)
            return self.columns(np.where(inside, symbols, np.uint64(0))), inside
        vector = self.variant.vector
        assert vector is not None
        inside = np.ones(len(rows), dtype=bool)
        result: Reports = {}
        if self.variant.scalars:
            scalars = from_big_endian(rows[:, : self.scalar_bytes])
            inside &= scalars < np.uint64(self.variant.alphabet)
            result = self.variant.unpack(np.where(inside, scalars, np.uint64(0)))
        matrix: NDArray[Any] = rows[:, self.scalar_bytes :]
        used = vector.length
        if self.digits is not None:
            groups = -(-vector.length // self.digits.group)
            used = groups * self.digits.bits
            padded = self.digits.unpack_rows(matrix, groups * self.digits.group)
            result[vector.name], in_range = self._inside(padded[:, : vector.length])
            inside &= in_range & (padded[:, vector.length :] == 0).all(axis=1)
        else:
            result[vector.name] = matrix
        if used % 8:
            inside &= matrix[:, -1] >> np.uint8(used % 8) == 0
        return self._selected(result, len(rows)), inside

    def _inside(self, digits: Symbols) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Digits in their own type, and which rows have all of them below their bound."""
        vector = self.variant.vector
        assert vector is not None
        inside: NDArray[np.bool_] = np.all(digits < np.uint64(vector.bound), axis=1)
        return digits.astype(smallest_unsigned(vector.bound)), inside

    def _matrix(self, reports: Reports) -> NDArray[Any]:
        vector = self.variant.vector
        assert vector is not None
        return reports[vector.name][:, : vector.width]

    def _selected(self, columns: Reports, count: int) -> Reports:
        if self.selector is not None:
            columns[self.selector] = np.full(count, self.index, dtype=self.selector_type)
        return columns


def _big_endian(numbers: Symbols, width: int) -> NDArray[np.uint8]:
    return numbers.astype(">u8").view(np.uint8).reshape(len(numbers), 8)[:, 8 - width :]


def from_big_endian(matrix: NDArray[np.uint8]) -> Symbols:
    """Rows of bytes as integers."""
    result = np.zeros(len(matrix), dtype=np.uint64)
    for column in range(matrix.shape[1]):
        result = result << np.uint64(8) | matrix[:, column].astype(np.uint64)
    return result
