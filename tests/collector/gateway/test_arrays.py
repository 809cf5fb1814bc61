"""Bodies of integers, read together: never another reading than msgpack's."""

import random
from collections.abc import Iterator

import msgpack
import pytest

from hearsay.collector.gateway import arrays, bodies
from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.wire import integers

PLAIN = [0, 1, 0x7F, 0x80, 0xC4, 0xFF, 0x100, 0xC401, 0xC4C4, 0xFFFF, 1 << 16, (1 << 32) - 1, 1 << 32, (1 << 64) - 1]
FORMS = [*PLAIN, 0xC4_02_CC_00, 0xC4_01_05_C4_01_06_00_00]
TRAPS = bytes((0xC4, 0x01, 0x02, 0x03, 0x05, 0x09, 0xCC, 0xCD, 0xCE, 0xCF, 0x00, 0x7F, 0x91, 0x92, 0xDC, 0xC5, 0xFF))


def read(packed: list[bytes]) -> list[list[int] | None]:
    """Each body's numbers; None where it was left to msgpack."""
    numbers, counts = arrays.read(packed, [bodies.claimed(body) for body in packed])
    assert numbers.size == counts.sum()
    left = iter(numbers.tolist())
    return [[next(left) for _ in range(count)] if count else None for count in counts.tolist()]


def slowly(body: bytes) -> list[int] | None:
    """A body's numbers as msgpack and `integers.read` have them; None where not all of them are numbers."""
    strings = bodies.payloads(body)
    if strings is None:
        return None
    numbers, good = integers.read(strings)
    return numbers.tolist() if good.all() else None


def bodies_of_traps(seed: int, count: int) -> Iterator[bytes]:
    """Bytes out of which false beginnings are made, and good bodies with a byte changed, cut off or doubled."""
    draw = random.Random(seed)
    while count:
        kind = draw.randrange(4)
        if kind == 0:
            body = bytes([0x91 + draw.randrange(3), *draw.choices(TRAPS, k=draw.randrange(1, 14))])
        else:
            body = msgpack.packb([msgpack.packb(number) for number in draw.choices(FORMS, k=draw.randrange(1, 20))])
            place = draw.randrange(len(body))
            if kind == 2:
                body = body[:place] + bytes([draw.choice(TRAPS)]) + body[place + draw.randrange(2) :]
            elif kind == 3:
                body = body[:place] + body[place + draw.randrange(3) :]
        try:
            bodies.claimed(body)
        except Refusal:
            continue
        count -= 1
        yield body


@pytest.mark.parametrize("seed", range(10))
def test_every_body_is_read_as_msgpack_reads_it_or_left_alone(seed: int) -> None:
    packed = list(bodies_of_traps(seed, 500))
    for body, numbers in zip(packed, read(packed), strict=True):
        assert numbers is None or numbers == slowly(body)


def test_good_bodies_are_read_whatever_stands_beside_them() -> None:
    good = [
        msgpack.packb([msgpack.packb(number) for number in range(start, start + 40)]) for start in range(0, 800, 40)
    ]
    bad = [b"\x91\xc4", b"\x91\xc4\x05x", b"\x92\xc4\x01\x05", b"\x91" * 50, b"\x91\xc4\x00", b"\x91\x05"]
    packed = [body for pair in zip(good[:6], bad, strict=True) for body in pair] + good[6:]
    answers = read(packed)
    assert answers[1:12:2] == [None] * 6
    assert [number for numbers in answers if numbers is not None for number in numbers] == list(range(800))


@pytest.mark.parametrize("count", [1, 15, 16, 1_000])
def test_every_length_of_array_and_integer(count: int) -> None:
    numbers = [PLAIN[index % len(PLAIN)] for index in range(count)]
    packed = msgpack.packb([msgpack.packb(number) for number in numbers])
    assert read([packed]) == [numbers]
    wide = b"\xdd" + count.to_bytes(4) + packed[1 if count < 16 else 3 :]  # the same array with the longest header
    assert read([wide, packed]) == [numbers, numbers]


def test_two_readings_of_one_body_are_never_mixed() -> None:
    """An integer's bytes may look like a report: then the body is msgpack's to read, and no other body suffers."""
    inside = b"\x91\xc4\x09\xcf\xc4\x01\x05\xc4\x01\x06\x00\x00"
    assert slowly(inside) == [0xC40105C401060000]
    assert read([msgpack.packb([b"\x07"]), inside, msgpack.packb([b"\x08"])]) == [[7], None, [8]]
