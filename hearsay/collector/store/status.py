"""What a shard looks like right now: for the status table, the metrics and back-pressure."""

from dataclasses import dataclass

from hearsay.collector import limits
from hearsay.collector.store.reading import Reading
from hearsay.collector.store.shard import PRESSURE_TTL_S, Shard
from hearsay.collector.survey.windows import bounds_ms

CAUSES = ("backlog", "memory", "deltas", "quarantine")


@dataclass(frozen=True)
class Status:
    """Counters and gauges of one shard."""

    open: bool
    published_reports: int
    published_entries: int
    published_bytes: int
    stream_entries: int
    backlog_entries: int
    backlog_age_s: float
    outstanding: int
    quarantined: int
    reissued: int
    quarantines: int
    deltas: int
    delta_bytes: int
    merges: int
    dead_letters: int
    pressure: str | None
    windows: tuple[str, ...]


def now_ms(shard: Shard) -> int:
    """The server's clock: windows, leases and ages all go by it."""
    seconds, micros = shard.client.time()
    return int(seconds) * 1_000 + int(micros) // 1_000


def status(shard: Shard) -> Status:
    """One pipelined look at a shard."""
    keys = shard.keys
    cursor_id = shard.client.hget(keys.cursor, "id") or b"0-0"
    pipeline = shard.client.pipeline(transaction=True)
    pipeline.hgetall(keys.meta)
    pipeline.hget(keys.cursor, "entries")
    pipeline.xlen(keys.stream)
    pipeline.hvals(keys.ranges)
    pipeline.hlen(keys.deltas)
    pipeline.xlen(keys.dead)
    pipeline.smembers(keys.windows)
    pipeline.xrange(keys.stream, "(" + cursor_id.decode(), "+", count=1)
    pipeline.time()
    meta, cut, length, records, deltas, dead, windows, waiting, clock = pipeline.execute()
    now = int(clock[0]) * 1_000 + int(clock[1]) // 1_000
    numbers = {name.decode(): value.decode() for name, value in meta.items()}
    quarantined = sum(record.endswith(b" quarantined") for record in records)
    age = (now - int(waiting[0][0].split(b"-")[0])) / 1_000 if waiting else 0.0
    backlog_bytes = int(numbers.get("bytes_in", 0)) - int(numbers.get("bytes_out", 0))
    pressure: str | None = None
    if "pressure" in numbers and now - int(numbers["pressure_at"]) < PRESSURE_TTL_S * 1_000:
        pressure = numbers["pressure"]
    elif length >= limits.BACKLOG_ENTRIES or backlog_bytes >= limits.BACKLOG_BYTES:
        pressure = "backlog"
    return Status(
        open=numbers.get("open") == "1",
        published_reports=int(numbers.get("reports_in", 0)),
        published_entries=int(numbers.get("entries_in", 0)),
        published_bytes=int(numbers.get("bytes_in", 0)),
        stream_entries=length,
        backlog_entries=int(numbers.get("entries_in", 0)) - int(cut or 0),
        backlog_age_s=max(age, 0.0),
        outstanding=len(records) - quarantined,
        quarantined=quarantined,
        reissued=int(numbers.get("reissues", 0)),
        quarantines=int(numbers.get("quarantines", 0)),
        deltas=deltas,
        delta_bytes=int(numbers.get("delta_bytes", 0)),
        merges=int(numbers.get("merges", 0)),
        dead_letters=dead,
        pressure=pressure,
        windows=tuple(sorted(window.decode() for window in windows)),
    )


# KEYS meta, ARGV cause now. Only while the survey exists: a deleted one must leave nothing.
_MARK_PRESSURE = """
if redis.call('HEXISTS', KEYS[1], 'open') == 1 then
  redis.call('HSET', KEYS[1], 'pressure', ARGV[1], 'pressure_at', ARGV[2])
end
"""


def set_pressure(shard: Shard, cause: str | None) -> None:
    """Mark the shard as under pressure for a cause that PUBLISH cannot see by itself, or take the mark away."""
    if cause is None:
        shard.client.hdel(shard.keys.meta, "pressure", "pressure_at")
    else:
        shard.client.eval(_MARK_PRESSURE, 1, shard.keys.meta, cause, now_ms(shard))


def is_final(shard: Shard, window: str) -> bool:
    """Whether nothing can be added to a window any more."""
    _, end_ms = bounds_ms(window, shard.survey.every_s)
    seen = status(shard)
    if end_ms is None:
        return not seen.open and seen.backlog_entries == 0 and seen.outstanding + seen.quarantined == 0
    if now_ms(shard) < end_ms:
        return False
    cursor_id = shard.client.hget(shard.keys.cursor, "id") or b"0-0"
    waiting = shard.client.xrange(shard.keys.stream, "(" + cursor_id.decode(), "+", count=1)
    if waiting and int(waiting[0][0].split(b"-")[0]) < end_ms:
        return False
    return all(found.window(shard.survey.every_s) != window for found in shard.ranges())


GONE = "gone:"  # in a shard's meta: counters of windows that were purged, so that totals never fall

# KEYS counters meta. Deleting the counters in the same step lets only one of two estimators move them.
_MOVE_COUNTERS = f"""
local counters = redis.call('HGETALL', KEYS[1])
if redis.call('HEXISTS', KEYS[2], 'open') == 0 then return 0 end -- the survey was deleted
for i = 1, #counters, 2 do redis.call('HINCRBY', KEYS[2], '{GONE}' .. counters[i], counters[i + 1]) end
redis.call('DEL', KEYS[1])
return #counters / 2
"""


def purge_window(shard: Shard, window: str, reading: Reading) -> None:
    """Forget a window that was kept long enough; its counters go into the totals in the same step."""
    keys = shard.keys
    pointers = shard.client.hgetall(keys.accumulator(window))
    chunks = [name for field, name in pointers.items() if field.startswith(b"chunk:")]
    parts = [name for blob in reading.deltas.values() if blob.startswith(b"parts ") for name in blob.split()[1:]]
    pipeline = shard.client.pipeline(transaction=True)
    pipeline.eval(_MOVE_COUNTERS, 2, keys.counters(window), keys.meta)
    if reading.deltas:
        pipeline.hdel(keys.deltas, *reading.deltas)
        pipeline.hincrby(keys.meta, "delta_bytes", -reading.delta_bytes)
    pipeline.unlink(keys.accumulator(window), keys.counters(window), keys.snapshot(window), *chunks, *parts)
    pipeline.srem(keys.windows, window)
    pipeline.execute()
