"""What a part of the metric experiment leaves behind: a table, a CSV file, a figure, and what disagrees."""

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ops.present import print_table

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
