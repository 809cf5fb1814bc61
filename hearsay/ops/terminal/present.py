"""How data are printed: JSON for programs, tables for people."""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hearsay.mechanisms.queries.answer import Answer

_WIDE = 160  # columns without a terminal: tables and notes are not wrapped in files and logs


def console() -> Console:
    """The console for tables: as wide as the terminal, and very wide without one."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else _WIDE, highlight=False)


def notes() -> Console:
    """The console for progress and notes: stderr, so that stdout has only data."""
    return Console(stderr=True, width=None if sys.stderr.isatty() else _WIDE, highlight=False)


def print_json(data: Any) -> None:
    """One JSON document; NaN is a bug, since unknown is null."""
    click.echo(json.dumps(data, allow_nan=False, indent=2, default=str))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str | None = None) -> None:
    """A table whose numbers are aligned to the right."""
    # As plain text throughout: a label such as [red] is not markup.
    table = Table(title=Text(title), title_justify="left", caption=caption and Text(caption), caption_justify="left")
    cells = [[show(value) for value in row] for row in rows]
    for position, column in enumerate(columns):
        numeric = bool(cells) and all(_is_number(row[position]) for row in cells)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    console().print(table)


def print_answers(title: str, answers: list[Answer]) -> None:
    """Answers as a table, with columns for post-processing and simultaneous intervals if used."""
    table = [_columns(each) for each in answers]
    names = list(dict.fromkeys(name for columns in table for name in columns))
    print_table(title, names, [[columns.get(name) for name in names] for columns in table])
    for note in dict.fromkeys(each.note for each in answers if each.note is not None):
        console().print(Text(f"note: {note}"))


def _columns(each: Answer) -> dict[str, Any]:
    columns: dict[str, Any] = {"query": each.query, "item": each.cell if each.item is None else each.item}
    if each.postprocess is not None:
        columns |= {each.postprocess: each.value}
    columns |= {"value" if each.postprocess is None else "raw": each.unbiased, "stderr": each.stderr}
    columns |= {"low": each.low, "high": each.high}
    if each.simultaneous is not None:
        columns |= dict(zip(("all low", "all high"), each.simultaneous, strict=True))
    if each.band is not None:
        columns |= {"band": each.band, "rank stderr": each.rank_stderr}
    if each.rank_bound is not None:
        columns["rank bound"] = each.rank_bound
    if each.window is not None:
        columns["window"] = each.window
    if each.p_value is not None:
        columns["p"] = each.p_value
    if each.p_adjusted is not None:
        columns["p adjusted"] = each.p_adjusted
    if each.of is not None:
        columns |= dict(zip(("a", "b"), each.of, strict=True))
    return columns


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with what it counts: 1 report, 2 reports."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def show(value: Any) -> str:
    """A value for a person: unknown is a dash, fractions with four significant digits, large numbers grouped."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        # Numbers of reports are floats after the estimator: 28,671 and not 2.867e+04.
        return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
    if isinstance(value, list | tuple):
        return " .. ".join(show(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {show(part)}" for name, part in value.items())
    # What devices wrote may hold characters that move a terminal's cursor or turn its direction.
    return "".join(letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in str(value))


def _is_number(text: str) -> bool:
    return text == "-" or re.fullmatch(r"-?[\d,]+(\.\d+)?(e[+-]\d+)?", text) is not None
