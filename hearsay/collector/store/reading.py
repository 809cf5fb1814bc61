"""What the estimator asks of a shard: a window at one version, accumulator plus deltas, as exact integers; its merge;
and its newest snapshot.

Deltas and chunks are immutable and their names are never used twice, so a reader that remembers what it has seen
fetches new deltas only. When a merge comes in between, or a server lost its last second, something that was seen is
missing and the reader starts again.

A survey's first shard keeps the JSON of each window's newest snapshot, which the interface, the metrics and other
estimators read. It decides which of two estimators was later: a snapshot replaces only an older one.
"""

import json
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hearsay.collector import limits
from hearsay.collector.errors import StateError
from hearsay.collector.store.look import ShardLook, WindowLook
from hearsay.collector.store.node import Call, Command
from hearsay.collector.store.state import (
    PACKED_CHUNKS,
    WHOLE_CHUNKS,
    Delta,
    Vector,
    add_chunk,
    apply_delta,
    encode_chunk,
    unflatten,
)
from hearsay.collector.wire.rejections import Rejections
from hearsay.mechanisms import State
from hearsay.mechanisms.roles import EstimatorSide

_TRIES = 20
_CHUNKS_AT_ONCE = 16  # 8 MiB: a large state must not stand in memory twice while it is fetched or staged


@dataclass
class Reading:
    """A window of one shard. `commits` grows with every committed range: it orders readings.

    Readings of several shards may share one vector, which then holds the sum of all of them.
    """

    mechanism: EstimatorSide
    window: str
    version: int
    vector: Vector
    counters: dict[str, int]
    deltas: dict[str, Delta] = field(default_factory=dict)  # those not yet merged, without what they add
    dirty: set[int] = field(default_factory=set)  # chunks that these deltas touch
    delta_bytes: int = 0
    fence: str = ""  # the nonce of the accumulator's last merge
    layout: int = WHOLE_CHUNKS  # of the accumulator
    whole: set[int] = field(default_factory=set)  # chunks that are stored as they are

    @property
    def state(self) -> State:
        return unflatten(self.mechanism, self.vector)

    @property
    def commits(self) -> int:
        return self.counters.get("commits", 0)

    @property
    def folded(self) -> int:
        return self.counters.get("folded", 0)

    @property
    def rejected(self) -> Rejections:
        """Rejected entries and reports by reason."""
        return Rejections.from_counters(self.counters)

    def merged(self, names: Collection[str], fence: str, layout: int) -> None:
        """These deltas are part of the accumulator now."""
        for name in names:
            del self.deltas[name]
        self.version, self.fence, self.layout = self.version + 1, fence, max(layout, self.layout)
        self.delta_bytes = sum(delta.size for delta in self.deltas.values())
        if not self.deltas:
            self.dirty = set()


