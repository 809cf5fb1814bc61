"""`hearsay survey`: the registry of surveys."""

import sys
from contextlib import suppress
from pathlib import Path

import click

from hearsay.collector.describe.attackers import moved_by
from hearsay.collector.describe.describe import FRAME_REPORTS, amplified, composed, describe, predicted_rows
from hearsay.collector.describe.registration import registration_lines
from hearsay.collector.errors import SurveyError
from hearsay.collector.store.registry import Registered, look_at_parts
from hearsay.collector.survey import toml
from hearsay.collector.survey.survey import Survey
from hearsay.estimator.rounds import drive
from hearsay.estimator.snapshots.files import Owner
from hearsay.ops.commands.survey_shards import shards
from hearsay.ops.config import Settings
from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.operate import skipping as giving_up
from hearsay.ops.operate.forgetting import remove_snapshots
from hearsay.ops.operate.jobs import delete_jobs
from hearsay.ops.operate.rejected_reports import rejected_reports
from hearsay.ops.operate.window_list import all_deleted, window_rows
from hearsay.ops.server.connection import open_registry
from hearsay.ops.terminal.confirming import confirm
from hearsay.ops.terminal.lazy import HelpfulGroup
from hearsay.ops.terminal.meant import survey_of
from hearsay.ops.terminal.options import SERVER, NumberRange, json_option, uses
from hearsay.ops.terminal.patience import load_patiently
from hearsay.ops.terminal.present import console, counted, print_json, print_table

ONE = {  # what `survey skip` did, to one of them
    "entries skipped": "entry skipped",
    "ranges skipped": "range skipped",
    "ranges to be tried again": "range to be tried again",
}
_TITLES = {"protected": "Protected", "not_protected": "NOT protected"}


@click.group(cls=HelpfulGroup)
def command() -> None:
    """Register, list, show, close and delete surveys."""


@command.command()
@click.argument("survey_file", metavar="SURVEY.toml", type=click.Path(path_type=Path))
@click.option(
    "--shards", type=click.IntRange(1), help="Independent streams to spread over; by default those it has, else one."
)
@json_option
@uses(*SERVER, "plugins")
def add(settings: Settings, survey_file: Path, shards: int | None, as_json: bool) -> None:
    """Register a survey.

    The same definition again changes nothing; another one under the same name is refused until `survey delete`.
    """
    registered = open_registry(settings).add(load_patiently(survey_file), shards)
    closed = registered.look().closed
    if as_json:
        print_json(_row(registered, closed))
    else:
        click.echo("\n".join(registration_lines(registered.survey, closed)))


@command.command("list")
@json_option
@uses(*SERVER, "plugins")
def list_surveys(settings: Settings, as_json: bool) -> None:
    """List the surveys that are registered."""
    registry = open_registry(settings)
    surveys, failed = registry.list(), dict[str, Exception]()
    closed = {seen.survey.name: seen.closed for seen in look_at_parts(surveys, failed)}
    if failed and registry.servers.alone:
        raise next(iter(failed.values()))
    rows = [_row(registered, closed.get(registered.survey.name)) for registered in surveys]
    if as_json:
        print_json(rows)
    else:
        names = ("name", "tag", "mechanism", "epsilon", "kind", "cells", "every", "shards", "closed")
        print_table("surveys", names, [[row[name] for name in names] for row in rows])
        for error in failed.values():
            click.echo(f"warning    {error}", err=True)
        for name in sorted(set(registry.names()) - {row["name"] for row in rows}):
            click.echo(
                f"survey {name} cannot be read by this version; hearsay survey delete {name} removes it", err=True
            )


