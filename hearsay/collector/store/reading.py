"""Reading a window of a shard at one version (accumulator plus deltas, as exact integers), merging its deltas, and its
newest snapshot.

Deltas and chunks never change, and their names are never used twice. So a reader that keeps its last reading fetches
only new deltas. If a merge took place in between, or a server lost its last second, a delta of the last reading is
missing, and the reader starts again.

The first shard of a survey stores the JSON of each window's newest snapshot, which the HTTP interface, the metrics and
other estimators read. A snapshot replaces only an older one, so with two estimators the newer snapshot wins.
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
_CHUNKS_AT_ONCE = 16  # 8 MiB: a large state must not be in memory twice while it is fetched or staged


@dataclass
class Reading:
    """A window of one shard, as it was read.

    The readings of several shards may share one vector, which is then the sum of all of them.
    """

    mechanism: EstimatorSide
    window: str
    version: int
    vector: Vector
    counters: dict[str, int]
    deltas: dict[str, Delta] = field(default_factory=dict)  # those not yet merged, without their bodies
    dirty: set[int] = field(default_factory=set)  # chunks that these deltas change
    delta_bytes: int = 0
    fence: str = ""  # the nonce of the accumulator's last merge
    layout: int = WHOLE_CHUNKS  # of the accumulator
    whole: set[int] = field(default_factory=set)  # chunks that are stored unpacked

    @property
    def state(self) -> State:
        return unflatten(self.mechanism, self.vector)

    @property
    def folded(self) -> int:
        return self.counters.get("folded", 0)

    @property
    def rejected(self) -> Rejections:
        """Rejected entries and reports by reason."""
        return Rejections.from_counters(self.counters)

    def merged(self, names: Collection[str], fence: str, layout: int) -> None:
        """Note that a merge made these deltas part of the accumulator."""
        for name in names:
            del self.deltas[name]
        self.version, self.fence, self.layout = self.version + 1, fence, max(layout, self.layout)
        self.delta_bytes = sum(delta.size for delta in self.deltas.values())
        if not self.deltas:
            self.dirty = set()


class ShardReading(ShardLook):
    """Reading and compacting the windows of a shard, and storing their snapshots."""

    def read(self, window: str, cached: Reading | None = None, seen: WindowLook | None = None) -> Reading:
        """The window as in the look `seen`, or as it is now; `cached` is updated, and must not be used any more."""
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
        """Add to a vector what the look `seen` has beyond the reading `cached`, which the vector already includes.

        With `own` the vector includes nothing else, and may be set to zero. Returns None if `cached` is not part of the
        window any more, or if a merge took place meanwhile; then the vector must not be used any more.
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
        """Whether the reading is part of the window now, so that nothing has to be read again.

        One merge may have taken place since then, if the reading has all deltas that were merged.
        """
        if reading.fence != seen.fence:
            fence, before, *names = (pointers or {}).get(b"merged", b" ").decode().split(" ")
            names = [name for name in names if name]
            if (fence, before) != (seen.fence, reading.fence) or not reading.deltas.keys() >= set(names):
                return False
            reading.merged(names, fence, int((pointers or {})[b"layout"]))
        return reading.deltas.keys() <= seen.deltas

    def _load(self, reading: Reading, pointers: Mapping[bytes, bytes]) -> bool:
        """Read the accumulator, if its last merge has the reading's fence; False: there was another merge."""
        if pointers.get(b"fence", b"").decode() != reading.fence:
            return False
        reading.layout = int(pointers.get(b"layout", WHOLE_CHUNKS))
        if reading.layout > PACKED_CHUNKS:
            raise StateError(what="accumulator layout", expected=f"at most {PACKED_CHUNKS}", got=reading.layout)
        cells = int(pointers.get(b"cells", self.cells))
        if cells != self.cells:
            raise StateError(what=f"accumulator of {self.survey.name}", must=f"have {self.cells} cells", got=cells)
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
                        what=f"chunk of {self.survey.name}", must=f"have {cells_of_chunk.nbytes} bytes", got=len(chunk)
                    )
                add_chunk(cells_of_chunk, chunk)
        return True

    def _whole_deltas(self, blobs: Sequence[bytes]) -> list[bytes] | None:
        """The bodies of deltas, with their parts joined; None: a part is gone."""
        deltas = [Delta.parse(blob) for blob in blobs]
        parts = self._get(name.encode() for delta in deltas for name in delta.parts)
        if any(part is None for part in parts):
            return None
        pieces = iter(part or b"" for part in parts)
        return [delta.body or b"".join(next(pieces) for _ in delta.parts) for delta in deltas]

    def _get(self, names: Iterable[bytes]) -> list[bytes | None]:
        """The values of these keys, in one pipeline."""
        commands = [Command(("GET", name)) for name in names]
        return self.node.many(commands) if commands else []

    def compact(self, reading: Reading, layout: int = WHOLE_CHUNKS, pack: bool = False) -> bool:
        """Merge the deltas of a reading into the accumulator; afterwards the reading equals the accumulator.

        Only chunks that changed are written, and with `pack` also those that are not packed yet. `layout` is the newest
        layout that may be written. False: another process merged first, or the server lost data that was read.
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
        layout = max(layout, reading.layout)  # unchanged chunks keep their layout
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
        """Store a snapshot's JSON if it is newer than the stored one; `directory` has its files."""
        keys = self.keys
        names = [keys.snapshot(window), keys.meta, keys.places]
        return bool(self.node.run("show", names, [version, document, directory]))

    def snapshot_version(self, window: str) -> int | None:
        """The version of the stored snapshot."""
        version = self.node.do("HGET", self.keys.snapshot(window), "version")
        return None if version is None else int(version)

    def snapshot(self, window: str) -> dict[str, Any] | None:
        """The stored snapshot, without the survey's definition; None: there is none."""
        document = self.node.do("HGET", self.keys.snapshot(window), "json")
        return None if document is None else json.loads(document)
