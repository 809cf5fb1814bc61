"""Counters and gauges of one shard: for the status table, the metrics and back-pressure."""

from dataclasses import dataclass

CAUSES = ("backlog", "memory", "deltas", "quarantine")


@dataclass(frozen=True)
class Status:
    """A shard at one moment."""

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
    round: int  # the newest round; 0: the survey has no rounds
    open_round: int  # 0: none
