"""Reports as bytes: one at a time, or many in a columnar frame. `docs/reference/wire.md` has the format with examples.

A report whose variant has at most 2^57 different values is one **symbol**, an unsigned integer; a wider one is a byte
string. A single report is a msgpack integer or a msgpack bin; a frame is the msgpack array
`[wire version, [variant, count, bin], ...]` whose bins hold the packed symbols or rows of one variant.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from hearsay.collector.errors import Rejected
from hearsay.collector.limits import FRAME_BYTES, FRAME_REPORTS, SINGLE_BYTES
from hearsay.collector.survey.tags import WIRE_VERSION
from hearsay.collector.wire import integers
from hearsay.collector.wire.variant import VariantCodec
from hearsay.mechanisms import Reports
from hearsay.mechanisms.errors import NotPortable
from hearsay.mechanisms.layout import Layout, Symbols, length_of, select
from hearsay.mechanisms.roles import DeviceSide, WorkerSide

# Unpacked together: enough to pay for the calls, few enough for the cache.
BATCH_REPORTS = 1 << 15
BATCH_BYTES = 1 << 18
SINGLE_INTEGERS = 1 << 32  # more different reports: msgpack's integers would take 9 bytes, a bin takes fewer

Positions = NDArray[np.intp]


@dataclass
class _Batch:
    """Sections of one variant that are unpacked together."""

    positions: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    packed: list[bytes] = field(default_factory=list)
    reports: int = 0
    size: int = 0

    @property
    def full(self) -> bool:
        return self.reports >= BATCH_REPORTS or self.size >= BATCH_BYTES

    def add(self, position: int, count: int, packed: bytes) -> None:
        self.positions.append(position)
        self.counts.append(count)
        self.packed.append(packed)
        self.reports += count
        self.size += len(packed)


class Codec:
    """The wire format of one layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.variants = [VariantCodec(layout, index) for index in range(len(layout.variants))]
        starts = list(accumulate((variant.outcomes for variant in self.variants), initial=0))
        self.single_integer = starts[-1] <= SINGLE_INTEGERS
        # Where each variant's numbers start, then the end; unsigned like the symbols, or numpy compares them as floats.
        self.offsets = np.array(starts if self.single_integer else [0], dtype=np.uint64)

    def encode_singles(self, reports: Reports) -> list[bytes]:
        """One byte string per report, in order."""
        result: list[bytes] = [b""] * length_of(reports)
        for index, rows in self._by_variant(reports):
            variant = self.variants[index]
            part = select(reports, rows)
            if self.single_integer:
                numbers = (variant.symbols(part) + self.offsets[index]).tolist()
                payloads = [self._integer(number) for number in numbers]
            else:
                payloads = [msgpack.packb(self._prefix(index) + row.tobytes()) for row in variant.rows(part)]
            for row, payload in zip(rows.tolist(), payloads, strict=True):
                result[row] = payload
        return result

    def _integer(self, number: int) -> bytes:
        """A single report as a msgpack integer: the shortest form, or for all reports that of the largest."""
        width = len(msgpack.packb(int(self.offsets[-1]) - 1)) if self.layout.same_length else 1
        return msgpack.packb(number) if width == 1 else bytes([integers.HEADERS[width]]) + number.to_bytes(width - 1)

    def portable(self) -> dict[str, Any]:
        """How a symbol of each variant becomes the bytes of a single report, for devices in any language."""
        if self.layout.same_length:
            raise NotPortable("reports of one length have no form for other languages; use Python's Device")
        if self.single_integer:
            return {"as": "integer", "starts": [int(start) for start in self.offsets[:-1]]}
        if any(not variant.compact and variant.variant.scalars for variant in self.variants):
            raise NotPortable("numbers beside long vectors have no form for other languages; use Python's Device")
        rows = [{"length": each.row_bytes, "order": "big" if each.compact else "little"} for each in self.variants]
        return {"as": "bin", "numbered": len(rows) > 1, "rows": rows}

    def encode_frame(self, reports: Reports) -> bytes:
        """All reports in one frame; their order within it is not kept, since folding needs none."""
        sections: list[Any] = [WIRE_VERSION]
        for index, rows in self._by_variant(reports):
            sections.append([index, len(rows), self.variants[index].pack(select(reports, rows))])
        return msgpack.packb(sections)

    def decode_frames(
        self, payloads: list[bytes], reject: Callable[[int, str, int | None], None]
    ) -> list[tuple[Positions, Reports]]:
        """The valid reports of frames, with the position of the frame that each came in.

        `reject` is called in the order of the frames, with each bad one's position, why, and how many of its elements
        are outside their range; None where it is rejected as a whole. Sections of one variant are unpacked together, in
        batches that stay in the processor's cache: frames of many levels have many small ones.
        """
        reasons: dict[int, tuple[str, int | None]] = {}
        batches: dict[int, list[_Batch]] = {}
        for position, payload in enumerate(payloads):
            try:
                sections = self._sections(payload)
            except Rejected as rejected:
                reasons[position] = (rejected.reason, None)
                continue
            for index, count, packed in sections:
                of_variant = batches.setdefault(index, [])
                if not of_variant or of_variant[-1].full:
                    of_variant.append(_Batch())
                of_variant[-1].add(position, count, packed)
        parts = []
        outside: Counter[int] = Counter()
        for index in sorted(batches):
            for batch in batches[index]:
                reports, inside = self.variants[index].unpack(batch.packed, batch.counts)
                origins = np.repeat(np.array(batch.positions, dtype=np.intp), batch.counts)
                if not inside.all():
                    outside.update(origins[~inside].tolist())
                    origins = origins[inside]
                parts.append((origins, reports))
        reasons |= {position: ("outside-domain", count) for position, count in outside.items()}
        for position, (reason, elements) in sorted(reasons.items()):
            reject(position, reason, elements)
        return parts

    def _sections(self, payload: bytes) -> list[tuple[int, int, bytes]]:
        """A frame's sections as (variant, count, bytes that are as long as they must be)."""
        frame = _unpack(payload, FRAME_BYTES)
        if not isinstance(frame, list) or len(frame) < 1:
            raise Rejected("wrong-type")
        if type(frame[0]) is not int:
            raise Rejected("wrong-type")
        if frame[0] != WIRE_VERSION:
            raise Rejected("wrong-version")
        if len(frame) < 2 or len(frame) - 1 > len(self.variants):
            raise Rejected("wrong-length")
        sections, total = [], 0
        for section in frame[1:]:
            if not isinstance(section, list) or len(section) != 3:
                raise Rejected("wrong-type")
            index, count, packed = section
            if type(index) is not int or type(count) is not int or not isinstance(packed, bytes):
                raise Rejected("wrong-type")
            if not 0 <= index < len(self.variants):
                raise Rejected("outside-domain")
            total += count
            if count < 1 or total > FRAME_REPORTS or len(packed) != self.variants[index].size(count):
                raise Rejected("wrong-length")
            sections.append((index, count, packed))
        return sections

    def decode_singles(
        self, payloads: list[bytes], reject: Callable[[int, str], None]
    ) -> list[tuple[Positions, Reports]]:
        """The valid reports among single ones, with their positions; `reject` is called with each other's and why."""
        if self.single_integer:
            numbers, good = integers.read(payloads)
            inside = good & self.has(numbers)
            for position in np.flatnonzero(~inside).tolist():
                reject(position, "outside-domain" if good[position] else _why_not_an_integer(payloads[position]))
            return self.decode_numbers(np.flatnonzero(inside), numbers[inside])
        rows: dict[int, list[bytes]] = {}
        positions: dict[int, list[int]] = {}
        for position, payload in enumerate(payloads):
            try:
                index, row = self._single_row(payload)
            except Rejected as rejected:
                reject(position, rejected.reason)
                continue
            rows.setdefault(index, []).append(row)
            positions.setdefault(index, []).append(position)
        parts: list[tuple[Positions, Reports]] = []
        for index, strings in rows.items():
            variant, places = self.variants[index], np.array(positions[index], dtype=np.intp)
            matrix = np.frombuffer(b"".join(strings), dtype=np.uint8).reshape(len(strings), variant.row_bytes)
            columns, inside = variant.from_rows(matrix)
            for position in places[~inside].tolist():
                reject(position, "outside-domain")
            parts.append((places[inside], select(columns, inside)))
        return parts

    def has(self, numbers: Symbols) -> NDArray[np.bool_]:
        """Which integers are reports, where single reports are integers."""
        return numbers < self.offsets[-1]

    def decode_numbers(self, positions: Positions, numbers: Symbols) -> list[tuple[Positions, Reports]]:
        """The reports that are these integers, with the positions given for them."""
        if len(self.variants) == 1:
            return [(positions, self.variants[0].columns(numbers))] if numbers.size else []
        which = np.searchsorted(self.offsets, numbers, side="right") - 1
        parts = []
        for index in np.flatnonzero(np.bincount(which)).tolist():
            mine = which == index
            parts.append((positions[mine], self.variants[index].columns(numbers[mine] - self.offsets[index])))
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

    def _by_variant(self, reports: Reports) -> list[tuple[int, Positions]]:
        if not length_of(reports):
            return []
        if self.layout.selector is None:
            return [(0, np.arange(length_of(reports)))]
        chosen = reports[self.layout.selector]
        order = np.argsort(chosen, kind="stable")
        present, starts = np.unique(chosen[order], return_index=True)
        return list(zip(present.tolist(), np.split(order, starts[1:]), strict=True))


def codec(mechanism: DeviceSide | WorkerSide) -> Codec:
    """The wire format of a mechanism's reports."""
    return Codec(mechanism.layout)


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


def _why_not_an_integer(payload: bytes) -> str:
    try:
        _unpack(payload, SINGLE_BYTES)
    except Rejected as rejected:
        return rejected.reason
    return "wrong-type"
