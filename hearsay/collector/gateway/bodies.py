"""Bodies of requests: a msgpack array of bins, each a report. Many are decoded together: numpy on one costs 80 us."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgpack
import numpy as np
from numpy.typing import NDArray

from hearsay.collector.gateway import arrays
from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.limits import MIB
from hearsay.collector.wire.codec import Codec
from hearsay.mechanisms import Reports
from hearsay.mechanisms.layout import select
from hearsay.mechanisms.roles import WorkerSide

MOST_REPORTS = 1_000
MOST_BYTES = MIB
_SHAPE = f"the body must be a msgpack array of 1 to {MOST_REPORTS:,} bins"

Numbers = NDArray[np.intp]


def malformed() -> Refusal:
    """The body cannot be read."""
    return Refusal("malformed", _SHAPE)


def claimed(body: bytes) -> int:
    """How many reports the array's header promises; Refusal where the body is no array or has too many."""
    first = body[0] if body else 0
    if 0x90 <= first <= 0x9F:
        count = first & 0x0F
    elif first == 0xDC:
        count = int.from_bytes(body[1:3], "big")
    elif first == 0xDD:
        count = int.from_bytes(body[1:5], "big")
    else:
        count = 0
    if count == 0:
        raise malformed()
    if count > MOST_REPORTS:
        raise Refusal("too-large", _SHAPE)
    return count


def payloads(body: bytes) -> list[bytes] | None:
    """The reports of a body as bytes; None where it is no array of bins."""
    try:
        array = msgpack.unpackb(
            body, max_array_len=MOST_REPORTS, max_bin_len=MOST_BYTES, max_str_len=0, max_map_len=0, max_ext_len=0
        )
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError):
        return None
    if not isinstance(array, list) or not array or not all(type(each) is bytes for each in array):
        return None
    return array


@dataclass(frozen=True)
class Decoded:
    """Valid reports of many requests, each with the position of the request that it came in.

    `rejected` counts each request's other reports, `reasons` why; `malformed` are requests that cannot be read at all.
    """

    reports: Reports
    owners: Numbers
    accepted: Numbers
    rejected: Numbers
    reasons: Counter[str]
    malformed: frozenset[int]


def decode(bodies: Sequence[bytes], mechanism: WorkerSide, codec: Codec) -> Decoded:
    """All valid reports of these bodies."""
    reasons: Counter[str] = Counter()
    parts: list[tuple[Numbers, Reports]] = []  # with the positions of the bodies that they came in
    counts = np.zeros(len(bodies), dtype=np.intp)
    if codec.single_integer:
        numbers, counts = arrays.read(bodies, [claimed(body) for body in bodies])
        owners = np.repeat(np.arange(len(bodies)), counts)
        inside = codec.has(numbers)
        if not inside.all():
            reasons["outside-domain"] += int((~inside).sum())
            owners, numbers = owners[inside], numbers[inside]
        parts += codec.decode_numbers(owners, numbers)

    strings: list[bytes] = []
    of: list[int] = []
    malformed = []
    for position in np.flatnonzero(counts == 0).tolist():
        mine = payloads(bodies[position])
        if mine is None:
            malformed.append(position)
        else:
            strings += mine
            of += [position] * len(mine)
            counts[position] = len(mine)

    def refuse(position: int, reason: str) -> None:
        reasons[reason] += 1

    if strings:
        owner = np.array(of)
        parts += [(owner[rows], part) for rows, part in codec.decode_singles(strings, refuse) if rows.size]
    reports: Reports = {}
    owners = np.zeros(0, dtype=np.intp)
    if parts:
        reports = parts[0][1] if len(parts) == 1 else codec.layout.concatenate([part for _, part in parts])
        owners = parts[0][0] if len(parts) == 1 else np.concatenate([rows for rows, _ in parts])
        possible = mechanism.valid(reports)
        if possible is not None and not possible.all():
            reasons["impossible"] += int((~possible).sum())
            reports, owners = select(reports, possible), owners[possible]
    accepted = np.bincount(owners, minlength=len(bodies))
    return Decoded(reports, owners, accepted, counts - accepted, reasons, frozenset(malformed))
