"""Reports as bytes: one at a time, or many in a columnar frame. `docs/wire.md` has the format with examples.

A report whose variant has at most 2^57 different values is one **symbol**, an unsigned integer; a wider one is a byte
string. A single report is a msgpack integer or a msgpack bin; a frame is the msgpack array
`[wire version, [variant, count, bin], ...]` whose bins hold the packed symbols or rows of one variant.
"""

from dataclasses import dataclass, field
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from collector.bitpacking import Packing
from collector.limits import FRAME_BYTES, FRAME_REPORTS, SINGLE_BYTES
from collector.survey import WIRE_VERSION
from mechanisms import Mechanism, Reports
from mechanisms.layout import Layout, Symbols, Variant, length_of, select, smallest_unsigned

SYMBOL_BITS = 57  # an unaligned 57-bit field always lies within eight bytes

Rejections = dict[str, list[int]]


class Rejected(Exception):
    """A malformed entry; `reason` is a stable code and also the metric's label."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass
class Decoded:
    """What a list of stream entries holds: valid reports, and what was refused."""

    reports: Reports
    count: int = 0
    rejected: Rejections = field(default_factory=dict)  # reason: [entries, reports]
    refused_entries: list[tuple[int, str]] = field(default_factory=list)  # position in the list, reason

    def refuse(self, reason: str, entries: int, reports: int) -> None:
        counts = self.rejected.setdefault(reason, [0, 0])
        counts[0] += entries
        counts[1] += reports


class Codec:
    """The wire format of one layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.variants = [_VariantCodec(layout, index) for index in range(len(layout.variants))]
        self.single_integer = all(variant.compact for variant in self.variants)
        self.offsets = np.cumsum([0, *(variant.outcomes if variant.compact else 0 for variant in self.variants)])
        if self.single_integer and int(self.offsets[-1]) > 1 << 62:
            self.single_integer = False

    def encode_singles(self, reports: Reports) -> list[bytes]:
        """One byte string a report, in order."""
        result: list[bytes] = [b""] * length_of(reports)
        for index, rows in self._by_variant(reports):
            variant = self.variants[index]
            part = select(reports, rows)
            if self.single_integer:
                numbers = (variant.symbols(part) + np.uint64(self.offsets[index])).tolist()
                payloads = [msgpack.packb(number) for number in numbers]
            else:
                payloads = [msgpack.packb(self._prefix(index) + row.tobytes()) for row in variant.rows(part)]
            for row, payload in zip(rows.tolist(), payloads, strict=True):
                result[row] = payload
        return result

    def encode_frame(self, reports: Reports) -> bytes:
        """All reports in one frame; their order within it is not kept, since folding needs none."""
        sections: list[Any] = [WIRE_VERSION]
        for index, rows in self._by_variant(reports):
            sections.append([index, len(rows), self.variants[index].pack(select(reports, rows))])
        return msgpack.packb(sections)

    def decode_frame(self, payload: bytes) -> tuple[list[Reports], int]:
        """The valid reports of a frame, a part for each section, and how many elements were outside their range."""
        frame = _unpack(payload, FRAME_BYTES)
        if not isinstance(frame, list) or len(frame) < 1:
            raise Rejected("wrong-type")
        if type(frame[0]) is not int:
            raise Rejected("wrong-type")
        if frame[0] != WIRE_VERSION:
            raise Rejected("wrong-version")
        parts, outside, total = [], 0, 0
        if len(frame) < 2 or len(frame) - 1 > len(self.variants):
            raise Rejected("wrong-length")
        for section in frame[1:]:
            if not isinstance(section, list) or len(section) != 3:
                raise Rejected("wrong-type")
            index, count, packed = section
            if type(index) is not int or type(count) is not int or not isinstance(packed, bytes):
                raise Rejected("wrong-type")
            if not 0 <= index < len(self.variants):
                raise Rejected("outside-domain")
            total += count
            if count < 1 or total > FRAME_REPORTS:
                raise Rejected("wrong-length")
            part, bad = self.variants[index].unpack(packed, count)
            parts.append(part)
            outside += bad
        return parts, outside

    def decode_singles(self, payloads: list[bytes], refuse: Any) -> list[Reports]:
        """The valid reports among single ones; `refuse(position, reason)` is called for each of the others."""
        if self.single_integer:
            numbers, good = _integers(payloads)
            inside = good & (numbers < np.uint64(self.offsets[-1]))
            for position in np.flatnonzero(~inside).tolist():
                refuse(position, "outside-domain" if good[position] else _why_not_an_integer(payloads[position]))
            chosen = numbers[inside]
            which = np.searchsorted(self.offsets, chosen, side="right") - 1
            parts = []
            for index in np.unique(which).tolist():
                symbols = chosen[which == index] - np.uint64(self.offsets[index])
                parts.append(self.variants[index].columns(symbols))
            return parts
        rows: dict[int, list[bytes]] = {}
        positions: dict[int, list[int]] = {}
        for position, payload in enumerate(payloads):
            try:
                index, row = self._single_row(payload)
            except Rejected as rejected:
                refuse(position, rejected.reason)
                continue
            rows.setdefault(index, []).append(row)
            positions.setdefault(index, []).append(position)
        parts = []
        for index, strings in rows.items():
            matrix = np.frombuffer(b"".join(strings), dtype=np.uint8).reshape(len(strings), -1)
            columns, inside = self.variants[index].from_rows(matrix)
            for place in np.flatnonzero(~inside).tolist():
                refuse(positions[index][place], "outside-domain")
            parts.append(select(columns, inside))
        return parts

    def _single_row(self, payload: bytes) -> tuple[int, bytes]:
        row = _unpack(payload, SINGLE_BYTES)
        if not isinstance(row, bytes):
            raise Rejected("wrong-type")
        index = 0
        if len(self.variants) > 1:
            if not row:
                raise Rejected("wrong-length")
            index, row = row[0], row[1:]
            if index >= len(self.variants):
                raise Rejected("outside-domain")
        if len(row) != self.variants[index].row_bytes:
            raise Rejected("wrong-length")
        return index, row

    def _prefix(self, index: int) -> bytes:
        return bytes([index]) if len(self.variants) > 1 else b""

    def _by_variant(self, reports: Reports) -> list[tuple[int, NDArray[np.intp]]]:
        if self.layout.selector is None:
            return [(0, np.arange(length_of(reports)))]
        chosen = reports[self.layout.selector]
        order = np.argsort(chosen, kind="stable")
        present, starts = np.unique(chosen[order], return_index=True)
        return list(zip(present.tolist(), np.split(order, starts[1:]), strict=True))


