"""Requests that are published together: their reports, shuffled into frames, and their ids."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hearsay.collector.gateway.bodies import Numbers
from hearsay.collector.limits import FRAME_BYTES
from hearsay.collector.wire.codec import Codec
from hearsay.mechanisms import Reports
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.layout import length_of, select

FRAME_REPORTS = 4_096  # large enough for the collector's speed; what is held is shuffled as a whole, not by frame
Entry = tuple[bytes, bytes]


@dataclass(frozen=True)
class Batch:
    """`names` are the requests' ids as PUBLISH remembers them, each with its hour; `owners` says whose a report is."""

    hours: Sequence[int]
    names: Sequence[bytes]
    reports: Reports
    owners: Numbers
    round_number: int | None = None
    order: list[int] = field(default_factory=list, compare=False)  # position of each request, in the order of `ids`

    def __len__(self) -> int:
        return len(self.names)

    @property
    def count(self) -> int:
        """How many reports it has."""
        return len(self.owners)

    def ids(self) -> Mapping[int, bytes]:
        """The ids by hour, joined."""
        by_hour: dict[int, list[int]] = {}
        for position, hour in enumerate(self.hours):
            by_hour.setdefault(hour, []).append(position)
        self.order[:] = [position for positions in by_hour.values() for position in positions]
        return {hour: b"".join([self.names[each] for each in positions]) for hour, positions in by_hour.items()}

    def without(self, positions: set[int]) -> tuple["Batch", list[int]]:
        """The batch without these requests, and the positions that the others had."""
        kept = [position for position in range(len(self)) if position not in positions]
        renumbered = np.full(len(self), -1, dtype=np.intp)
        renumbered[kept] = np.arange(len(kept))
        owners = renumbered[self.owners]
        chosen = owners >= 0
        rest = Batch(
            [self.hours[each] for each in kept],
            [self.names[each] for each in kept],
            select(self.reports, chosen),
            owners[chosen],
            self.round_number,
        )
        return rest, kept

    def frames(self, codec: Codec, random: Random) -> Iterator[Entry]:
        """All reports in frames, shuffled over the whole batch."""
        if not self.count:
            return
        mixed = select(self.reports, random.order(self.count))
        widest = max(1, *(variant.row_bytes for variant in codec.variants))
        size = max(1, min(FRAME_REPORTS, FRAME_BYTES // 2 // widest))
        for start in range(0, length_of(mixed), size):
            yield b"f", codec.encode_frame(select(mixed, slice(start, start + size)))
