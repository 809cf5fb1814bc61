"""An overview of the pipeline: one row per shard, with rates from two readings."""

import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from hearsay.collector.health.troubles import Trouble, troubles
from hearsay.collector.store.look import Look
from hearsay.collector.store.looks.newest import newest_snapshots
from hearsay.collector.store.looks.survey_look import AWAY
from hearsay.collector.store.registry import Registry, SurveyLook, look_at_parts
from hearsay.collector.survey.survey import Survey


class Overview(NamedTuple):
    """A row for every shard, and what keeps reports from becoming answers."""

    rows: list[dict[str, Any]]
    troubles: list[Trouble]


def overview(registry: Registry, interval_s: float) -> Overview:
    """Every shard of every survey. Rates come from two readings `interval_s` apart; null for 0."""
    try:
        surveys = registry.list()
    except AWAY:
        if registry.servers.alone:
            raise
        surveys = []  # the registry's node is away, which is among the troubles
    failed: dict[str, Exception] = {}
    seen = look_at_parts(surveys, failed)
    earlier = list(_rows(seen)) if interval_s else []
    started = time.monotonic()
    if surveys and interval_s:
        time.sleep(interval_s)
        failed.clear()
        seen = look_at_parts(surveys, failed)
    documents = newest_snapshots(seen, failed)
    before = {(row["survey"], row["shard"]): row for row in earlier}
    rows = []
    for row in _rows(seen):
        row["warnings"] = list(documents.get(row["survey"], {}).get("warnings", []))
        for name in ("published", "folded"):
            rate = None
            if (known := before.get((row["survey"], row["shard"]))) is not None:
                rate = (row[f"{name}_reports"] - known[f"{name}_reports"]) / (time.monotonic() - started)
            row[f"{name}_per_s"] = rate
        row["shards"] = row.pop("shards")  # last, as it always was
        rows.append(row)
    return Overview(rows, troubles(registry, seen, failed))


def _rows(surveys: Iterable[SurveyLook]) -> Iterator[dict[str, Any]]:
    for survey in surveys:
        for shard, look in zip(survey.registered.shards, survey.shards, strict=True):
            yield {**_row(survey.survey, shard.shard, look), "shards": len(survey.shards)}


def _row(survey: Survey, number: int, look: Look) -> dict[str, Any]:
    seen, total = look.status, look.totals
    return {
        "survey": survey.name,
        "tag": survey.tag8,
        "whole_tag": survey.tag,
        "mechanism": survey.mechanism.ID,
        "shard": number,
        "open": seen.open,
        "published_reports": seen.published_reports,
        "simulated_reports": look.simulated_reports,
        "folded_reports": total.folded,
        "rejected": total.rejected.table(),
        "stream_entries": seen.stream_entries,
        "backlog_entries": seen.backlog_entries,
        "backlog_age_s": seen.backlog_age_s,
        "waiting_reports": look.waiting_reports,
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
