"""`hearsay simulate`: the whole path in one process."""

from pathlib import Path

import click

from collector.survey import load
from estimator import snapshot
from mechanisms.randomness import secure, seeded
from ops.options import json_option, seed_option
from ops.present import notes, print_answers, print_json
from ops.progress import reports_bar
from ops.simulation import simulate
from producer import values


@click.command()
@click.argument("survey_file", metavar="SURVEY.toml", type=click.Path(path_type=Path))
@click.option("--values", "values_file", metavar="FILE.csv", required=True, type=click.Path(path_type=Path),
              help="One row per device; columns by header name: `value`, or the axes' names.")  # fmt: skip
@click.option("--out", metavar="DIR", required=True, type=click.Path(path_type=Path), help="Where the snapshot goes.")
@seed_option
@json_option
def command(survey_file: Path, values_file: Path, out: Path, seed: int | None, as_json: bool) -> None:
    """Run a survey on a CSV of values in one process, without a server.

    Perturbs, encodes, decodes, folds and estimates with the code of the pipeline, and writes a snapshot (window `all`)
    that `hearsay query --snapshot DIR` can be asked about.
    """
    survey = load(survey_file)
    cells = values.read(values_file, survey.mechanism.domain)
    with reports_bar("simulating", len(cells)) as bar:
        content = simulate(survey, cells, secure() if seed is None else seeded(seed), bar.advance)
    snapshot.write(out, content)
    if survey.reason is not None:
        notes().print(f"mechanism chosen automatically: {survey.reason}", markup=False)
    if as_json:
        print_json(content.document())
        return
    print_answers(
        f"{survey.name}: {content.reports:,} reports, {survey.mechanism.ID}, epsilon {survey.epsilon:g}",
        content.answers,
    )
    if content.withheld:
        click.echo(f"answers are withheld until there are {survey.minimum_reports} reports")
    click.echo(f"snapshot in {out}; ask it: hearsay query --snapshot {out} ...")