class _VariantCodec:
    """Reports of one variant as symbols or as rows of bytes."""

    def __init__(self, layout: Layout, index: int) -> None:
        self.variant: Variant = layout.variants[index]
        self.selector, self.index = layout.selector, index
        vector = self.variant.vector
        self.strings = vector.bound**vector.length if vector else 1
        self.outcomes = self.variant.alphabet * self.strings
        self.compact = self.outcomes <= 1 << SYMBOL_BITS
        self.packing = Packing(self.outcomes) if self.compact else None
        self.scalar_bytes = (max(self.variant.alphabet - 1, 0).bit_length() + 7) // 8
        self.digit_bits = (vector.bound - 1).bit_length() if vector else 0
        vector_bits = vector.length * self.digit_bits if vector else 0
        self.row_bytes = self.scalar_bytes + (vector_bits + 7) // 8
        if self.compact:
            self.row_bytes = ((self.outcomes - 1).bit_length() + 7) // 8

    def pack(self, reports: Reports) -> bytes:
        if self.packing is not None:
            return self.packing.pack(self.symbols(reports))
        return self.rows(reports).tobytes()

    def unpack(self, packed: bytes, count: int) -> tuple[Reports, int]:
        if self.packing is not None:
            if len(packed) != self.packing.size(count):
                raise Rejected("wrong-length")
            symbols = self.packing.unpack(packed, count)
            if self.packing.exact:
                return self.columns(symbols), 0
            inside = symbols < np.uint64(self.outcomes)
            return self.columns(symbols if inside.all() else symbols[inside]), int(count - inside.sum())
        if len(packed) != count * self.row_bytes:
            raise Rejected("wrong-length")
        columns, inside = self.from_rows(np.frombuffer(packed, dtype=np.uint8).reshape(count, -1))
        return select(columns, inside), int(count - inside.sum())

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
        matrix = reports[vector.name][:, : vector.width]
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
        vector = self.variant.vector
        assert vector is not None
        matrix = reports[vector.name][:, : vector.width]
        if vector.bound > 2:
            places = np.arange(self.digit_bits, dtype=np.uint64)
            bits = (matrix.astype(np.uint64)[:, :, None] >> places & np.uint64(1)).astype(np.uint8)
            matrix = np.packbits(bits.reshape(len(matrix), -1), axis=1, bitorder="little")
        if not self.variant.scalars:
            return np.ascontiguousarray(matrix, dtype=np.uint8)
        return np.concatenate([_big_endian(self.variant.pack(reports), self.scalar_bytes), matrix], axis=1)

    def from_rows(self, rows: NDArray[np.uint8]) -> tuple[Reports, NDArray[np.bool_]]:
        """Columns, and which of the rows are inside their bounds."""
        if self.compact:
            symbols = _from_big_endian(rows)
            inside = symbols < np.uint64(self.outcomes)
            return self.columns(np.where(inside, symbols, np.uint64(0))), inside
        vector = self.variant.vector
        assert vector is not None
        inside = np.ones(len(rows), dtype=bool)
        result: Reports = {}
        if self.variant.scalars:
            scalars = _from_big_endian(rows[:, : self.scalar_bytes])
            inside &= scalars < np.uint64(self.variant.alphabet)
            result = self.variant.unpack(np.where(inside, scalars, np.uint64(0)))
        matrix = rows[:, self.scalar_bytes :]
        used = vector.length * self.digit_bits
        if used % 8:
            inside &= matrix[:, -1] >> np.uint8(used % 8) == 0
        if vector.bound > 2:
            bits = np.unpackbits(matrix, axis=1, count=used, bitorder="little")
            digits = bits.reshape(len(rows), vector.length, self.digit_bits).astype(np.uint64)
            matrix = (digits << np.arange(self.digit_bits, dtype=np.uint64)).sum(axis=2)
            inside &= (matrix < vector.bound).all(axis=1)
        result[vector.name] = matrix
        return self._selected(result, len(rows)), inside

    def _selected(self, columns: Reports, count: int) -> Reports:
        if self.selector is not None:
            columns[self.selector] = np.full(count, self.index, dtype=np.uint8)
        return columns


