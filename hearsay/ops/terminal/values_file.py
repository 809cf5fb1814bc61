"""`--values FILE`, `--column`, `--clamp`, `--skip-bad`: the devices' values as commands read them, with progress."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from hearsay.ops.terminal.present import counted, notes

if TYPE_CHECKING:
    from hearsay.mechanisms.domains.domain import Domain

QUICK_S = 1.0  # a file that took no longer is not worth a line in a log


@dataclass(frozen=True)
class ValuesFile:
    """A file of values, and how it is to be read."""

    path: Path
    column: str | None
    clamp: bool
    skip_bad: bool = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if str(self.path) == "-" else str(self.path)

    def read(self, domain: "Domain", seen: "Callable[[bytes], object] | None" = None) -> Any:
        """All values; says on stderr how many rows there were, how many were left out and why, and what was clamped.

        `seen` gets the content, unpacked and with one kind of line end.
        """
        from hearsay.producer import values  # with numpy, which most help texts do without

        console, started = notes(), time.monotonic()
        columns = (TextColumn("reading {task.description}"), BarColumn(), TaskProgressColumn())
        with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
            task = bar.add_task(self.name, total=None)

            def watch(done: int, size: int | None, rows: int) -> None:
                bar.update(task, completed=done, total=size, description=f"{self.name}: {counted(rows, 'row')}")

            loaded = values.load(
                self.path,
                domain,
                column=self.column,
                clamp=self.clamp,
                skip_bad=self.skip_bad,
                watch=watch,
                seen=seen,
            )
        facts = [counted(loaded.rows, "row")]
        if self.clamp:
            facts.append(f"{counted(loaded.clamped, 'value')} clamped")
        if loaded.blank_lines:
            facts.append(f"{counted(loaded.blank_lines, 'blank line')} skipped")
        if self.skip_bad:
            why = f": {loaded.causes}" if loaded.left_out else ""
            facts.append(f"{counted(loaded.left_out, 'bad row')} left out{why}")
        if console.is_terminal or len(facts) > 1 or time.monotonic() - started > QUICK_S:
            console.print(f"{self.name}: {', '.join(facts)}", markup=False, soft_wrap=True)
        return loaded.values


def values_option(help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command `--values` and how the file is read, as its argument `values_file`: a ValuesFile or None."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def with_file(
            *given: Any, column: str | None, clamp: bool, skip_bad: bool, values_path: Path | None, **others: Any
        ) -> Any:
            if values_path is None and (column is not None or clamp or skip_bad):
                raise click.UsageError("--column, --clamp and --skip-bad go with --values")
            file = None if values_path is None else ValuesFile(values_path, column, clamp, skip_bad)
            return function(*given, values_file=file, **others)

        options = (
            click.option("--values", "values_path", metavar="FILE", type=click.Path(path_type=Path),
                         help=f"{help} CSV, also compressed by gzip, or Parquet; - is standard input."),
            click.option("--column", metavar="NAME", help="With --values: the file's column, if the survey has one."),
            click.option("--clamp", is_flag=True,
                         help="With --values: move numbers outside to the nearest end, and say how many."),
            click.option("--skip-bad", is_flag=True,
                         help="With --values: leave out rows that cannot be read, and say how many and why."),
        )  # fmt: skip
        for option in reversed(options):
            with_file = option(with_file)
        return with_file

    return decorate
