"""The common part of experiments: options, and the result of each part: a table, a CSV file, a figure, failures."""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.terminal.present import counted, print_table, rows_within, say

Draw = Callable[[Any], None]
_PRINTED = 24  # lines of a table; the longest has a thousand rows, and an experiment has a dozen tables
_LETTERS_PER_INCH = 12  # of a picture's title, at 10 points


@dataclass
class Result:
    """A table with expected values beside measured ones; `failures` are messages about values that disagree."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[Any]]
    caption: str = ""
    failures: list[str] = field(default_factory=list)
    checks: int = 0  # values that were compared with what was expected
    draw: Draw | None = None  # onto a matplotlib figure
    bars: str = ""  # what the error bars of the figure show

    def expect(self, holds: bool, otherwise: str) -> None:
        """Count a comparison, and note a disagreement."""
        self.checks += 1
        if not holds:
            self.failures.append(f"{self.name}: {otherwise}")

    def publish(self, directory: Path) -> None:
        """Print the table, of a long one its first rows; write it as CSV and, where there is one, the figure as PNG."""
        printed = rows_within(self.columns, self.rows, _PRINTED)
        print_table(self.title, self.columns, self.rows[:printed], self.caption or None)
        if len(self.rows) > printed:
            say(f"... and {counted(len(self.rows) - printed, 'more row')} in {directory / self.name}.csv")
        click.echo()
        with (directory / f"{self.name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(self.rows)
        if self.draw is not None:
            _save(self.draw, self.title, self.bars, directory / f"{self.name}.png")


def _save(draw: Draw, title: str, bars: str, path: Path) -> None:
    """A picture with the title of its table, and what its error bars show."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(7, 4.5), layout="constrained")
    draw(figure)
    lines = [fill(title, int(_LETTERS_PER_INCH * figure.get_figwidth())), *([f"bars: {bars}"] if bars else [])]
    figure.suptitle("\n".join(lines), fontsize=10)
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
    """Publish each result as soon as it is computed; at the end, fail with all disagreements."""
    if find_spec("matplotlib") is None:  # asked first: an experiment may run for minutes before its first figure
        raise OperationError("the figures need matplotlib: pip install 'hearsay-ldp[experiments]'")
    if out.absolute() == Path.cwd():
        raise OperationError(what="--out", expected="a directory of its own, such as results", got=str(out))
    out.mkdir(parents=True, exist_ok=True)
    published: list[Result] = []
    for result in results:
        if any(result.name == other.name or result.title == other.title for other in published):
            raise ValueError(f"two results are called {result.name} or {result.title!r}")
        result.publish(out)
        published.append(result)
    say(f"tables{' and figures' if any(result.draw for result in published) else ''} are in {out}/")
    for line in verdict(published):
        say(line)
    failures = [failure for result in published for failure in result.failures]
    if failures:
        raise CheckFailed("; ".join(failures))


def verdict(results: Sequence[Result]) -> list[str]:
    """Lines that say what agreed with what was expected, what did not, and what was not compared.

    >>> first, second, third = (Result(name, name, [], []) for name in ("table-1", "table-2", "figure-3"))
    >>> first.expect(True, ""); first.expect(True, ""); second.expect(False, "haar is 12% off")
    >>> for line in verdict([first, second, third]): print(line)
    agreed (2 checks): table-1
    did not agree: table-2: haar is 12% off
    shown, with nothing to compare: figure-3
    """
    agreed = [result for result in results if result.checks and not result.failures]
    failures = [failure for result in results for failure in result.failures]
    shown = [result.name for result in results if not result.checks and not result.failures]
    checks = counted(sum(result.checks for result in agreed), "check")
    compared = [
        f"agreed ({checks}): " + (", ".join(result.name for result in agreed) or "nothing"),
        "did not agree: " + ("; ".join(failures) or "nothing"),
    ]
    return [
        *(compared if agreed or failures else []),
        *(["shown, with nothing to compare: " + ", ".join(shown)] if shown else []),
    ]
