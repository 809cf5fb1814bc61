"""`hearsay status`: the progress of every survey, and what is stalled."""

import shutil
import sys
import textwrap
from itertools import groupby
from typing import Any

import click

from hearsay.collector.heartbeats import alive, has_ended
from hearsay.collector.limits import MISSED_BEAT_S
from hearsay.collector.roles import NEEDED
from hearsay.collector.store.looks.survey_look import AWAY
from hearsay.collector.store.registry import Registry
from hearsay.ops.config import Settings
from hearsay.ops.errors import CheckFailed
from hearsay.ops.operate.overview import overview
from hearsay.ops.server.connection import open_registry
from hearsay.ops.terminal.options import SERVER, NumberRange, json_option, uses
from hearsay.ops.terminal.present import counted, notes, print_json, print_table
from hearsay.ops.terminal.stopping import stopping

COLUMNS = ("survey", "state", "published", "folded", "folded/s", "waiting", "rejected", "remarks")
REMARKS = {"simulated_reports": "{1:,} simulated", "quarantined": "{0} quarantined", "reissued": "{0} enqueued again"}
SKIPPED = "skipped"  # the reason under which CLOSE counts entries that were given up


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--interval", type=NumberRange(0, 60), default=0.5, show_default=True,
              help="Seconds between the two readings from which rates are computed; 0: no rates.")  # fmt: skip
@click.option("--watch", is_flag=True, help="Show it again every interval until interrupted.")
@click.option("--check", is_flag=True, help="Exit with 1 if something is stalled or missing, with one line per cause.")
@json_option
@uses(*SERVER, "plugins")
def command(
    settings: Settings, names: tuple[str, ...], interval: float, watch: bool, check: bool, as_json: bool
) -> None:
    """Show reports published, folded and waiting, and what is stalled.

    One line per survey; of those that are named, all that is known of each shard. A process is listed for 30 s after it
    died, and listed apart once it missed a heartbeat.
    """
    if watch and (check or as_json):
        raise click.UsageError("--watch goes with neither --check nor --json")
    registry = open_registry(settings)
    for name in names:
        registry.get(name)
    if watch:
        _watch(registry, names, interval)
        return
    every, listed = overview(registry, interval)
    rows = _chosen(every, names)
    if as_json:
        print_json(rows)
    else:
        _print(registry, rows, bool(names))
        if not check:
            for trouble in listed:
                click.echo(_wrapped(f"warning    {trouble.words}"))
    for line in dict.fromkeys(f"{row['survey']}: {warning}" for row in rows for warning in row["warnings"]):
        notes().print(line, markup=False, soft_wrap=not sys.stderr.isatty())
    if check and listed:
        raise CheckFailed("\n".join(trouble.words for trouble in listed))


def _watch(registry: Registry, names: tuple[str, ...], interval: float) -> None:
    """The same again and again, each on a cleared screen where there is one."""
    with stopping() as stop:
        while not stop.is_set():
            every, listed = overview(registry, interval or 1.0)
            rows = _chosen(every, names)
            click.clear()
            _print(registry, rows, bool(names))
            for trouble in listed:
                click.echo(_wrapped(f"warning    {trouble.words}"))
            stop.wait(0.0 if interval else 1.0)


