"""Which windows a shard holds, and what was counted in each, without touching their states."""

from collections.abc import Iterable
from typing import NamedTuple

from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.windows import Window

GONE = "gone:"  # in a shard's meta: counters of windows that were purged, so that totals never fall


class Counted(NamedTuple):
    """A window's counters, and how many reports its accumulator holds."""

    counters: dict[str, int]
    merged: int


def windows_of(shards: Iterable[Shard]) -> list[Window]:
    """Every window that holds something in one of these shards of a survey, oldest first."""
    found: set[Window] = set()
    for shard in shards:
        found |= {shard.survey.windows.named(name.decode()) for name in shard.client.smembers(shard.keys.windows)}
    return sorted(found)


def counters_of(shard: Shard, window: str) -> dict[str, int]:
    """A window's counters."""
    return _numbers(shard.client.hgetall(shard.keys.counters(window)))


def has_deltas(shard: Shard, window: str) -> bool:
    """Whether something of the window waits to be merged."""
    start = window.encode() + b":"
    return any(name.startswith(start) for name in shard.client.hkeys(shard.keys.deltas))


def counted(shard: Shard, windows: Iterable[str]) -> tuple[dict[str, int], list[Counted]]:
    """Counters of purged windows, all together, and of these windows, each; in one step, or a purge in between would
    count a window twice or not at all."""
    pipeline = shard.client.pipeline(transaction=True)
    pipeline.hgetall(shard.keys.meta)
    for window in windows:
        pipeline.hgetall(shard.keys.counters(window))
        pipeline.hget(shard.keys.accumulator(window), "reports")
    meta, *rest = pipeline.execute()
    gone = {name: value for name, value in meta.items() if name.startswith(GONE.encode())}
    purged = {name.removeprefix(GONE): count for name, count in _numbers(gone).items()}
    return purged, [
        Counted(_numbers(counters), int(merged or 0)) for counters, merged in zip(rest[::2], rest[1::2], strict=True)
    ]


def record_merged(shard: Shard, window: str, reports: int) -> None:
    """Remember how many reports an accumulator holds."""
    shard.scripts("merged", [shard.keys.accumulator(window)], [reports])


def _numbers(held: dict[bytes, bytes]) -> dict[str, int]:
    return {name.decode(): int(count) for name, count in held.items()}
