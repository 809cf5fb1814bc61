"""`hearsay query`: questions to a live survey or to a snapshot."""

import os
import re
import shlex
from contextlib import nullcontext
from pathlib import Path

import click

from hearsay.collector.errors import UnknownSurvey
from hearsay.collector.store.registry import Registered, Registry
from hearsay.errors import nearest
from hearsay.estimator.answering import Side, ask
from hearsay.estimator.comparing import Comparison, ask_trend
from hearsay.estimator.readings import Readings
from hearsay.estimator.snapshots import loading
from hearsay.estimator.snapshots.checks import check_apart, refusing_impossible_counts
from hearsay.estimator.snapshots.files import JSON
from hearsay.estimator.waiting import with_waiting
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.changes import TREND, parse_trend
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import grammar, words_of
from hearsay.ops.config import Settings
from hearsay.ops.operate.window_list import all_deleted
from hearsay.ops.server.connection import open_registry
from hearsay.ops.terminal.answers import print_answers
from hearsay.ops.terminal.meant import naming
from hearsay.ops.terminal.options import SERVER, add_plugins, json_option, uses
from hearsay.ops.terminal.pictures import PictureFile, drawable, save_picture, tree_lines
from hearsay.ops.terminal.present import console, counted, counted_reports, notes, print_json


class _Question(click.Command):
    """Keeps the words after `--` as values, even if they look like options; its help lists every query."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["values"] = args[args.index("--") :] if "--" in args else []
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        add_plugins(Settings.resolve({}, os.environ).plugins)
        formatter.write_paragraph()
        formatter.write_text(f"Queries: {grammar()}")


@click.command(
    cls=_Question,
    # Negative numbers are values, not options; words that look like options are refused below.
    context_settings={"ignore_unknown_options": True},
    options_metavar="(NAME | --snapshot DIR) [OPTIONS]",
)
@click.argument("words", nargs=-1, metavar="QUERY")
@click.option("--snapshot", metavar="DIR", type=click.Path(path_type=Path), help="Ask a snapshot instead of a server.")
@click.option("--window", metavar="NAME|all|last:N", help="Which windows; their states are added.  [default: all]")
@click.option(
    "--against",
    metavar="WINDOW|NAME:WINDOW|DIR",
    help="Differences to other windows, another survey of the same domain or, with --snapshot, another snapshot.",
)
@click.option("--count", is_flag=True, help="Numbers of reports instead of fractions.")
@click.option("--postprocess", metavar="METHOD", help="Post-processing of shares.  [default: the survey's]")
@click.option("--simultaneous", is_flag=True, help="Also 95% intervals that hold for all cells at once.")
@click.option(
    "--picture",
    metavar="FILE",
    type=PictureFile(),
    help=f"Also draw the answers of {' or '.join(drawable())} into a file (png, svg, pdf).",
)
@json_option
@uses(*SERVER, "plugins")
@click.pass_context
def command(
    context: click.Context,
    settings: Settings,
    words: tuple[str, ...],
    snapshot: Path | None,
    window: str | None,
    against: str | None,
    count: bool,
    postprocess: str | None,
    simultaneous: bool,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Ask a live survey or a snapshot.

    Values are fractions of the reports unless --count is given, with their standard error and 95% interval
    (value +- 1.96 stderr wherever that holds). Ranges are inclusive, in the domain's own units; on a grid `range A1:B1
    A2:B2`. A live query reads accumulators and deltas from Redis and needs no estimator. With a post-processing method
    the raw value stays beside the processed one; error and intervals belong to the raw one. docs/reference/queries.md
    explains every query and how to read its answer.

    With --against every answer is a difference, with its interval and p-value; `trend QUERY` looks for changes over all
    final windows (docs/how-to/changes.md).
    """
    for word in words:
        if word.startswith("-") and not re.match(r"-[\d.]", word) and word not in context.meta["values"]:
            raise click.NoSuchOption(word.partition("=")[0], ctx=context)
    waiting = 0
    other: Side | None = None
    if snapshot is not None:
        words = in_words(words)
        loaded = _from_snapshot(snapshot, window)
        survey, reports, estimate = loaded.survey, loaded.reports, loaded.estimate
        title = f"{survey.name} ({snapshot})"
        if against is not None:
            compared = loading.load(against)
            check_apart(loaded.metadata, compared.metadata)
            other = compared
            title = f"{title} against {against}"
    else:
        if not words:
            raise click.UsageError("name a survey, or a snapshot with --snapshot DIR")
        name, *words_left = words
        words = tuple(words_left)
        with naming(Path(name) / JSON, f"--snapshot {shlex.quote(name)}"):
            registry, readings = open_registry(settings), Readings()
            registered = _named(registry, name, words)
        words = in_words(words)
        seen = registered.look()
        if words[:1] == (TREND,):
            _refuse_with_trend(context)
            answers = ask_trend(readings, registered, seen, parse_trend(shlex.join(words)))
            _show(as_json, f"{registered.survey.name}: {counted(len(seen.final), 'final window')}", answers)
            return
        current = readings.live(registered, window or "all", seen)
        survey, reports, estimate = current.survey, current.sum.reports, current.estimate
        title = f"{survey.name} (window {current.window})"
        if current.left_out:
            reason = f"fewer than {survey.minimum_reports} reports each"
            click.echo(f"hearsay: left out, with {reason}: {', '.join(current.left_out)}", err=True)
        if against is not None:
            side = Comparison(registry, readings).other_side(registered, seen, current.window, against)
            title, other = f"{title} against {side.survey.name} (window {side.window})", side
        waiting = seen.waiting_reports
    verb = words[0] if words else ""
    if picture is not None and verb not in drawable():
        raise click.UsageError(f"--picture goes with {' or '.join(drawable())}, got {verb or 'nothing'}")
    try:
        with refusing_impossible_counts() if snapshot is not None else nullcontext():
            flags = {"count": count, "simultaneous": simultaneous}
            answers = ask(survey, reports, estimate, words, postprocess=postprocess, against=other, **flags)
    except QueryError as refusal:
        if reports >= survey.minimum_reports:
            raise
        if not reports and not waiting and snapshot is None:
            simulated = f"{refusal}; for simulated ones: hearsay produce {survey.name} --devices 10000"
            raise QueryError(all_deleted(seen) or simulated, **refusal.fields) from None
        raise with_waiting(refusal, waiting) from None
    if picture is not None:
        save_picture(verb, answers, picture)
        notes().print(f"picture in {picture}", markup=False)
    unfolded = f"; {waiting:,} more are waiting to be folded" if waiting else ""
    scale = None if other is not None else survey.mechanism.domain.mean_bounds
    _show(as_json, f"{title}: {counted_reports(survey, reports)}{unfolded}", answers, scale)
    if verb == "tree" and not as_json:
        console().print("\n".join(tree_lines(answers)), markup=False, highlight=False)


