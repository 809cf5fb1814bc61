"""How many bytes reports take at most, one by one and in frames: figures of the format, not estimates."""

from math import ceil

import msgpack

from hearsay.collector.survey.tags import WIRE_VERSION
from hearsay.collector.wire.codec import Codec

_LONG_RUN = 1 << 20  # reports of one variant, so many that the rest of a byte does not count
_REST = 8  # bytes at the end of a run: symbols are joined into groups of at most 57 bits, which end in whole bytes


def single_bytes(wire: Codec) -> int:
    """The longest single report, with msgpack's header."""
    if wire.single_integer:
        return len(msgpack.packb(int(wire.offsets[-1]) - 1))
    prefix = int(len(wire.variants) > 1)
    return max(len(msgpack.packb(bytes(prefix + variant.row_bytes))) for variant in wire.variants)


def frame_bytes(wire: Codec, reports: int) -> int:
    """What a frame of so many reports takes at most, however they fall on the variants."""
    if len(wire.variants) == 1:
        return len(msgpack.packb([WIRE_VERSION, [0, reports, bytes(wire.variants[0].size(reports))]]))
    sections = min(reports, len(wire.variants))
    each = max(variant.size(_LONG_RUN) for variant in wire.variants) / _LONG_RUN
    packed = ceil(reports * each) + _REST
    header = len(msgpack.packb([len(wire.variants), reports, bytes(packed)])) - packed
    return len(msgpack.packb([WIRE_VERSION] * (sections + 1))) + sections * (header + _REST) + ceil(reports * each)
