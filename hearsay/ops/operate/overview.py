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

_ShardName = tuple[str, int]  # survey and number


class _Reports(NamedTuple):
    """Of one shard, for its rates."""

    published: int
    folded: int


class Overview(NamedTuple):
    """A row for every shard, and what keeps reports from becoming answers."""

    rows: list[dict[str, Any]]
    troubles: list[Trouble]


def overview(registry: Registry, interval_s: float) -> Overview:
    """Every shard that answers, of every survey; `shards_away` has the numbers of the others. Rates come from two
    readings `interval_s` apart; null for 0."""
    try:
        surveys = registry.list()
    except AWAY:
        if registry.servers.alone:
            raise
        surveys = []  # the registry's node is away, which is among the troubles
    failed: dict[str, Exception] = {}
    seen = look_at_parts(surveys, failed)
    before: dict[_ShardName, _Reports] = {}
    if seen and interval_s:
        before = {name: _reports(look) for name, look in _shards(seen)}
        began = seen[0].asked_at
        time.sleep(max(0.0, began + interval_s - time.monotonic()))
        failed.clear()
        seen = look_at_parts(surveys, failed)
        interval_s = seen[0].asked_at - began if seen else interval_s
    documents = newest_snapshots(seen, failed)
    rows = []
    for survey in seen:
        away = sorted(survey.registered.by_number.keys() - {shard.shard for shard in survey.registered.shards})
        for name, look in _shards([survey]):
            row = _row(survey.survey, name[1], look)
            row["warnings"] = list(documents.get(row["survey"], {}).get("warnings", []))
            earlier, now = before.get(name), _reports(look)
            row["published_per_s"] = None if earlier is None else (now.published - earlier.published) / interval_s
            row["folded_per_s"] = None if earlier is None else (now.folded - earlier.folded) / interval_s
            row["shards"], row["shards_away"] = len(survey.registered.by_number), away
            row["retired"] = name[1] in survey.registered.registration.retired
            rows.append(row)
    return Overview(rows, troubles(registry, seen, failed))


def _shards(surveys: Iterable[SurveyLook]) -> Iterator[tuple[_ShardName, Look]]:
    for survey in surveys:
        for shard, look in zip(survey.registered.shards, survey.shards, strict=True):
            yield (survey.survey.name, shard.shard), look


def _reports(look: Look) -> _Reports:
    return _Reports(look.published_reports, look.totals.folded)


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
