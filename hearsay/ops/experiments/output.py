"""What experiments share: their options, and what each part leaves behind: a table, a CSV file, a figure, failures."""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.terminal.present import print_table

Draw = Callable[[Any], None]
_PRINTED = 60  # rows of a table; the longest has a thousand


@dataclass
class Result:
    """A table with expected values beside measured ones; `failures` says in words what should not be."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[Any]]
    caption: str = ""
    failures: list[str] = field(default_factory=list)
    draw: Draw | None = None  # onto a matplotlib figure

    def expect(self, holds: bool, otherwise: str) -> None:
        """Note a disagreement."""
        if not holds:
            self.failures.append(f"{self.name}: {otherwise}")

    def publish(self, directory: Path) -> None:
        """Print the table, of a long one its first rows; write it as CSV and, where there is one, the figure as PNG."""
        print_table(self.title, self.columns, self.rows[:_PRINTED], self.caption or None)
        if len(self.rows) > _PRINTED:
            click.echo(f"... and {len(self.rows) - _PRINTED:,} more rows in {directory / self.name}.csv")
        with (directory / f"{self.name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(self.rows)
        if self.draw is not None:
            _save(self.draw, directory / f"{self.name}.png")


def _save(draw: Draw, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(7, 4.5), layout="constrained")
    draw(figure)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def out_option(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--out` of the experiment with this name."""
    return click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("var/experiments") / name,
        show_default=True,
        help="Directory for CSV files and figures.",
    )


def seed_option(default: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--seed`."""
    seeds = click.IntRange(0, 2**63 - 1)
    return click.option("--seed", type=seeds, default=default, show_default=True, help="Seed of all draws.")


def publish_all(results: Iterable[Result], out: Path) -> None:
    """Publish each result as soon as it is there; at the end, fail with all that disagrees."""
    if find_spec("matplotlib") is None:  # asked first: an experiment may run for minutes before its first figure
        raise OperationError("the figures need matplotlib: pip install 'hearsay-ldp[experiments]'")
    if out.absolute() == Path.cwd():
        raise OperationError(f"--out must be a directory of its own, such as results, got {out}")
    out.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    agreed: list[str] = []
    for result in results:
        result.publish(out)
        failures += result.failures
        agreed += [] if result.failures else [result.name]
    click.echo(f"tables and figures are in {out}/")
    click.echo(verdict(agreed, failures))
    if failures:
        raise CheckFailed("; ".join(failures))


def verdict(agreed: Sequence[str], failures: Sequence[str]) -> str:
    """What agreed with what was expected, and what did not.

    >>> verdict(["table 5.1", "figure 5.2"], ["table 5.3: haar is 12% off"])
    'agreed: table 5.1, figure 5.2; did not: table 5.3: haar is 12% off'
    """
    words = f"agreed: {', '.join(agreed) or 'nothing'}"
    return f"{words}; did not: {'; '.join(failures)}" if failures else words
