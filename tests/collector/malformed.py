"""Malformed stream entries by the thousand, each with the reason under which it must be counted.

Every payload that has room carries a token of its own, so that a test can look for it where it must not be.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgpack
import numpy as np

from hearsay.collector.wire.codec import Codec, codec
from hearsay.mechanisms import Mechanism, Reports
from hearsay.mechanisms.layout import select


@dataclass(frozen=True)
class Bad:
    """An entry, the reason, how many entries and reports it counts, and the reports of it that are good."""

    kind: str
    field: bytes
    payload: bytes
    reason: str
    entries: int = 1
    reports: int = 0
    kept: Reports | None = None
    token: bytes = b""


Maker = Callable[["Workshop"], Bad | None]
_MAKERS: list[Maker] = []


def kind(maker: Maker) -> Maker:
    """Registers a way to be malformed."""
    _MAKERS.append(maker)
    return maker


class Workshop:
    """Makes malformed entries for one mechanism from good reports of it."""

    def __init__(self, mechanism: Mechanism, reports: Reports, seed: int) -> None:
        self.mechanism, self.reports = mechanism, reports
        self.wire: Codec = codec(mechanism)
        self.generator = np.random.default_rng(seed)
        self.singles = self.wire.encode_singles(reports)

    def entries(self, count: int) -> Iterator[Bad]:
        """Every kind in turn, as far as the mechanism can have it."""
        made = 0
        while made < count:
            for maker in _MAKERS:
                bad = maker(self)
                if bad is not None and made < count:
                    made += 1
                    yield bad

    def token(self) -> bytes:
        return self.generator.bytes(8)

    def number(self, low: int, high: int) -> int:
        return int(self.generator.integers(low, high))

    def pick(self, options: list[Any]) -> Any:
        return options[self.number(0, len(options))]

    def single(self) -> bytes:
        payload: bytes = self.pick(self.singles)
        return payload

    def some(self) -> Reports:
        """A few good reports, enough for a frame."""
        start, size = self.number(0, len(self.singles) - 9), self.number(1, 9)
        return select(self.reports, slice(start, start + size))

    def frame(self) -> list[Any]:
        """A good frame, unpacked."""
        frame: list[Any] = msgpack.unpackb(self.wire.encode_frame(self.some()))
        return frame


def refused_single(name: str, payload: bytes, reason: str, token: bytes = b"") -> Bad:
    return Bad(name, b"r", payload, reason, 1, 1, token=token)


def refused_frame(name: str, frame: Any, reason: str, token: bytes = b"") -> Bad:
    return Bad(name, b"f", frame if isinstance(frame, bytes) else msgpack.packb(frame), reason, token=token)


@kind
def truncated(shop: Workshop) -> Bad:
    token = shop.token()
    whole = shop.pick(
        [b"\xcf" + token, b"\xcb" + token, b"\xc4\x08" + token, b"\xda\x00\x08" + token, b"\x92\xcf" + token]
    )
    return refused_single("truncated", whole[: shop.number(1, 5)], "not-msgpack")


@kind
def reserved_byte(shop: Workshop) -> Bad:
    token = shop.token()
    return refused_single(
        "random bytes", b"\xc1" + token + shop.generator.bytes(shop.number(0, 40)), "not-msgpack", token
    )


@kind
def empty(shop: Workshop) -> Bad:
    return shop.pick([refused_single("empty", b"", "not-msgpack"), refused_frame("empty", b"", "not-msgpack")])


@kind
def trailing_bytes(shop: Workshop) -> Bad:
    token = shop.token()
    return refused_single("trailing bytes", shop.single() + token, "not-msgpack", token)


@kind
def floats(shop: Workshop) -> Bad:
    value = shop.pick([float(shop.generator.normal()), 3.0, float("nan"), float("inf"), float("-inf"), -0.0, 5e-324])
    return refused_single("float", msgpack.packb(value), "wrong-type")


@kind
def bools_and_nil(shop: Workshop) -> Bad:
    return refused_single("bool or nil", msgpack.packb(shop.pick([True, False, None])), "wrong-type")


@kind
def negative(shop: Workshop) -> Bad:
    return refused_single("negative", msgpack.packb(-shop.number(1, 1 << shop.number(1, 63))), "wrong-type")


@kind
def text(shop: Workshop) -> Bad:
    token = shop.token().hex()
    return refused_single("text", msgpack.packb(token), "not-msgpack", token.encode())


@kind
def lists(shop: Workshop) -> Bad:
    token = shop.token()
    return refused_single("list", msgpack.packb([token, [1, [2.5, True]]]), "wrong-type", token)


@kind
def maps(shop: Workshop) -> Bad:
    token = shop.token()
    return refused_single("map", msgpack.packb(shop.pick([{1: token}, {token: 1}, {"r": token}])), "not-msgpack", token)


@kind
def extensions(shop: Workshop) -> Bad:
    token = shop.token()
    return refused_single("extension", msgpack.packb(msgpack.ExtType(shop.number(0, 128), token)), "not-msgpack", token)


@kind
def huge_claims(shop: Workshop) -> Bad:
    """Headers of text, bin, array, map and extension that promise up to four gigabytes."""
    token, header = shop.token(), shop.pick([b"\xdb", b"\xc6", b"\xdd", b"\xdf", b"\xc9"])
    field = shop.pick([refused_single, refused_frame])
    bad: Bad = field(
        "huge claim", header + shop.pick([b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"]) + token, "not-msgpack", token
    )
    return bad


@kind
def deep_nesting(shop: Workshop) -> Bad:
    token = shop.token()
    deep, shallow = shop.number(1_500, 4_000), shop.number(2, 100)
    payload = b"\x91" * shop.pick([deep, shallow]) + b"\xc4\x08" + token
    return refused_single("deep nesting", payload, "not-msgpack" if len(payload) > 1_000 else "wrong-type", token)


@kind
def unknown_field(shop: Workshop) -> Bad:
    token = shop.token()
    return Bad(
        "unknown field", shop.pick([b"x", b"rr", b"R", b"\xff", b"payload"]), token, "unknown-field", token=token
    )


@kind
def frame_as_single(shop: Workshop) -> Bad:
    return refused_single("frame as single", msgpack.packb(shop.frame()), "wrong-type")


@kind
def single_as_frame(shop: Workshop) -> Bad:
    return refused_frame("single as frame", shop.single(), "wrong-type")


@kind
def number_outside(shop: Workshop) -> Bad | None:
    if not shop.wire.single_integer:
        return None
    outcomes = int(shop.wire.offsets[-1])
    payload = msgpack.packb(outcomes + shop.number(0, (1 << shop.number(1, 63)) - 1))
    return refused_single("outside the domain", payload, "outside-domain", payload if len(payload) == 9 else b"")


@kind
def wrong_type_of_single(shop: Workshop) -> Bad:
    token = shop.token()
    payload = msgpack.packb(token if shop.wire.single_integer else shop.number(0, 1 << 60))
    return refused_single("integer for bin or bin for integer", payload, "wrong-type")


@kind
def bin_of_wrong_length(shop: Workshop) -> Bad | None:
    if shop.wire.single_integer:
        return None
    row = msgpack.unpackb(shop.single())
    changed = shop.pick([row[: shop.number(1, len(row))], row + shop.token(), b""])
    return refused_single("wrong length", msgpack.packb(changed), "wrong-length")


@kind
def bin_outside(shop: Workshop) -> Bad | None:
    """A bit beyond the last cell, or a level that does not exist."""
    if shop.wire.single_integer:
        return None
    row = bytearray(msgpack.unpackb(shop.single()))
    if shop.mechanism.layout.selector is not None:
        row[0] = shop.number(len(shop.wire.variants), 256)
    elif shop.mechanism.layout.outcomes.bit_length() % 8 != 1:
        vector = shop.mechanism.layout.single.vector
        assert vector is not None
        row[-1 if not shop.wire.variants[0].compact else 0] |= 0x80
    else:
        return None
    return refused_single("outside the domain", msgpack.packb(bytes(row)), "outside-domain")


@kind
def wrong_version(shop: Workshop) -> Bad:
    frame = shop.frame()
    frame[0] = shop.pick([0, 2, 3, 255, -1, 1 << 40])
    return refused_frame("another wire version", frame, "wrong-version")


@kind
def version_of_another_type(shop: Workshop) -> Bad:
    frame = shop.frame()
    frame[0] = shop.pick([None, True, 1.0, float("nan"), b"1", [1]])
    return refused_frame("version of another type", frame, "wrong-type")


@kind
def no_sections(shop: Workshop) -> Bad:
    return shop.pick([refused_frame("no section", [1], "wrong-length"), refused_frame("nothing", [], "wrong-type")])


@kind
def too_many_sections(shop: Workshop) -> Bad:
    section = shop.frame()[1]
    return refused_frame("too many sections", [1, *[section] * (len(shop.wire.variants) + 1)], "wrong-length")


@kind
def section_of_another_shape(shop: Workshop) -> Bad:
    frame, token = shop.frame(), shop.token()
    frame[1] = shop.pick([token, 5, None, [], frame[1][:2], [*frame[1], token], [frame[1]]])
    return refused_frame("section of another shape", frame, "wrong-type")


@kind
def fields_of_another_type(shop: Workshop) -> Bad:
    frame = shop.frame()
    place = shop.number(0, 3)
    frame[1][place] = (
        shop.pick([None, True, float("nan"), 2.5, [1]]) if place < 2 else shop.pick([None, 7, [b"\x00"], 0.5])
    )
    return refused_frame("field of another type", frame, "wrong-type")


@kind
def unknown_variant(shop: Workshop) -> Bad:
    frame = shop.frame()
    frame[1][0] = shop.pick([len(shop.wire.variants), 256, -1, 1 << 63])
    return refused_frame("unknown variant", frame, "outside-domain")


@kind
def impossible_count(shop: Workshop) -> Bad:
    frame = shop.frame()
    frame[1][1] = shop.pick([0, -1, 65_537, 1 << 32, (1 << 64) - 1, -(1 << 63)])
    return refused_frame("impossible count", frame, "wrong-length")


@kind
def packed_of_wrong_length(shop: Workshop) -> Bad:
    frame, token = shop.frame(), shop.token()
    frame[1][2] = frame[1][2] + token
    return refused_frame("packed too long", frame, "wrong-length", token)


@kind
def packed_too_short(shop: Workshop) -> Bad:
    frame = shop.frame()
    frame[1][2] = frame[1][2][:-1]
    return refused_frame("packed too short", frame, "wrong-length")


@kind
def truncated_frame(shop: Workshop) -> Bad:
    payload = msgpack.packb(shop.frame())
    return refused_frame("truncated frame", payload[: shop.number(1, len(payload))], "not-msgpack")


@kind
def random_frame(shop: Workshop) -> Bad:
    token = shop.token()
    return refused_frame("random bytes in a frame", b"\xc1" + token + shop.generator.bytes(50), "not-msgpack", token)


@kind
def frame_with_bad_elements(shop: Workshop) -> Bad | None:
    """Some elements outside, the others good: only where each element has bits of its own."""
    variant = shop.wire.variants[0]
    if len(shop.wire.variants) > 1:
        return None
    reports = shop.some()
    (index, count, packed) = msgpack.unpackb(shop.wire.encode_frame(reports))[1]
    if variant.packing is not None:
        bits, usable = variant.packing.bits, variant.packing.group == 1 and not variant.packing.exact
    else:
        bits, usable = 8 * variant.row_bytes, shop.mechanism.layout.outcomes.bit_length() % 8 != 1
    if not usable:
        return None
    hit = np.flatnonzero(shop.generator.random(count) < 0.4)
    if not hit.size:
        return None
    number = int.from_bytes(packed, "little")
    for place in hit.tolist():
        number |= ((1 << bits) - 1) << bits * place
    frame = msgpack.packb([1, [index, count, number.to_bytes(len(packed), "little")]])
    kept = select(reports, np.setdiff1d(np.arange(count), hit))
    return Bad("bad elements", b"f", frame, "outside-domain", 0, len(hit), kept)


@kind
def impossible_reports(shop: Workshop) -> Bad | None:
    """In the layout, but no device sends it: here a subset without members."""
    if shop.mechanism.ID != "ss":
        return None
    reports = shop.some()
    broken = {"bits": reports["bits"].copy()}
    broken["bits"][0] = 0
    if shop.number(0, 2):
        return refused_single("impossible", shop.wire.encode_singles(broken)[0], "impossible")
    return Bad("impossible", b"f", shop.wire.encode_frame(broken), "impossible", 0, 1, select(reports, slice(1, None)))
