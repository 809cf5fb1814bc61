"""The pipeline at a glance: one row per shard, with rates from two looks at it."""

import time
from typing import Any

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.shard import Shard
from hearsay.collector.store.status import status
from hearsay.collector.store.totals import totals, waiting_reports
from hearsay.estimator.snapshots import in_redis


def overview(registry: Registry, interval_s: float) -> list[dict[str, Any]]:
    """Every shard of every survey. Rates are what changed between two looks `interval_s` apart; null for 0."""
    surveys = registry.list()
    warnings = {registered.survey.name: _warnings(registered) for registered in surveys}
    shards = [shard for registered in surveys for shard in registered.stores]
    numbers = {registered.survey.name: registered.shards for registered in surveys}
    earlier = [_look(shard) for shard in shards] if interval_s else []
    started = time.monotonic()
    if shards:
        time.sleep(interval_s)
    rows = []
    for number, shard in enumerate(shards):
        row = {**_look(shard), "warnings": warnings[shard.survey.name]}
        for name in ("published", "folded"):
            rate = None
            if earlier:
                rate = (row[f"{name}_reports"] - earlier[number][f"{name}_reports"]) / (time.monotonic() - started)
            row[f"{name}_per_s"] = rate
        row["shards"] = numbers[row["survey"]]
        rows.append(row)
    return rows


def _warnings(registered: Registered) -> list[str]:
    """What the newest snapshot says against its reports."""
    windows = registered.windows
    document = in_redis.get(registered, windows[-1].name) if windows else None
    return [] if document is None else list(document.get("warnings", []))


def _look(shard: Shard) -> dict[str, Any]:
    seen = status(shard)
    total = totals(shard, seen.windows)
    return {
        "survey": shard.survey.name,
        "tag": shard.survey.tag8,
        "whole_tag": shard.survey.tag,
        "mechanism": shard.survey.mechanism.ID,
        "shard": shard.shard,
        "open": seen.open,
        "published_reports": seen.published_reports,
        "folded_reports": total.folded,
        "rejected": total.rejected.table(),
        "stream_entries": seen.stream_entries,
        "backlog_entries": seen.backlog_entries,
        "backlog_age_s": seen.backlog_age_s,
        "waiting_reports": waiting_reports(seen, total),
        "outstanding": seen.outstanding,
        "oldest_range_s": seen.oldest_range_s,
        "quarantined": seen.quarantined,
        "reissued": seen.reissued,
        "deltas": seen.deltas,
        "delta_bytes": seen.delta_bytes,
        "dead_letters": seen.dead_letters,
        "pressure": seen.pressure,
        "windows": len(seen.windows),
        "round": seen.round or None,
        "round_open": bool(seen.open_round) if seen.round else None,
    }
