"""`hearsay simulate`: the whole path in one process."""

from pathlib import Path

import click

from hearsay.collector.survey.survey import Survey, load
from hearsay.estimator.snapshots import files as snapshot
from hearsay.mechanisms.domains.domain import Values
from hearsay.mechanisms.exact.randomness import Random, secure, seeded
from hearsay.mechanisms.metric.collector_modes import MODES
from hearsay.ops.config import Settings
from hearsay.ops.simulate.modes import ModeAnswer, answer_by_mode
from hearsay.ops.simulate.simulation import simulate
from hearsay.ops.terminal.options import json_option, seed_option, uses
from hearsay.ops.terminal.present import counted, notes, print_answers, print_json
from hearsay.ops.terminal.progress import reports_bar
from hearsay.producer import values


@click.command()
@click.argument("survey_file", metavar="SURVEY.toml", type=click.Path(path_type=Path))
@click.option("--values", "values_file", metavar="FILE.csv", required=True, type=click.Path(path_type=Path),
              help="One row per device; columns by header name, as the domain names them.")  # fmt: skip
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="Where the snapshot goes.")
@click.option("--mode", type=click.Choice(MODES), help="Answer --ask the way a collector of this kind does.")
@click.option("--ask", metavar="QUERY", help="With --mode: a range or a prefix, in quotes.")
@seed_option
@json_option
@uses("plugins")
def command(
    settings: Settings,
    survey_file: Path,
    values_file: Path,
    out: Path | None,
    mode: str | None,
    ask: str | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Run a survey on a CSV of values in one process, without a server.

    Perturbs, encodes, decodes, folds and estimates with the code of the pipeline, and writes a snapshot (window `all`)
    that `hearsay query --snapshot DIR` can be asked about.

    With --mode and --ask instead of --out, a survey under metric-l1 is collected in one of three ways, and the answer
    comes with the memory and the time it took: prefix-sums is the pipeline's way, single-frequencies keeps a share per
    cell, on-the-fly keeps every report.
    """
    if (mode is None) == (out is None) or (mode is None) != (ask is None):
        raise click.UsageError("give --out DIR, or --mode and --ask")
    survey = load(survey_file)
    cells = values.read(values_file, survey.mechanism.domain)
    if mode is not None and ask is not None:
        _by_mode(answer_by_mode(survey, cells, _random(seed), mode, ask), survey.name, as_json)
    elif out is not None:
        _whole_path(survey, cells, _random(seed), out, as_json)


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


def _whole_path(survey: Survey, cells: Values, random: Random, out: Path, as_json: bool) -> None:
    with reports_bar("simulating", len(cells)) as bar:
        content = simulate(survey, cells, random, bar.advance)
    snapshot.write(out, content)
    if survey.reason is not None:
        notes().print(f"mechanism chosen automatically: {survey.reason}", markup=False)
    if as_json:
        print_json(content.document())
        return
    print_answers(
        f"{survey.name}: {counted(content.reports, 'report')}, {survey.mechanism.ID}, epsilon {survey.epsilon:g}",
        content.answers,
    )
    if content.withheld:
        click.echo(f"answers are withheld until there are {survey.minimum_reports} reports")
    click.echo(f"snapshot in {out}; ask it: hearsay query --snapshot {out} ...")
