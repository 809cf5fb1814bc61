"""`hearsay simulate`: the whole path in one process."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from hearsay.collector.survey.survey import Survey, load
from hearsay.estimator.snapshots import files as snapshot
from hearsay.estimator.snapshots.content import Content
from hearsay.mechanisms.domains.domain import Values
from hearsay.mechanisms.errors import QueryError, UnknownQuery
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.exact.randomness import Random, secure, seeded
from hearsay.mechanisms.metric.collector_modes import MODES
from hearsay.mechanisms.questions import answer, check_reports, parse_text, suggestion
from hearsay.ops.config import Settings
from hearsay.ops.simulate.comparing import Compared, compare, repeat
from hearsay.ops.simulate.modes import ModeAnswer, answer_by_mode
from hearsay.ops.simulate.simulation import simulate
from hearsay.ops.terminal.answers import alike_decimals, by_question, print_answers, rounded, subject
from hearsay.ops.terminal.options import CountRange, json_option, seed_option, uses
from hearsay.ops.terminal.out_directory import OutDirectory
from hearsay.ops.terminal.pictures import PictureFile, save_answers
from hearsay.ops.terminal.present import counted, counted_reports, notes, print_json, print_table
from hearsay.ops.terminal.progress import reports_bar
from hearsay.ops.terminal.values_file import ValuesFile, values_option
from hearsay.producer.populations import Population


@click.command()
@click.argument("survey_file", metavar="SURVEY.toml", type=click.Path(path_type=Path))
@click.argument("rest", metavar="", nargs=-1)
@values_option("One row per device; columns by header name, as the domain names them.")
@click.option("--distribution", metavar="SHAPE", help="Simulated values instead, as `produce` has them.")
@click.option("--devices", type=CountRange(1), help="With --distribution: how many devices report.")
@click.option("--out", metavar="DIR", type=OutDirectory(), help="Where the snapshot goes.")
@click.option("--ask", metavar="QUERY", multiple=True,
              help="What is asked, in quotes; may be repeated.  [default: the headline's questions]")  # fmt: skip
@click.option("--truth", is_flag=True, help="Show every answer beside the truth, and whether its interval holds.")
@click.option("--repeat", "runs", metavar="R", type=click.IntRange(1, 100_000),
              help="So many surveys of the same devices: how often intervals hold, how wide they are.")  # fmt: skip
@click.option("--picture", metavar="FILE", type=PictureFile(),
              help="Draw the answers, with --truth beside the truth, into a file (png, svg, pdf).")  # fmt: skip
@click.option("--mode", type=click.Choice(MODES), help="Answer --ask as a collector of this kind does.")
@seed_option
@json_option
@uses("plugins")
def command(
    settings: Settings,
    survey_file: Path,
    rest: tuple[str, ...],
    values_file: ValuesFile | None,
    distribution: str | None,
    devices: int | None,
    out: Path | None,
    ask: tuple[str, ...],
    truth: bool,
    runs: int | None,
    picture: Path | None,
    mode: str | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Run a survey on values in one process, without a server.

    Perturbs, encodes, decodes, folds and estimates with the code of the pipeline. With --out it writes a snapshot
    (window `all`) for `hearsay query --snapshot DIR`; it never contains the devices' values.

    With --truth it also shows the true answer for these devices: `holds` is whether the interval contains it, `z` by
    how many standard errors the value differs from it. With --repeat it draws many surveys: `coverage` is the share of
    intervals that contain the truth, `within` the median half width, `predicted` that of the planner.

    With --mode and --ask instead, a survey under metric-l1 is collected in one of three ways, and the answer comes with
    the memory and the time it took: prefix-sums as in the pipeline, single-frequencies with a share per cell,
    on-the-fly with every report.
    """
    if rest and ask:
        raise click.UsageError(f'quote the question: --ask "{" ".join([ask[-1], *rest])}"')
    if rest:
        raise click.UsageError(f"Got unexpected extra arguments ({' '.join(rest)})")
    wanted = out is not None or truth or runs is not None or picture is not None
    if mode is not None and (wanted or len(ask) != 1):
        raise click.UsageError("--mode goes with one --ask, and not with --out, --truth, --repeat or --picture")
    if runs is not None and (out is not None or picture is not None):
        raise click.UsageError("--repeat only shows a table: leave out --out and --picture, or --repeat")
    survey = load(survey_file)
    if out is not None and (replaced := snapshot.other_survey(out, survey.name)) is not None:
        notes().print(f"{out} holds a snapshot of survey {replaced}, which is replaced", markup=False)
    people = _people(survey, values_file, distribution, devices, seed)
    if mode is not None:
        _by_mode(answer_by_mode(survey, people, _random(seed), mode, ask[0]), survey.name, as_json)
    elif runs is not None:
        _repeated(survey, people, ask, runs, seed, as_json)
    elif out is not None and not (truth or ask or picture is not None):
        _whole_path(survey, people, _random(seed), out, distribution is not None, as_json)
    else:
        with reports_bar("simulating", len(people)) as bar:
            content = simulate(survey, people, _random(seed), bar.advance)
        content = replace(content, simulated=distribution is not None)
        if out is not None:
            snapshot.write(out, content)
        _compared(content, people, ask, truth, picture, as_json)
        if out is not None and not as_json:
            _say_where(out)