class ShardReading(ShardLook):
    """Reading and compacting the windows of a shard, and storing their snapshots."""

    def read(self, window: str, cached: Reading | None = None, seen: WindowLook | None = None) -> Reading:
        """The window as `seen` or, without it, as it is now; `cached` is reused and must not be used afterwards."""
        for _ in range(_TRIES):
            if seen is None:
                seen = self.look().at(self.survey.windows.named(window))
            vector = np.zeros(self.cells, dtype=np.int64) if cached is None else cached.vector
            reading = self.add_to(vector, window, cached, seen, own=True)
            if reading is not None:
                return reading
            cached = seen = None
        raise StateError(f"window {window} of {self.survey.name} changed under {_TRIES} attempts to read it")

    def add_to(
        self, vector: Vector, window: str, cached: Reading | None, seen: WindowLook, own: bool = False
    ) -> Reading | None:
        """Bring a vector up to `seen`; it holds what was read of this window in `cached`, nothing where that is None.

        `own`: it holds nothing else, and may be emptied. None: what was read is not part of what is there now, or a
        merge came in between; the vector must not be used any more.
        """
        reading, pointers = cached, None
        if reading is None or reading.fence != seen.fence:
            pointers = self.node.do("HGETALL", self.keys.accumulator(window)) if seen.version else {}
        if reading is not None and not self._continues(reading, seen, pointers):
            if not own:
                return None
            vector[:], reading = 0, None
            pointers = pointers or self.node.do("HGETALL", self.keys.accumulator(window))
        if reading is None:
            reading = Reading(self.survey.mechanism, window, seen.version, vector, {}, fence=seen.fence)
            if seen.version and not self._load(reading, pointers or {}):
                return None
        missing = sorted(seen.deltas - reading.deltas.keys())
        if missing:
            stored = self.node.do("HMGET", self.keys.deltas, *missing)
            blobs = [blob for blob in stored if blob is not None]
            if len(blobs) < len(missing) or (wholes := self._whole_deltas(blobs)) is None:
                return None
            for name, blob, whole in zip(missing, blobs, wholes, strict=True):
                reading.dirty |= apply_delta(reading.vector, whole)
                reading.deltas[name] = Delta.parse(blob)._replace(body=b"")
                reading.delta_bytes += len(whole)
        reading.counters = dict(seen.counters)
        return reading

    def _continues(self, reading: Reading, seen: WindowLook, pointers: Mapping[bytes, bytes] | None) -> bool:
        """Whether what was read is part of what is there now.

        One merge may lie in between, if all deltas that it took were read: then nothing is read again.
        """
        if reading.fence != seen.fence:
            fence, before, *names = (pointers or {}).get(b"merged", b" ").decode().split(" ")
            names = [name for name in names if name]
            if (fence, before) != (seen.fence, reading.fence) or not reading.deltas.keys() >= set(names):
                return False
            reading.merged(names, fence, int((pointers or {})[b"layout"]))
        return reading.deltas.keys() <= seen.deltas

    def _load(self, reading: Reading, pointers: Mapping[bytes, bytes]) -> bool:
        """Read the accumulator of the merge with the reading's fence; False: there was another merge."""
        if pointers.get(b"fence", b"").decode() != reading.fence:
            return False
        reading.layout = int(pointers.get(b"layout", WHOLE_CHUNKS))
        if reading.layout > PACKED_CHUNKS:
            raise StateError(f"accumulator layout must be at most {PACKED_CHUNKS}, got {reading.layout}")
        cells = int(pointers.get(b"cells", self.cells))
        if cells != self.cells:
            raise StateError(f"accumulator of {self.survey.name} must have {self.cells} cells, got {cells}")
        chunks = [(int(name[6:]), key) for name, key in pointers.items() if name.startswith(b"chunk:")]
        for start in range(0, len(chunks), _CHUNKS_AT_ONCE):
            some = chunks[start : start + _CHUNKS_AT_ONCE]
            for (number, _), chunk in zip(some, self._get(key for _, key in some), strict=True):
                if chunk is None:
                    return False
                cells_of_chunk = reading.vector[number * limits.CHUNK_CELLS : (number + 1) * limits.CHUNK_CELLS]
                if len(chunk) == cells_of_chunk.nbytes:
                    reading.whole.add(number)
                elif reading.layout < PACKED_CHUNKS:
                    raise StateError(
                        f"chunk of {self.survey.name} must have {cells_of_chunk.nbytes} bytes, got {len(chunk)}"
                    )
                add_chunk(cells_of_chunk, chunk)
        return True

    def _whole_deltas(self, blobs: Sequence[bytes]) -> list[bytes] | None:
        """Deltas with their parts put together; None: a part is gone."""
        deltas = [Delta.parse(blob) for blob in blobs]
        parts = self._get(name.encode() for delta in deltas for name in delta.parts)
        if any(part is None for part in parts):
            return None
        pieces = iter(part or b"" for part in parts)
        return [delta.body or b"".join(next(pieces) for _ in delta.parts) for delta in deltas]

    def _get(self, names: Iterable[bytes]) -> list[bytes | None]:
        """Strings, all in one call."""
        commands = [Command(("GET", name)) for name in names]
        return self.node.many(commands) if commands else []

    def compact(self, reading: Reading, layout: int = WHOLE_CHUNKS, pack: bool = False) -> bool:
        """Merge a reading's deltas into the accumulator; afterwards the reading is the accumulator itself.

        Only chunks that changed are written, and with `pack` those that are not packed yet. `layout`: the newest that
        may be written. False: another process was first, or the server lost what was read.
        """
        if pack and layout >= PACKED_CHUNKS:
            reading.dirty |= reading.whole
        if not reading.deltas and not reading.dirty:
            return True
        keys, nonce, window = self.keys, secrets.token_hex(8), reading.window
        chunks = sorted(reading.dirty)
        staged = [keys.chunk(window, number, nonce) for number in chunks]
        parts = [part for delta in reading.deltas.values() for part in delta.parts]
        size = sum(delta.size for delta in reading.deltas.values())
        reports = reading.mechanism.reports(reading.state)
        layout = max(layout, reading.layout)  # chunks that do not change stay as they are
        arguments = [reading.fence, nonce, layout, self.cells, size, reports, len(chunks)]
        names = [keys.accumulator(window), keys.deltas, keys.meta, *staged, *parts]
        calls: list[Call] = []
        for number, name in zip(chunks, staged, strict=True):
            cells = reading.vector[number * limits.CHUNK_CELLS : (number + 1) * limits.CHUNK_CELLS]
            chunk = encode_chunk(cells, layout)
            (reading.whole.add if len(chunk) == cells.nbytes else reading.whole.discard)(number)
            calls.append(Call("stage", [name], [chunk, limits.STAGED_TTL_S]))
            if len(calls) == _CHUNKS_AT_ONCE:
                self.node.many(calls)
                calls = []
        merge = Call("merge", names, [*arguments, *chunks, *reading.deltas])
        if self.node.many([*calls, merge])[-1] != b"ok":
            return False
        reading.merged(list(reading.deltas), nonce, layout)
        return True

    def put_snapshot(self, window: str, version: int, document: bytes, directory: str = "") -> bool:
        """Store a snapshot's JSON over an older one only; `directory` is where its files are written."""
        keys = self.keys
        names = [keys.snapshot(window), keys.meta, keys.places]
        return bool(self.node.run("show", names, [version, document, directory]))

    def snapshot_version(self, window: str) -> int | None:
        """Ask for the version of the snapshot stored."""
        version = self.node.do("HGET", self.keys.snapshot(window), "version")
        return None if version is None else int(version)

    def snapshot(self, window: str) -> dict[str, Any] | None:
        """Ask for the document stored, which is without its definition; None: there is none."""
        document = self.node.do("HGET", self.keys.snapshot(window), "json")
        return None if document is None else json.loads(document)
