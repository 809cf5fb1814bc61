"""`hearsay status`: the progress of every survey, and what is stalled."""

import shutil
import sys
import textwrap
from typing import Any

import click

from hearsay.collector.health.troubles import troubles
from hearsay.collector.heartbeats import BEAT_S, alive
from hearsay.collector.roles import NEEDED
from hearsay.collector.store.registry import Registry
from hearsay.ops.config import Settings
from hearsay.ops.errors import CheckFailed
from hearsay.ops.operate.overview import overview
from hearsay.ops.server.connection import open_registry
from hearsay.ops.terminal.options import SERVER, NumberRange, json_option, uses
from hearsay.ops.terminal.present import counted, notes, print_json

SILENT_S = 1.5 * BEAT_S  # a process beats every ten seconds: one that missed a beat may be dead


@click.command()
@click.option("--interval", type=NumberRange(0, 60), default=1.0, show_default=True,
              help="Seconds between the two looks that rates come from; 0: no rates.")  # fmt: skip
@click.option("--check", is_flag=True, help="Exit with 1 if something is stalled or missing, with one line per cause.")
@json_option
@uses(*SERVER, "plugins")
def command(settings: Settings, interval: float, check: bool, as_json: bool) -> None:
    """Show what came in, what was folded, what waits and what is stalled.

    A process is listed for 30 s after it died, and listed apart once it missed a heartbeat.
    """
    registry = open_registry(settings)
    rows = overview(registry, interval)
    listed = troubles(registry)
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            click.echo("\n".join(_block(row)))
        if not rows:
            click.echo("no survey yet; add one with: hearsay survey add FILE")
        click.echo(f"at work    {_processes(registry)}")
        if not check:
            for trouble in listed:
                click.echo(_wrapped(f"warning    {trouble.words}"))
    for line in dict.fromkeys(f"{row['survey']}: {warning}" for row in rows for warning in row["warnings"]):
        notes().print(line, markup=False, soft_wrap=not sys.stderr.isatty())
    if check and listed:
        raise CheckFailed("\n".join(trouble.words for trouble in listed))


def _block(row: dict[str, Any]) -> list[str]:
    """A shard in a few short lines."""
    shard = f", shard {row['shard']}" if row["shards"] > 1 else ""
    state = "open" if row["open"] else "closed"
    if row["round"] is not None:
        state += f", round {row['round']} {'open' if row['round_open'] else 'closed'}"
    lines = [
        f"{row['survey']}{shard}  ({row['mechanism']}, tag {row['tag']}, {state})",
        f"  published  {counted(row['published_reports'], 'report')}{_rate(row['published_per_s'])}",
        *([f"  simulated  {counted(row['simulated_reports'], 'report')} of them"] if row["simulated_reports"] else []),
        f"  folded     {counted(row['folded_reports'], 'report')}{_rate(row['folded_per_s'])}",
        f"  waiting    {counted(row['waiting_reports'], 'report')}",
    ]
    if row["backlog_entries"]:
        waiting = counted(row["backlog_entries"], "entry", "entries")
        lines.append(f"             {waiting} not cut, for {row['backlog_age_s']:.0f} s")
    if row["outstanding"]:
        lines.append(f"             {counted(row['outstanding'], 'range')} out, for {row['oldest_range_s']:.0f} s")
    if row["quarantined"]:
        lines.append(f"             {counted(row['quarantined'], 'range')} put aside")
    stored = [counted(row["deltas"], "delta"), counted(row["stream_entries"], "entry", "entries")]
    lines.append(f"  held       {', '.join(stored)}, {counted(row['windows'], 'window')}")
    for reason, counts in row["rejected"].items():
        rejected = f"{counted(counts['entries'], 'entry', 'entries')}, {counted(counts['reports'], 'report')}"
        lines.append(f"  rejected   {reason}: {rejected}")
    if row["reissued"]:
        lines.append(f"  repeated   {counted(row['reissued'], 'range')} enqueued again")
    if row["pressure"] is not None:
        lines.append(f"  pressure   {row['pressure']}")
    return lines


def _wrapped(line: str) -> str:
    """Wrapped at the width of the terminal; one line if the output is not a terminal."""
    columns = shutil.get_terminal_size((0, 0)).columns
    if not columns:
        return line
    return textwrap.fill(line, columns, subsequent_indent=" " * len("warning    "), break_long_words=False)


def _rate(rate: float | None) -> str:
    return "" if rate is None else f", {rate:,.0f}/s"


def _processes(registry: Registry) -> str:
    """The running processes by role; those that missed a heartbeat apart."""
    seen = alive(registry)
    words = []
    needed = [role.name for role in NEEDED]
    for role in (*needed, *sorted({process.role for process in seen} - set(needed))):
        silent = [process for process in seen if process.role == role and process.age_s > SILENT_S]
        count = sum(process.role == role for process in seen) - len(silent)
        name = role if count == 1 else f"{role}s"
        words.append(f"{count} {name}" + (f" ({len(silent)} not seen for {SILENT_S:.0f} s)" if silent else ""))
    return ", ".join(words)
