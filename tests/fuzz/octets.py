"""Damage to bytes and to text: flipped, cut, doubled, spliced, and swapped for what parsers stumble over."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

NASTY_TEXT = (
    "", " ", "\x00", "\n", "\r\n", "\ufeff", "\u202e", "\ud7ff", "é", "𝟙", "١", "½", "∞", "nan", "NaN", "inf", "-inf",
    "-0", "1e400", "1e-400", "0x10", "1_0", "1,5", "1.5.5", "9" * 400, "-" * 50, '"', "'", "\\", "#", "[", "]" * 60,
    "{", "}", "=", "%", "%00", "%s", "${x}", "../..", "null", "true", "None", "1e3", "+1", " 1 ", "a" * 300, "last:0",
)  # fmt: skip
NASTY_BYTES = (
    b"", b"\x00", b"\xff", b"\x7f", b"\x80", b"\xc1", b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff",
    b"\xcf" + b"\xff" * 8,
    b"\xd3\x80" + b"\x00" * 7, b"\x91" * 200, b"\xcb\x7f\xf8" + b"\x00" * 6, b"\xfe\xff",
    b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
)  # fmt: skip


def damaged(random: Random, given: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Bytes after one to four blows."""
    octets = bytearray(given)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        _BLOWS[random.randrange(len(_BLOWS))](random, octets, others)
    return bytes(octets)


def damaged_text(random: Random, given: str, others: Sequence[str] = ()) -> str:
    """Text after one to four blows, some of them to whole lines."""
    text = given
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        match random.randrange(8):
            case 0:
                text = _cut(random, text)
            case 1:
                place = random.randint(0, len(text))
                text = text[:place] + random.choice(NASTY_TEXT) + text[place:]
            case 2:
                place = random.randint(0, len(text))
                text = (
                    text[:place]
                    + chr(random.choice((9, 10, 34, 39, 44, 48, 61, 91, 93, 0x1F600, 0xFFFF)))
                    + text[place + 1 :]
                )
            case 3:
                lines = text.split("\n")
                lines.insert(random.randint(0, len(lines)), random.choice(lines))
                text = "\n".join(lines)
            case 4:
                lines = text.split("\n")
                del lines[random.randrange(len(lines))]
                text = "\n".join(lines)
            case 5 if others:
                first, second = text.split("\n"), random.choice(others).split("\n")
                text = "\n".join(first[: random.randint(0, len(first))] + second[random.randint(0, len(second)) :])
            case 6:
                lines = text.split("\n")
                random.shuffle(lines)
                text = "\n".join(lines)
            case _:
                place = random.randint(0, len(text))
                depth = random.choice((1, 5, 60, 2_000))
                text = text[:place] + random.choice("[{(\"'") * depth + text[place:]
    return text


def _cut(random: Random, text: str) -> str:
    start = random.randint(0, len(text))
    return text[:start] + text[start + random.choice((1, 2, 10, 1_000_000)) :]


def _flip(random: Random, octets: bytearray, others: Sequence[bytes]) -> None:
    if octets:
        octets[random.randrange(len(octets))] ^= 1 << random.randrange(8)


def _replace(random: Random, octets: bytearray, others: Sequence[bytes]) -> None:
    if octets:
        octets[random.randrange(len(octets))] = random.randrange(256)


def _delete(random: Random, octets: bytearray, others: Sequence[bytes]) -> None:
    place = random.randint(0, len(octets))
    del octets[place : place + random.choice((1, 2, 7, 100))]


def _truncate(random: Random, octets: bytearray, others: Sequence[bytes]) -> None:
    del octets[random.randint(0, len(octets)) :]


def _double(random: Random, octets: bytearray, others: Sequence[bytes]) -> None:
    place = random.randint(0, len(octets))
    octets[place:place] = octets[place : place + random.choice((1, 4, 50))]


def _insert(random: Random, octets: bytearray, others: Sequence[bytes]) -> None:
    place = random.randint(0, len(octets))
    octets[place:place] = random.randbytes(random.choice((1, 2, 9)))


def _nasty(random: Random, octets: bytearray, others: Sequence[bytes]) -> None:
    place, put = random.randint(0, len(octets)), random.choice(NASTY_BYTES)
    octets[place : place + random.choice((0, len(put)))] = put


def _splice(random: Random, octets: bytearray, others: Sequence[bytes]) -> None:
    if others:
        other = random.choice(others)
        octets[random.randint(0, len(octets)) :] = other[random.randint(0, len(other)) :]


_BLOWS: tuple[Callable[[Random, bytearray, Sequence[bytes]], None], ...] = (
    _flip, _replace, _delete, _truncate, _double, _insert, _nasty, _splice,
)  # fmt: skip


def put(path: Path, content: bytes) -> None:
    """A file anew: one that is cut to nothing and written again is sent to the disk by some file systems."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)