def codec(mechanism: Mechanism) -> Codec:
    """The wire format of a mechanism's reports."""
    return Codec(mechanism.layout)


def decode(mechanism: Mechanism, entries: list[dict[bytes, bytes]], codec: Codec) -> Decoded:
    """All valid reports of stream entries; whatever is malformed is refused by itself and loses nothing else."""
    parts: list[Reports] = []
    result = Decoded({})
    singles: list[bytes] = []
    places: list[int] = []
    for position, entry in enumerate(entries):
        payload = entry.get(b"f")
        try:
            if len(entry) != 1 or (payload is None and b"r" not in entry):
                raise Rejected("unknown-field")
            if payload is None:
                singles.append(entry[b"r"])
                places.append(position)
                continue
            found, outside = codec.decode_frame(payload)
        except Rejected as rejected:
            result.refuse(rejected.reason, 1, 0)
            result.refused_entries.append((position, rejected.reason))
            continue
        parts.extend(found)
        if outside:
            result.refuse("outside-domain", 0, outside)
            result.refused_entries.append((position, "outside-domain"))

    def refuse_single(position: int, reason: str) -> None:
        result.refuse(reason, 1, 1)
        result.refused_entries.append((places[position], reason))

    if singles:
        parts.extend(codec.decode_singles(singles, refuse_single))
    parts = [part for part in parts if length_of(part)]
    if not parts:
        return result
    reports = parts[0] if len(parts) == 1 else codec.layout.concatenate(parts)
    possible = mechanism.valid(reports)
    if possible is not None and not possible.all():
        result.refuse("impossible", 0, int((~possible).sum()))
        reports = select(reports, possible)
    result.reports, result.count = reports, length_of(reports)
    return result


def _unpack(payload: bytes, limit: int) -> Any:
    if len(payload) > limit:
        raise Rejected("too-large")
    try:
        return msgpack.unpackb(
            payload,
            use_list=True,
            raw=False,
            strict_map_key=True,
            max_str_len=0,
            max_map_len=0,
            max_ext_len=0,
            max_bin_len=limit,
            max_array_len=1_024,
        )
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError):
        raise Rejected("not-msgpack") from None


_INTEGER_HEADERS = {2: 0xCC, 3: 0xCD, 5: 0xCE, 9: 0xCF}


def _integers(payloads: list[bytes]) -> tuple[Symbols, NDArray[np.bool_]]:
    """msgpack unsigned integers, read by their length without a loop over reports; and which of them are such."""
    lengths = np.fromiter(map(len, payloads), dtype=np.int64, count=len(payloads))
    numbers = np.zeros(len(payloads), dtype=np.uint64)
    good = np.zeros(len(payloads), dtype=bool)
    joined = np.frombuffer(b"".join(payloads), dtype=np.uint8)
    starts = np.cumsum(lengths) - lengths
    for length in (1, *_INTEGER_HEADERS):
        rows = np.flatnonzero(lengths == length)
        if not rows.size:
            continue
        matrix = joined[starts[rows][:, None] + np.arange(length)]
        if length == 1:
            good[rows] = matrix[:, 0] < 0x80
            numbers[rows] = matrix[:, 0]
        else:
            good[rows] = matrix[:, 0] == _INTEGER_HEADERS[length]
            numbers[rows] = _from_big_endian(matrix[:, 1:])
    return numbers, good


def _why_not_an_integer(payload: bytes) -> str:
    try:
        _unpack(payload, SINGLE_BYTES)
    except Rejected as rejected:
        return rejected.reason
    return "wrong-type"


def _big_endian(numbers: Symbols, width: int) -> NDArray[np.uint8]:
    return numbers.astype(">u8").view(np.uint8).reshape(len(numbers), 8)[:, 8 - width :]


def _from_big_endian(matrix: NDArray[np.uint8]) -> Symbols:
    result = np.zeros(len(matrix), dtype=np.uint64)
    for column in range(matrix.shape[1]):
        result = result << np.uint64(8) | matrix[:, column].astype(np.uint64)
    return result