def in_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """A question as its words, where it may also be one line in quotes: "range 30 45"."""
    return tuple(words_of(words[0])) if len(words) == 1 and " " in words[0].strip() else words


def _named(registry: Registry, name: str, words: tuple[str, ...]) -> Registered:
    """The survey of this name; where a question stands in its place, how to ask it."""
    try:
        return registry.get(name)
    except UnknownSurvey:
        if in_words((name,))[0] not in (*catalogue.QUERIES, TREND):
            raise
        asked = shlex.join([*(nearest(name, registry.names()) or ["NAME"])[:1], *in_words((name,)), *words])
        raise UnknownSurvey(f"name the survey before the question: hearsay query {asked}") from None


def _show(as_json: bool, title: str, answers: list[Answer], scale: tuple[float, float] | None = None) -> None:
    if as_json:
        print_json([each.table() for each in answers])
    else:
        print_answers(title, answers, scale)


def _refuse_with_trend(context: click.Context) -> None:
    """Options that choose windows, or change how shares are shown."""
    for name in ("window", "against", "count", "postprocess", "simultaneous", "picture"):
        if context.params[name]:
            raise click.UsageError(f"--{name} does not go with trend, which is about all final windows")


def _from_snapshot(directory: Path, window: str | None) -> loading.Snapshot:
    snapshot = loading.load(directory)
    written = snapshot.metadata["window"]
    if window not in (None, written):
        raise click.UsageError(f"--window: this snapshot holds the window {written}, got {window}")
    return snapshot
