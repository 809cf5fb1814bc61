"""What a survey has refused: totals by reason, and the newest dead letters of all its shards."""

from datetime import UTC, datetime
from typing import Any

from hearsay.collector.store import dead_letters
from hearsay.collector.store.registry import Registered
from hearsay.collector.store.status import status
from hearsay.collector.store.totals import totals
from hearsay.collector.wire.rejections import Rejections


def refusals(registered: Registered, limit: int) -> tuple[Rejections, list[dict[str, Any]]]:
    """Totals, and at most `limit` letters, the newest first."""
    total, letters = Rejections(), []
    for store in registered.stores:
        total += totals(store, status(store).windows).rejected
        letters += [(letter, store.shard) for letter in dead_letters.newest(store, limit)]
    letters.sort(key=lambda found: found[0].time_ms, reverse=True)
    return total, [
        {
            "time": datetime.fromtimestamp(letter.time_ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "reason": letter.reason,
            "length": letter.length,
            "sha256": letter.sha256,
            "entry": letter.entry,
            "shard": shard,
            **({"payload": letter.payload.hex()} if letter.payload else {}),
        }
        for letter, shard in letters[:limit]
    ]
