"""Ways in which an entry, or a single report in it, is malformed."""

import msgpack

from tests.collector.workshop import Bad, Workshop, kind, refused_frame, refused_single


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