@command.command()
@click.argument("names", metavar="NAME|SURVEY.toml...", nargs=-1, required=True)
@click.option("--shuffled", type=int, metavar="N", help="Also say what N reports that were shuffled together promise.")
@click.option(
    "--delta",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    default=1e-6,
    show_default=True,
    help="The delta of that promise.",
)
@click.option("--attackers", type=int, metavar="K", help="Also say how much K false senders can move an answer.")
@click.option("--users", type=int, metavar="N", help="How many senders there are; goes with --attackers.")
@json_option
@uses(*SERVER, "plugins")
def show(
    settings: Settings,
    names: tuple[str, ...],
    shuffled: int | None,
    delta: float,
    attackers: int | None,
    users: int | None,
    as_json: bool,
) -> None:
    """Show a survey: its canonical form, its guarantee and the expected error.

    A path that ends in .toml is read from the file and needs no server. If some values are better protected than
    others, names both. Of several surveys about the same value, shows the guarantee to a device that answers all of
    them.
    """
    if (attackers is None) != (users is None):
        raise click.UsageError("--attackers and --users go together.")
    surveys = [survey_of(settings, name) for name in names]
    if len(surveys) > 1:
        _show_together(surveys, as_json)
        return
    (survey,) = surveys
    description = describe(survey)
    if shuffled is not None:
        description["shuffled"] = amplified(survey, shuffled, delta)
    if attackers is not None and users is not None:
        description["attackers"] = moved_by(survey, attackers, users)
    if as_json:
        print_json(description)
        return
    out = console()
    guarantee, *promise = description["promise"]
    out.print(guarantee, markup=False)
    out.print(f"\n# tag {survey.tag}", markup=False, soft_wrap=True)
    out.print(toml.dump(toml.folded(survey.canonical())), markup=False, soft_wrap=True)  # a broken line is no TOML
    if survey.reason is not None:
        out.print(f"Chosen automatically: {survey.reason}\n", markup=False)
    elif "choices" in description:
        out.print(f"Chosen automatically: {description['choices']}\n", markup=False)
    out.print("\n".join(promise), markup=False)
    if shuffled is not None:
        out.print(description["shuffled"]["words"], markup=False)
    if "attackers" in description:
        out.print(description["attackers"]["words"], markup=False)
    for title, lines in description.get("protection", {}).items():
        if lines:
            out.print("\n".join([f"{_TITLES[title]}:", *(f"  - {line}" for line in lines)]), markup=False)
    for line in description.get("advice", []):
        out.print(line, markup=False)
    for line in description.get("remarks", []):
        out.print(f"Remark: {line}.", markup=False)
    for title in survey.mechanism.facts():
        if title != "warnings":
            out.print(f"{title.capitalize()}: {' '.join(description[title]) or 'none'}.", markup=False)
    if survey.mechanism.PICTURE in description:
        out.print("\n".join(description[survey.mechanism.PICTURE]), markup=False)
    for line in description.get("warnings", []):
        out.print(f"Warning: {line}.", markup=False)
    alone = description["report_bytes"]
    out.print(
        f"A report takes at most {alone:,} byte{'s' if alone != 1 else ''} by itself and "
        f"{description['report_bytes_in_frames']:,g} in frames of {FRAME_REPORTS:,}; the state takes "
        f"{description['state_bytes']:,} bytes."
    )
    expected = predicted_rows(description)
    if expected:
        print_table("what to expect", ("reports", "query", "standard error"), expected)
    else:
        out.print("No standard error can be told beforehand: what is reported leaves values open.", markup=False)


def _show_together(surveys: list[Survey], as_json: bool) -> None:
    together = composed(surveys)
    if as_json:
        print_json(together)
    else:
        console().print(f"{', '.join(together['surveys'])}, all answered by one device:", markup=False)
        console().print(together["guarantee"]["words"], markup=False)


@command.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; without a terminal it never asks.")
@uses(*SERVER, "plugins")
def close(settings: Settings, name: str, yes: bool) -> None:
    """Accept no more reports. The survey cannot be opened again; accepted reports are still folded."""
    registered = open_registry(settings).get(name)
    if not yes and sys.stdin.isatty():
        confirm(f"Close survey {name} for good? It cannot be opened again.")
    registered.close()
    click.echo(f"survey {name} is closed for good: it takes no more reports")


@command.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@uses(*SERVER, "queue_url", "queue", "plugins")
def delete(settings: Settings, name: str, yes: bool) -> None:
    """Delete a survey: its keys in Redis, its jobs, its snapshots."""
    registry = open_registry(settings)
    survey, birth = None, None
    with suppress(SurveyError):  # one that this version cannot read has no jobs that a worker would run
        registered = registry.get(name)
        survey, birth = registered.survey, registered.look().birth
    if not yes:
        confirm(f"Delete survey {name} with all its reports, states and snapshots?")
    directories = registry.places(name)
    jobs = delete_jobs(settings, survey) if survey else 0  # first: where the queue is away, the survey is still there
    keys = registry.delete(name)
    jobs += delete_jobs(settings, survey) if survey else 0  # those that a collector added meanwhile
    left = remove_snapshots(name, settings.snapshots_dir, directories, Owner(registry.deployment, birth))
    rewritten = registry.rewrite_log()
    click.echo(f"survey {name} is deleted ({counted(keys, 'key')}, {counted(jobs, 'job')})")
    if not rewritten:
        click.echo(
            "its past is still in the server's append-only file, which the server refused to rewrite: run BGREWRITEAOF",
            err=True,
        )
    if left:
        raise CheckFailed(
            f"snapshots of {name} could not be reached and are left in {', '.join(left)}; an estimator that runs there "
            "removes them"
        )