def _people(
    survey: Survey, values_file: ValuesFile | None, distribution: str | None, devices: int | None, seed: int | None
) -> Values:
    if (values_file is None) == (distribution is None):
        raise click.UsageError("give --values FILE, or --distribution SHAPE and --devices N")
    if (distribution is None) != (devices is None):
        raise click.UsageError("--distribution and --devices go together")
    domain = survey.mechanism.domain
    if values_file is not None:
        read: Values = values_file.read(domain)
        return read
    taken: Values = Population(str(distribution), domain, np.random.default_rng(seed)).take(devices or 0)
    return taken


def _repeated(survey: Survey, people: Values, ask: tuple[str, ...], runs: int, seed: int | None, as_json: bool) -> None:
    questions = ask or _headline(simulate(survey, people, _random(seed)))
    rows = repeat(survey, people, questions, runs, secrets.randbits(62) if seed is None else seed)
    if as_json:
        print_json([row.table() for row in rows])
        return
    columns = ("query", "runs", "coverage", "rmse", "within", "predicted")
    print_table(
        f"{survey.name}: {runs:,} surveys of {counted(len(people), 'device')}, {survey.mechanism.ID}",
        columns,
        [[getattr(row, name) for name in columns] for row in rows],
    )


def _compared(
    content: Content, people: Values, ask: tuple[str, ...], truth: bool, picture: Path | None, as_json: bool
) -> None:
    """The answers, with `truth` beside what is true."""
    survey, estimate = content.survey, content.estimate
    check_reports(content.reports, survey.minimum_reports)
    questions = ask or _headline(content)
    assert estimate is not None
    exact = survey.mechanism.exact(people)
    try:
        rows = [row for text in questions for row in compare(text, estimate, exact, survey.postprocess)]
    except UnknownQuery as unknown:
        raise suggestion(unknown.verb, estimate) from None
    if picture is not None:
        save_answers([row.answer for row in rows], [row.truth for row in rows] if truth else None, picture)
        notes().print(f"picture in {picture}", markup=False)
    title = f"{survey.name}: {counted_reports(survey, content.reports)}"
    if as_json:
        print_json([row.table() if truth else row.answer.table() for row in rows])
    elif truth:
        _print_compared(title, rows)
    else:
        print_answers(title, [row.answer for row in rows], survey.mechanism.domain.mean_bounds)
    if truth:
        known = [row.holds for row in rows if row.holds is not None]
        contain = "contains" if len(known) == 1 else "contain"
        notes().print(f"{sum(known)} of {counted(len(known), 'interval')} {contain} the truth; 95% are meant to")


def _headline(content: Content) -> tuple[str, ...]:
    """The headline's questions that have answers."""
    if content.estimate is None:
        raise QueryError("answers are withheld: there are too few reports")
    return tuple(dict.fromkeys(text for text in content.estimate.headline() if _answered(text, content.estimate)))


def _answered(text: str, estimate: Estimate) -> bool:
    try:
        return bool(answer(parse_text(text), estimate))
    except QueryError:
        return False


def _print_compared(title: str, rows: Sequence[Compared]) -> None:
    """Answers beside the truth, with the digits that mean something."""
    for heading, part in by_question(title, [row.answer for row in rows]):
        _print_part(heading, [rows[number] for number in part])


def _print_part(title: str, rows: Sequence[Compared]) -> None:
    answers = [row.answer for row in rows]
    many = any(not title.startswith(each.query) for each in answers)
    columns = ["about", "truth", "value", "stderr", "low", "high", "holds", "z"]
    table = []
    for row, each, places in zip(rows, answers, alike_decimals(answers), strict=True):
        figures = [rounded(number, places) for number in (row.truth, each.value, each.low, each.high)]
        figures.insert(2, rounded(each.stderr, places and places + 1))
        holds = {True: "yes", False: "no", None: None}[row.holds]
        table.append([subject(each, many), *figures, holds, rounded(row.z, 2)])
    if many:
        columns = ["query", *columns]
        table = [[each.query, *cells] for each, cells in zip(answers, table, strict=True)]
    print_table(title, columns, table)


def _random(seed: int | None) -> Random:
    return secure() if seed is None else seeded(seed)


def _by_mode(answer: ModeAnswer, name: str, as_json: bool) -> None:
    if as_json:
        print_json(answer.table())
        return
    print_answers(f"{name}: {counted(answer.reports, 'report')}, {answer.mode}", answer.answers)
    click.echo(
        f"{answer.kept_bytes:,} bytes kept, folded in {answer.fold_s:.3g} s, answered in {1000 * answer.query_s:.3g} ms"
    )


def _whole_path(survey: Survey, cells: Values, random: Random, out: Path, simulated: bool, as_json: bool) -> None:
    with reports_bar("simulating", len(cells)) as bar:
        content = replace(simulate(survey, cells, random, bar.advance), simulated=simulated)
    snapshot.write(out, content)
    if survey.reason is not None:
        notes().print(f"mechanism chosen automatically: {survey.reason}", markup=False)
    if as_json:
        print_json(content.document())
        return
    print_answers(
        f"{survey.name}: {counted_reports(survey, content.reports)}, {survey.mechanism.ID}, epsilon {survey.epsilon:g}",
        content.answers,
        survey.mechanism.domain.mean_bounds,
    )
    if content.withheld:
        click.echo(f"answers are withheld until there are {survey.minimum_reports} reports")
    _say_where(out)


def _say_where(out: Path) -> None:
    click.echo(f"snapshot in {out}; ask it: hearsay query --snapshot {out} ...")
