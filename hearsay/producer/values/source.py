"""Where a file of values comes from: a path or standard input (`-`), as it is or compressed by gzip."""

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from hearsay.producer.errors import ValuesError

STANDARD_INPUT = "-"
Seen = Callable[[bytes], object]
MARK = b"\xef\xbb\xbf"  # some programs write it before UTF-8
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
# Files that people try, and what they are.
_OTHERS = {b"PK\x03\x04": "a zip archive or a workbook; save it as CSV", b"\x28\xb5\x2f\xfd": "compressed by zstd"}


@dataclass(frozen=True)
class Source:
    """An open file of values. `name` is what messages call it."""

    name: str
    stream: io.BufferedIOBase
    size: int | None  # in bytes as stored; None where it is no file, and can be read only once
    position: Callable[[], int]  # how many of these bytes were read
    is_parquet: bool


@contextmanager
def open_source(path: str | Path, seen: Seen | None = None) -> Iterator[Source]:
    """The file at a path, or standard input; what cannot be read is a ValuesError.

    `seen` gets the bytes of the content: unpacked, without the mark before UTF-8, and with one kind of line end
    whichever the file has.
    """
    name = "standard input" if str(path) == STANDARD_INPUT else str(path)
    try:
        if str(path) == STANDARD_INPUT:
            yield _source(name, cast(io.BufferedReader, sys.stdin.buffer), None, seen)
        else:
            with Path(path).open("rb") as file:
                status = os.fstat(file.fileno())
                yield _source(name, file, status.st_size if stat.S_ISREG(status.st_mode) else None, seen)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise ValuesError(f"{name}: damaged gzip data") from None
    except OSError as error:
        raise ValuesError(f"{name}: {error.strerror or 'cannot be read'}") from None


def _source(name: str, stream: BinaryIO, size: int | None, seen: Seen | None) -> Source:
    file = _Counted(stream)
    if file.begins_with(_PARQUET):
        return Source(name, file if seen is None else _Watched(file, seen), size, file.count, is_parquet=True)
    for begin, what in _OTHERS.items():
        if file.begins_with(begin):
            raise ValuesError(f"{name} is {what}; CSV, gzip and Parquet can be read")
    content: io.BufferedIOBase = gzip.GzipFile(fileobj=cast(BinaryIO, file)) if file.begins_with(_GZIP) else file
    watched = content if seen is None else _Watched(content, _SameText(seen))
    return Source(name, watched, size, file.count, is_parquet=False)


class _Counted(io.BufferedIOBase):
    """A stream that looks at its first bytes without using them up, and counts what was read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._read = stream, 0
        self._first = stream.read(4)

    def begins_with(self, octets: bytes) -> bool:
        return self._first.startswith(octets)

    def count(self) -> int:
        """How many bytes were read."""
        return self._read

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            octets, self._first = self._first + self._stream.read(), b""
        else:
            octets, self._first = self._first[:size], self._first[size:]
            octets += self._stream.read(size - len(octets))
        self._read += len(octets)
        return octets


class _Watched(io.BufferedIOBase):
    """A stream that shows what is read from it."""

    def __init__(self, stream: io.BufferedIOBase, seen: Seen) -> None:
        self._stream, self._seen = stream, seen

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        octets = self._stream.read(size)
        self._seen(octets)
        return octets


class _SameText:
    """Hands bytes on without the mark before UTF-8, and with every line end as one line feed."""

    def __init__(self, seen: Seen) -> None:
        self._seen, self._is_after_return = seen, False
        self._first: bytes | None = b""  # until it is known whether they are the mark

    def __call__(self, octets: bytes) -> None:
        if self._first is not None:
            self._first += octets
            if len(self._first) < len(MARK) and octets:
                return
            octets, self._first = self._first.removeprefix(MARK), None
        if self._is_after_return and octets.startswith(b"\n"):
            octets = octets[1:]  # the second half of a line end whose first half was handed on
        self._is_after_return = octets.endswith(b"\r")
        if b"\r" in octets:
            octets = octets.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._seen(octets)