def _chosen(rows: list[dict[str, Any]], names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [row for row in rows if not names or row["survey"] in names]


def _print(registry: Registry, rows: list[dict[str, Any]], whole: bool) -> None:
    if whole:
        for row in rows:
            click.echo("\n".join(_block(row)))
        for name, row in {row["survey"]: row for row in rows if row["shards_away"]}.items():
            click.echo(f"{name}, {_away(row)}: no answer")
    elif rows:
        print_table("surveys", COLUMNS, [_line(list(shards)) for _, shards in groupby(rows, lambda row: row["survey"])])
    else:
        click.echo("no survey yet; add one with: hearsay survey add FILE")
    click.echo(f"at work    {_processes(registry)}")


def _line(shards: list[dict[str, Any]]) -> list[Any]:
    """A survey in one line: its shards together."""

    def total(name: str) -> int:
        return sum(row[name] for row in shards)

    first = shards[0]
    rates = [row["folded_per_s"] for row in shards if row["folded_per_s"] is not None]
    remarks = [f"without {_away(first)}"] if first["shards_away"] else []
    remarks += [
        words.format(counted(total(name), "range"), total(name)) for name, words in REMARKS.items() if total(name)
    ]
    if skipped := sum(row["rejected"].get(SKIPPED, {"entries": 0})["entries"] for row in shards):
        remarks.append(f"{counted(skipped, 'entry', 'entries')} skipped")
    remarks += [f"waits for {cause}" for cause in dict.fromkeys(row["pressure"] for row in shards) if cause]
    rejected = sum(counts["reports"] for row in shards for counts in row["rejected"].values())
    return [
        first["survey"],
        _state(first),
        total("published_reports"),
        total("folded_reports"),
        round(sum(rates)) if rates else None,
        total("waiting_reports"),
        rejected or None,
        "; ".join(remarks) or None,
    ]


def _away(row: dict[str, Any]) -> str:
    """The shards that do not answer, of which the figures have nothing."""
    numbers = row["shards_away"]
    return f"shard{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"


def _state(row: dict[str, Any]) -> str:
    state = "open" if row["open"] else "closed"
    if row["round"] is not None:
        state += f", round {row['round']} {'open' if row['round_open'] else 'closed'}"
    return state


def _block(row: dict[str, Any]) -> list[str]:
    """A shard in a few short lines."""
    shard = f", shard {row['shard']}" if row["shards"] > 1 else ""
    shard += " (retired)" if row["retired"] else ""
    lines = [
        f"{row['survey']}{shard}  ({row['mechanism']}, tag {row['tag']}, {_state(row)})",
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
        lines.append(f"             {counted(row['quarantined'], 'range')} quarantined")
    stored = [counted(row["deltas"], "delta"), counted(row["stream_entries"], "entry", "entries")]
    lines.append(f"  held       {', '.join(stored)}, {counted(row['windows'], 'window')}")
    for reason, counts in row["rejected"].items():
        rejected = f"{counted(counts['entries'], 'entry', 'entries')}, {counted(counts['reports'], 'report')}"
        lines.append(f"  rejected   {reason}: {rejected if reason != SKIPPED else _skipped(counts['entries'])}")
    if unread := _unread(row):
        lines.append(f"             {counted(unread, 'published report')} in such entries: never read, and not folded")
    if row["reissued"]:
        lines.append(f"  repeated   {counted(row['reissued'], 'range')} enqueued again")
    if row["pressure"] is not None:
        lines.append(f"  pressure   {row['pressure']}")
    return lines


def _skipped(entries: int) -> str:
    return f"{counted(entries, 'entry', 'entries')} given up by `survey skip`"


def _unread(row: dict[str, Any]) -> int:
    """Published reports in entries that were skipped or rejected as a whole; 0 while reports wait: nobody can tell."""
    if row["waiting_reports"] or not row["rejected"]:
        return 0
    read = row["folded_reports"] + sum(counts["reports"] for counts in row["rejected"].values())
    return max(0, row["published_reports"] - read)


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
    try:
        seen = alive(registry)
    except AWAY:
        if registry.servers.alone:
            raise
        return "not known, since the node that knows it is away"
    words = []
    needed = [role.name for role in NEEDED]
    for role in (*needed, *sorted({process.role for process in seen} - set(needed))):
        mine = [process for process in seen if process.role == role and not has_ended(process)]
        silent = [process for process in mine if process.age_s > MISSED_BEAT_S]
        count = len(mine) - len(silent)
        name = role if count == 1 else f"{role}s"
        words.append(f"{count} {name}" + (f" ({len(silent)} not seen for {MISSED_BEAT_S:.0f} s)" if silent else ""))
    return ", ".join(words)
