"""How data are printed: JSON for programs, tables for people."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from estimator.answers import Answer


def console() -> Console:
    """Where tables go: as wide as the terminal, and wide enough when there is none."""
    width = None if sys.stdout.isatty() else 160
    return Console(file=sys.stdout, width=width, highlight=False)


def notes() -> Console:
    """Where progress and remarks go: stderr, so that what is printed stays data."""
    return Console(stderr=True, highlight=False)


def print_json(data: Any) -> None:
    """One JSON document; NaN is a bug, since unknown is null."""
    click.echo(json.dumps(data, allow_nan=False, indent=2, default=str))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str | None = None) -> None:
    """A table whose numbers are aligned to the right."""
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    cells = [[show(value) for value in row] for row in rows]
    for position, column in enumerate(columns):
        numeric = bool(cells) and all(_is_number(row[position]) for row in cells)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*row)
    console().print(table)


def print_answers(title: str, answers: list[Answer]) -> None:
    """Answers as a table; quantiles also with the error of their rank."""
    ranks = any(each.rank_stderr is not None for each in answers)
    columns = ["query", "item", "value", "stderr", "low", "high", *(["band", "rank stderr"] if ranks else [])]
    rows = []
    for each in answers:
        cells = [
            each.query,
            each.cell if each.item is None else each.item,
            each.value,
            each.stderr,
            each.low,
            each.high,
        ]
        rows.append([*cells, *([each.band, each.rank_stderr] if ranks else [])])
    print_table(title, columns, rows)


def show(value: Any) -> str:
    """A value for a person: unknown is a dash, fractions with four significant digits, integers grouped."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return " .. ".join(show(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {show(part)}" for name, part in value.items())
    return str(value)


def _is_number(text: str) -> bool:
    return text == "-" or text.replace(",", "").replace(".", "").replace("-", "").replace("e+", "").isdigit()
