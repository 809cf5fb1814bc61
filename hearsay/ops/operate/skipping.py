"""Skips reports that cannot be folded and records their boundaries, or retries them."""

from hearsay.collector.store.ranges import Range
from hearsay.collector.store.registry import Registered
from hearsay.collector.store.shard import Shard
from hearsay.ops.errors import OperationError


def would_skip(registered: Registered, seq: int | None, backlog: bool) -> int:
    """How many entries would be given up: those not cut yet, or those of the quarantined ranges (or of one)."""
    if backlog:
        return sum(look.status.backlog_entries for look in registered.look().shards)
    return sum(stretch.entries for _, stretch in _quarantined(registered, seq))


def skip_backlog(registered: Registered) -> dict[str, int]:
    """Skip every entry that is not cut yet."""
    entries = 0
    seen = registered.look()
    for shard, look in zip(registered.shards, seen.shards, strict=True):
        window = registered.survey.windows.of(look.now_ms, seen.rounds.number)
        entries += shard.skip_backlog(window.name)
    return {"entries skipped": entries}


def skip_quarantined(registered: Registered, seq: int | None, retry: bool) -> dict[str, int]:
    """Skip (or retry) the quarantined ranges, or one of them."""
    quarantined = _quarantined(registered, seq)
    if seq is not None and not quarantined:
        raise OperationError(f"survey {registered.survey.name} has no quarantined range {seq}")
    if retry:
        for shard, stretch in quarantined:
            shard.reissue(stretch, lease_s=0.0, retry=True)
        return {"ranges to be tried again": len(quarantined)}
    return {
        "ranges skipped": len(quarantined),
        "entries skipped": sum(shard.skip_range(stretch) for shard, stretch in quarantined),
    }


def _quarantined(registered: Registered, seq: int | None) -> list[tuple[Shard, Range]]:
    return [
        (shard, stretch)
        for shard in registered.shards
        for stretch in shard.ranges()
        if stretch.quarantined and seq in (None, stretch.seq)
    ]
