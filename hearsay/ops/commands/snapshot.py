"""`hearsay snapshot`: a snapshot on demand."""

from pathlib import Path

import click

from hearsay.estimator.readings import live
from hearsay.estimator.snapshots import files as snapshots
from hearsay.ops.config import Settings
from hearsay.ops.server.connection import open_registry
from hearsay.ops.terminal.options import SERVER, json_option, uses
from hearsay.ops.terminal.out_directory import OutDirectory
from hearsay.ops.terminal.present import counted, print_json


@click.command()
@click.argument("name")
@click.option("--out", metavar="DIR", required=True, type=OutDirectory(), help="The directory to write.")
@click.option("--window", metavar="NAME|all", default="all", show_default=True, help="Which window.")
@json_option
@uses(*SERVER, "plugins")
def command(settings: Settings, name: str, out: Path, window: str, as_json: bool) -> None:
    """Write a snapshot of a live survey now.

    The directory holds snapshot.json and arrays.npz: the estimate, its standard error and the exact integer state.
    The estimator writes the same for every window by itself, under the data directory.
    """
    if window.startswith("last:"):
        raise click.UsageError("--window must be one window or all; `hearsay query` can add the last ones")
    content = live(open_registry(settings).get(name), window).content()
    snapshots.write(out, content)
    if as_json:
        print_json(content.document())
    else:
        click.echo(f"snapshot of {name}, window {window}, {counted(content.reports, 'report')}: {out}")