@command.command()
@click.argument("name")
@click.option("--range", "seq", type=click.IntRange(1), help="Only the quarantined range of this number.")
@click.option("--backlog", is_flag=True, help="Instead of ranges, give up all entries that are not cut yet.")
@click.option("--retry", is_flag=True, help="Instead of giving up, let quarantined ranges be tried again.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@uses(*SERVER, "plugins")
def skip(settings: Settings, name: str, seq: int | None, backlog: bool, retry: bool, yes: bool, as_json: bool) -> None:
    """Skip or retry quarantined ranges, or skip the backlog.

    A range is quarantined after five failures; the workers' logs say why. Try --retry first: without it the reports of
    these ranges are given up for good. Skipped entries are counted and their boundaries recorded, so that a reference
    fold can leave them out.
    """
    if backlog and (retry or seq is not None):
        raise click.UsageError("--backlog goes with neither --range nor --retry")
    registered = open_registry(settings).get(name)
    if not yes and not retry and (lost := giving_up.would_skip(registered, seq, backlog)):
        entries = counted(lost, "entry", "entries")
        confirm(f"Give up {entries} of survey {name} for good, with all reports in them?")
    outcome = giving_up.skip_backlog(registered) if backlog else giving_up.skip_quarantined(registered, seq, retry)
    if as_json:
        return print_json(outcome)
    words = [counted(count, ONE[what], what) for what, count in outcome.items()]
    click.echo(f"survey {name}: {', '.join(words)}")


@command.command()
@click.argument("name")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many, newest first.")
@json_option
@uses(*SERVER, "plugins")
def rejects(settings: Settings, name: str, limit: int, as_json: bool) -> None:
    """Show rejected reports: why, when, how long they were, and their hashes.

    First the totals by reason, then the newest dead letters. Of every range the first hundred are kept, and of those
    the last ten thousand or so. The payload is kept only if HEARSAY_DEAD_LETTER_PAYLOAD is set.
    What a gateway rejects is never published: hearsay_gateway_reports_rejected_total counts it.
    """
    registered = open_registry(settings).get(name)
    total, letters = rejected_reports(registered, limit)
    if as_json:
        print_json({"rejected": total.table(), "letters": letters})
        return
    for reason, counts in total.table().items():
        rejected = f"{counted(counts['entries'], 'entry', 'entries')}, {counted(counts['reports'], 'report')}"
        click.echo(f"{reason}: {rejected}")
    if not total:
        gateways = "gateways count what they reject in hearsay_gateway_reports_rejected_total"
        click.echo(f"survey {name} has rejected nothing that was published; {gateways}")
    for letter in letters:
        click.echo(f"{letter['time']}  {letter['reason']:<15} {letter['length']:>9,} bytes  {letter['sha256'][:16]}")


@command.command()
@click.argument("name")
@json_option
@uses(*SERVER, "plugins")
def windows(settings: Settings, name: str, as_json: bool) -> None:
    """List the windows of a survey that hold something, oldest first.

    A final window gets no more reports. A question takes a window's name, `all` or `last:N` with --window.
    """
    look = open_registry(settings).get(name).look()
    rows = window_rows(look)
    if as_json:
        print_json(rows)
    elif rows:
        columns = ("window", "from", "to", "folded", "rejected", "state")
        print_table(f"windows of {name}", columns, [[row[column] for column in columns] for row in rows])
    else:
        click.echo(all_deleted(look) or f"survey {name} has no report yet")


command.add_command(shards)


@command.command("next-round")
@click.argument("name")
@json_option
@uses(*SERVER, "plugins")
def next_round(settings: Settings, name: str, as_json: bool) -> None:
    """Close the open round now, whatever its number of reports.

    The next round opens once every report of the closed one is folded: now if that is so already, otherwise by the
    estimator.
    """
    registered = open_registry(settings).get(name)
    rounds = registered.look().rounds
    progress = drive(registered, close=rounds.number if rounds.open else None)
    if progress is None:
        raise OperationError(f"survey {name} has no rounds")
    if as_json:
        print_json({"survey": name, "round": progress.number, "state": progress.state})
        return
    words = {
        "open": f"round {progress.number} is open",
        "draining": f"round {progress.number} is closed; the estimator opens the next one when all of it is folded",
        "over": f"round {progress.number} was the last one",
    }
    click.echo(f"survey {name}: {words[progress.state]}")


def _row(registered: Registered, closed: bool | None) -> dict[str, object]:
    survey = registered.survey
    return {
        "name": survey.name,
        "tag": survey.tag8,
        "whole_tag": survey.tag,
        "mechanism": survey.mechanism.ID,
        "reason": survey.reason,
        "epsilon": survey.epsilon,
        "kind": survey.mechanism.domain.kind,
        "cells": survey.mechanism.domain.size,
        "every": survey.every,
        "shards": len(registered.active),
        "closed": closed,  # null: none of its shards answers
    }
