"""Ways in which a frame, or a report in a frame, is malformed."""

import msgpack
import numpy as np

from hearsay.mechanisms.layout import select
from tests.collector.workshop import Bad, Workshop, kind, refused_frame, refused_single


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
