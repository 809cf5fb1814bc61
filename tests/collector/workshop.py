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
