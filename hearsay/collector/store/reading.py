"""Reading a window at one version: accumulator plus deltas, as exact integers.

Deltas and chunks are immutable and their names are never used twice, so a reader that remembers what it has seen
fetches new deltas only. When a merge comes in between, or a server lost its last second, something that was seen is
missing and the reader starts again.
"""

from dataclasses import dataclass, field

import numpy as np

from hearsay.collector.errors import StateError
from hearsay.collector.limits import CHUNK_CELLS
from hearsay.collector.store.delta import Delta
from hearsay.collector.store.shard import Shard
from hearsay.collector.store.state import LAYOUT_VERSION, Vector, apply_delta, unflatten
from hearsay.collector.wire.rejections import Rejections
from hearsay.mechanisms import State

_TRIES = 20


@dataclass
class Reading:
    """A window of one shard. `commits` grows with every committed range: it orders readings."""

    shard: Shard
    window: str
    version: int
    vector: Vector
    counters: dict[str, int]
    chunks: dict[bytes, bytes] = field(default_factory=dict)  # where the accumulator's chunks stand
    deltas: dict[str, bytes] = field(default_factory=dict)  # those not yet merged, as COMMIT stored them
    dirty: set[int] = field(default_factory=set)  # chunks that these deltas touch
    delta_bytes: int = 0
    fence: str = ""  # the nonce of the accumulator's last merge

    @property
    def state(self) -> State:
        return unflatten(self.shard.survey.mechanism, self.vector)

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


def read(shard: Shard, window: str, cached: Reading | None = None) -> Reading:
    """The window as it is now; `cached` is reused where it still holds, and must not be used afterwards."""
    for _ in range(_TRIES):
        found = _try_to_read(shard, window, cached)
        if found is not None:
            return found
        cached = None
    raise StateError(f"window {window} of {shard.survey.name} changed under {_TRIES} attempts to read it")


def _try_to_read(shard: Shard, window: str, cached: Reading | None) -> Reading | None:
    keys = shard.keys
    pipeline = shard.client.pipeline(transaction=True)
    pipeline.hgetall(keys.accumulator(window))
    pipeline.hkeys(keys.deltas)
    pipeline.hgetall(keys.counters(window))
    pointers, names, counters = pipeline.execute()
    fields = {name.decode() for name in names if name.startswith(window.encode() + b":")}
    version, fence = int(pointers.get(b"version", 0)), pointers.get(b"fence", b"").decode()
    chunks = {name: key for name, key in pointers.items() if name.startswith(b"chunk:")}
    if cached is None or (cached.fence, cached.chunks) != (fence, chunks) or not cached.deltas.keys() <= fields:
        vector = _load_chunks(shard, pointers, chunks)
        if vector is None:
            return None
        reading = Reading(shard, window, version, vector, {}, chunks, fence=fence)
    else:
        reading = cached
    missing = sorted(fields - reading.deltas.keys())
    if missing:
        stored = shard.client.hmget(keys.deltas, missing)
        for name, blob in zip(missing, stored, strict=True):
            delta = None if blob is None else _whole_delta(shard, blob)
            if blob is None or delta is None:
                return None
            reading.dirty |= apply_delta(reading.vector, delta)
            reading.deltas[name] = blob
            reading.delta_bytes += len(delta)
    reading.counters = {name.decode(): int(count) for name, count in counters.items()}
    return reading


def _load_chunks(shard: Shard, pointers: dict[bytes, bytes], chunks: dict[bytes, bytes]) -> Vector | None:
    layout = int(pointers.get(b"layout", LAYOUT_VERSION))
    if layout > LAYOUT_VERSION:
        raise StateError(f"accumulator layout must be at most {LAYOUT_VERSION}, got {layout}")
    cells = int(pointers.get(b"cells", shard.cells))
    if cells != shard.cells:
        raise StateError(f"accumulator of {shard.survey.name} must have {shard.cells} cells, got {cells}")
    vector = np.zeros(shard.cells, dtype=np.int64)
    for number, name in chunks.items():
        chunk = shard.client.get(name)
        if chunk is None:
            return None
        start = int(number.removeprefix(b"chunk:")) * CHUNK_CELLS
        held = vector[start : start + CHUNK_CELLS]
        if len(chunk) != held.nbytes:
            raise StateError(f"chunk of {shard.survey.name} must have {held.nbytes} bytes, got {len(chunk)}")
        held[:] = np.frombuffer(chunk, dtype="<i8")
    return vector


def _whole_delta(shard: Shard, blob: bytes) -> bytes | None:
    delta = Delta.parse(blob)
    if not delta.parts:
        return delta.body
    parts = [shard.client.get(name) for name in delta.parts]
    if any(part is None for part in parts):
        return None
    return b"".join(part for part in parts if part is not None)


def compact(reading: Reading) -> bool:
    """Merge a reading's deltas into the accumulator; afterwards the reading is the accumulator itself."""
    if not reading.deltas:
        return True
    merged = reading.shard.merge(reading.window, reading.fence, reading.vector, reading.dirty, reading.deltas)
    if merged is None:
        return False
    reading.version += 1
    reading.fence = merged.fence
    reading.chunks |= merged.chunks
    reading.deltas, reading.dirty, reading.delta_bytes = {}, set(), 0
    return True
