"""What experiments share: their options, and what each part leaves behind: a table, a CSV file, a figure, failures."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.terminal.present import print_table

Draw = Callable[[Any], None]


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
        """Print the table; write it as CSV and, where there is one, the figure as PNG."""
        print_table(self.title, self.columns, self.rows, self.caption or None)
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
    out.mkdir(parents=True, exist_ok=True)
    failures = []
    for result in results:
        result.publish(out)
        failures += result.failures
    if failures:
        raise CheckFailed("; ".join(failures))
