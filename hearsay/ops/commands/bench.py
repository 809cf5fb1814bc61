"""`hearsay bench`: how fast each part is, beside a ceiling: what the machine could do at most."""

import importlib
from typing import Any

import click

from hearsay.ops.bench.row import Row, readable
from hearsay.ops.terminal.lazy import LazyGroup
from hearsay.ops.terminal.options import json_option
from hearsay.ops.terminal.present import notes, print_json, print_table, show

BENCHES = {  # each module has a function `rows`, which yields what it measured
    "fold": "hearsay.ops.bench.fold",
    "path": "hearsay.ops.bench.path",
    "freshness": "hearsay.ops.bench.freshness",
    "materialise": "hearsay.ops.bench.materialise",
    "gateway": "hearsay.ops.bench.gateway",
    "queries": "hearsay.ops.bench.queries",
    "large": "hearsay.ops.bench.large",
    "values": "hearsay.ops.bench.values",
    "texts": "hearsay.ops.bench.texts",
}
COLUMNS = ("what", "measured", "ceiling", "ratio", "target", "holds")
SUBCOMMANDS = {"peers": ("hearsay.ops.bench.peers", "Compare every shared mechanism with other libraries.")}


@click.group(cls=LazyGroup, commands_by_module=SUBCOMMANDS, invoke_without_command=True)
@click.option("--only", type=click.Choice(list(BENCHES)), multiple=True, help="Only these benches.")
@click.option("--markdown", is_flag=True, help="Print the table as Markdown, as docs/explanation/speed.md shows it.")
@json_option
@click.pass_context
def command(context: click.Context, only: tuple[str, ...], markdown: bool, as_json: bool) -> None:
    """Measure speed, each figure against a ceiling in the same run.

    fold: decoded reports on one core. path: devices to state through Redis. freshness: how old an answer is.
    materialise: state to answers. gateway: processor time of a request compared with a Starlette echo of the same body,
    and of a request's id on the server. queries: the API while reports flow into 2^20 cells. large: domains of 2^22
    cells on the whole path, with the size of their deltas, the memory of their estimator, and a check that the
    accumulator is a single fold of the same reports. values: CSV files into values. texts: devices, fold, search and
    `top` of surveys of texts.

    Times depend on the machine and its load; the ratios to the ceilings depend on them less.
    """
    if context.invoked_subcommand is not None:
        return
    measured: list[Row] = []
    for name in only or BENCHES:
        for row in importlib.import_module(BENCHES[name]).rows():
            measured.append(row)
            notes().print(f"{row.what}: {readable(row.value)} {row.unit}", markup=False)
    cells = [_cells(row) for row in measured]
    if as_json:
        print_json([row.table() for row in measured])
    elif markdown:
        for line in (COLUMNS, ["---"] * len(COLUMNS), *cells):
            click.echo(f"| {' | '.join(map(show, line))} |")
    else:
        print_table("bench", COLUMNS, cells)


def _cells(row: Row) -> list[Any]:
    """One row of the table, by COLUMNS."""
    ceiling = None if row.ceiling is None else f"{readable(row.ceiling)} {row.unit} ({row.ceiling_name})"
    note = f" ({row.note})" if row.note else ""
    return [row.what + note, f"{readable(row.value)} {row.unit}", ceiling, row.ratio, row.target_words, row.holds]
