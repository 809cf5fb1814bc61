"""The windows of a survey that hold something, one row each."""

from datetime import UTC, datetime
from typing import Any

from hearsay.collector.store.registry import SurveyLook
from hearsay.collector.wire.rejections import Rejections


def window_rows(seen: SurveyLook) -> list[dict[str, Any]]:
    """Oldest first; `from` and `to` in UTC, null where no clock ends the window."""
    rows = []
    for window in seen.windows:
        counters = seen.counted[window]
        rejected = sum(Rejections.from_counters(each).reports for each in counters)
        rows.append(
            {
                "window": window.name,
                "from": _time(window.start_ms),
                "to": _time(window.end_ms),
                "folded": sum(each.get("folded", 0) for each in counters),
                "rejected": rejected,
                "state": "final" if window in seen.final else "open",
            }
        )
    return rows


def all_deleted(seen: SurveyLook) -> str | None:
    """What to say of a survey that had reports and keeps no window; None for others."""
    if seen.windows or not any(shard.totals.accounted for shard in seen.shards):
        return None
    return f"survey {seen.survey.name} keeps no window any more: all are older than its window.retain"


def _time(at_ms: int | None) -> str | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
