"""What a shard looks like right now: for the status table, the metrics and back-pressure."""

from dataclasses import dataclass

from hearsay.collector import limits
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.windows import Window

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
    oldest_range_s: float  # since the oldest report of a range that is not committed was stored
    waiting_entries: int  # not cut, or in a range that is not committed
    quarantined: int
    reissued: int
    quarantines: int
    deltas: int
    delta_bytes: int
    merges: int
    dead_letters: int
    pressure: str | None
    windows: tuple[str, ...]
    round: int  # the newest one; 0: the survey has no rounds
    open_round: int  # 0: none


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
    pipeline.lindex(keys.marks, 0)
    pipeline.hmget(keys.rounds, "number", "open")
    meta, cut, length, records, deltas, dead, windows, waiting, mark, rounds = pipeline.execute()
    newest_round = int(rounds[0] or 0)
    now = shard.now_ms()
    numbers = {name.decode(): value.decode() for name, value in meta.items()}
    # A batch by its mark: ids may run ahead of the clock.
    born = int(mark.split()[-1]) if mark else _id(waiting[0][0])[0] if waiting else now
    ranges = [Range.parse(0, record) for record in records]
    quarantined = sum(found.quarantined for found in ranges)
    backlog = int(numbers.get("entries_in", 0)) - int(cut or 0)
    oldest = min(
        (min(_id(found.first.encode())[0], found.time_ms) for found in ranges if not found.quarantined), default=now
    )
    backlog_bytes = int(numbers.get("bytes_in", 0)) - int(numbers.get("bytes_out", 0))
    pressure: str | None = None
    if "pressure" in numbers and 0 <= now - int(numbers["pressure_at"]) < limits.PRESSURE_TTL_S * 1_000:
        pressure = numbers["pressure"]
    elif length >= limits.BACKLOG_ENTRIES or backlog_bytes >= limits.BACKLOG_BYTES:
        pressure = "backlog"
    return Status(
        open=numbers.get("open") == "1",
        published_reports=int(numbers.get("reports_in", 0)),
        published_entries=int(numbers.get("entries_in", 0)),
        published_bytes=int(numbers.get("bytes_in", 0)),
        stream_entries=length,
        backlog_entries=backlog,
        backlog_age_s=max(now - born, 0) / 1_000,
        outstanding=len(records) - quarantined,
        oldest_range_s=max(now - oldest, 0) / 1_000,
        waiting_entries=backlog + sum(found.entries for found in ranges),
        quarantined=quarantined,
        reissued=int(numbers.get("reissues", 0)),
        quarantines=int(numbers.get("quarantines", 0)),
        deltas=deltas,
        delta_bytes=int(numbers.get("delta_bytes", 0)),
        merges=int(numbers.get("merges", 0)),
        dead_letters=dead,
        pressure=pressure,
        windows=tuple(window.name for window in sorted(shard.survey.windows.named(name.decode()) for name in windows)),
        round=newest_round,
        open_round=newest_round if rounds[1] == b"1" else 0,
    )


def set_pressure(shard: Shard, cause: str | None) -> None:
    """Mark the shard as under pressure for a cause that PUBLISH cannot see by itself, or take the mark away."""
    shard.scripts("pressure", [shard.keys.meta], [cause or "", limits.PRESSURE_TTL_S * 1_000])


def is_final(shard: Shard, window: Window) -> bool:
    """Whether nothing can be added to a window any more: it is over, and nothing of it waits."""
    windows, seen = shard.survey.windows, status(shard)
    if not windows.is_over(window, shard.now_ms(), seen):
        return False
    if _waits(shard, window):  # before the ranges: an entry goes from the backlog into a range, never back
        return False
    return all(found.window(windows) != window for found in shard.ranges())


def _waits(shard: Shard, window: Window) -> bool:
    """Whether something after the cursor may be of the window."""
    keys = shard.keys
    pipeline = shard.client.pipeline(transaction=True)
    pipeline.hget(keys.cursor, "id")
    pipeline.lrange(keys.marks, 0, -1)
    pipeline.hget(keys.rounds, f"closed:{window.number}")
    cursor_id, marks, closed = pipeline.execute()
    batches = [mark.split() for mark in marks]
    for first, *_, time_ms in batches:  # all of them: where the clock went back, later ones are of earlier windows
        if window.end_ms is not None:
            if int(time_ms) < window.end_ms:
                return True
        elif closed is None or _id(first) <= _id(closed):
            return True
    # What somebody appended by hand has no mark.
    upper = b"(" + batches[0][0] if batches else b"+"
    waiting = shard.client.xrange(keys.stream, b"(" + (cursor_id or b"0-0"), upper, count=1)
    if not waiting:
        return False
    if window.end_ms is not None:
        return _id(waiting[0][0])[0] < window.end_ms
    return closed is None or _id(waiting[0][0]) <= _id(closed)


def _id(name: bytes) -> tuple[int, int]:
    milliseconds, number = name.split(b"-")
    return int(milliseconds), int(number)


def purge_window(shard: Shard, window: str, retain_s: int = 0) -> bool:
    """Forget a window; its counters go into the totals in the same step. False: not kept for `retain_s` yet."""
    keys = shard.keys
    names = [keys.meta, keys.deltas, keys.accumulator(window), keys.counters(window), keys.snapshot(window)]
    return bool(shard.scripts("purge", [*names, keys.windows], [window, retain_s * 1_000]) != b"young")
