"""The reports that a survey rejected: totals by reason, and the newest dead letters of all its shards."""

from datetime import UTC, datetime
from typing import Any

from hearsay.collector.store.registry import Registered
from hearsay.collector.wire.rejections import Rejections


def rejected_reports(registered: Registered, limit: int) -> tuple[Rejections, list[dict[str, Any]]]:
    """Totals, and at most `limit` letters, the newest first."""
    total, rejected = Rejections(), []
    for shard, look in zip(registered.shards, registered.look().shards, strict=True):
        total += look.totals.rejected
        rejected += [(time_ms, letter, shard.shard) for time_ms, letter in shard.newest_dead_letters(limit)]
    rejected.sort(key=lambda row: row[0], reverse=True)
    return total, [
        {
            "time": datetime.fromtimestamp(time_ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "reason": letter.reason,
            "length": letter.length,
            "sha256": letter.sha256,
            "entry": letter.entry,
            "shard": shard,
            **({"payload": letter.payload.hex()} if letter.payload else {}),
        }
        for time_ms, letter, shard in rejected[:limit]
    ]
