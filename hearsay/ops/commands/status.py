"""`hearsay status`: what is going on."""

from typing import Any

import click

from hearsay.collector.heartbeats import roles
from hearsay.collector.store.registry import Registry
from hearsay.ops.config import Settings
from hearsay.ops.operate.overview import overview
from hearsay.ops.server.connection import open_registry
from hearsay.ops.terminal.options import SERVER, json_option, uses
from hearsay.ops.terminal.present import notes, print_json, print_table

COLUMNS = {
    "survey": "survey",
    "shard": "shard",
    "published": "published_reports",
    "folded": "folded_reports",
    "in/s": "published_per_s",
    "folded/s": "folded_per_s",
    "stream": "stream_entries",
    "backlog": "backlog_entries",
    "age s": "backlog_age_s",
    "ranges": "outstanding",
    "quarantined": "quarantined",
    "re-enqueued": "reissued",
    "deltas": "deltas",
    "pressure": "pressure",
}


@click.command()
@click.option("--interval", type=click.FloatRange(0, 60), default=1.0, show_default=True,
              help="Seconds between the two looks that rates come from; 0: no rates.")  # fmt: skip
@json_option
@uses(*SERVER)
def command(settings: Settings, interval: float, as_json: bool) -> None:
    """Show streams, backlog, ranges, rejects and rates."""
    registry = open_registry(settings)
    rows = overview(registry, interval)
    if as_json:
        print_json(rows)
        return
    cells = [[*(_whole(row[key]) for key in COLUMNS.values()), _round(row), _rejects(row)] for row in rows]
    caption = f"rejected: entries/reports by reason; seen lately: {_alive(registry)}"
    print_table("status", [*COLUMNS, "round", "rejected"], cells, caption)
    for line in dict.fromkeys(f"{row['survey']}: {warning}" for row in rows for warning in row["warnings"]):
        notes().print(line, markup=False)


def _alive(registry: Registry) -> str:
    """Which processes were seen lately."""
    return ", ".join(f"{count} {role}" for role, count in sorted(roles(registry).items())) or "no process"


def _whole(value: Any) -> Any:
    return round(value) if isinstance(value, float) else value


def _round(row: dict[str, Any]) -> str | None:
    return None if row["round"] is None else f"{row['round']} {'open' if row['round_open'] else 'closed'}"


def _rejects(row: dict[str, Any]) -> str | None:
    return (
        ", ".join(f"{reason} {counts['entries']}/{counts['reports']}" for reason, counts in row["rejected"].items())
        or None
    )
