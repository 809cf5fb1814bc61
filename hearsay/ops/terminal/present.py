"""How data are printed: JSON for programs, tables for people. Every table goes through `print_table`."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from hearsay.ops.terminal.layout import layout

if TYPE_CHECKING:
    from hearsay.collector.survey.survey import Survey  # with numpy, which most help texts do without

_WIDE = 160  # columns without a terminal: tables and notes are not wrapped in files and logs


def console() -> Console:
    """The console for tables: as wide as the terminal (or COLUMNS says), and very wide without one."""
    return Console(file=sys.stdout, width=_width(sys.stdout), highlight=False)


def notes() -> Console:
    """The console for progress and notes: stderr, so that stdout has only data."""
    return Console(stderr=True, width=_width(sys.stderr), highlight=False)


def _width(stream: IO[str]) -> int | None:
    """None: rich asks the terminal, and COLUMNS before it."""
    return None if stream.isatty() or os.environ.get("COLUMNS", "").isdecimal() else _WIDE


def say(text: str) -> None:
    """A sentence, broken between words where the terminal ends; one line where there is no terminal."""
    out = console()
    out.print(Text(text), soft_wrap=_width(sys.stdout) is not None)


def print_json(data: Any) -> None:
    """One JSON document; NaN is a bug, since unknown is null."""
    click.echo(json.dumps(data, allow_nan=False, indent=2, default=str))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str | None = None) -> None:
    """A table whose numbers are aligned to the right; blocks where the terminal is too narrow for it (`layout`)."""
    out = console()
    print_rows(out, title, columns, rows)
    if caption:
        out.print(Text(caption))


def print_rows(out: Console, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """The same on this console, without a caption."""
    # As plain text throughout: a label such as [red] is not markup.
    laid = layout(columns, [[show(value) for value in row] for row in rows], out.width)
    out.print(Text(title, style="bold"))
    if laid.above:
        out.print(Text(f"in every row: {laid.above}"))
    for number, line in enumerate(laid.lines):
        # A word that is wider than the terminal is left to it: copied from there it is still one word.
        out.print(Text(line, style="bold" if number in laid.bold else ""), no_wrap=True, overflow="ignore", crop=False)


def rows_within(columns: Sequence[str], rows: Sequence[Sequence[Any]], lines: int) -> int:
    """How many of the first rows take no more than so many lines of this terminal: all of them, or at least one."""
    width = console().width
    first = [[show(value) for value in row] for row in rows[: lines + 1]]
    fitting = (count for count in range(len(first), 1, -1) if len(layout(columns, first[:count], width).lines) <= lines)
    return next(fitting, min(1, len(first)))


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with what it counts: 1 report, 2 reports."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def counted_reports(survey: "Survey", reports: int) -> str:
    """A number of reports, and why it is larger than that of the devices."""
    return counted(reports, "report") + per_round(survey)


def per_round(survey: "Survey") -> str:
    """What to say of a number of reports where a device makes several: one in each round."""
    return ", one per device and round" if survey.windows.in_rounds and not survey.mechanism.one_round_each else ""


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
        return f"{value:,.0f}" if 999.95 <= abs(value) < 1e15 else f"{value:.4g}"
    if isinstance(value, list | tuple):
        return " .. ".join(show(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {show(part)}" for name, part in value.items())
    # What devices wrote may hold characters that move a terminal's cursor or turn its direction.
    return "".join(letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in str(value))
