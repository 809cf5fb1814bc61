"""`hearsay experiment metric`: what Xiang, Ding, He and Zhou (2020) report, reproduced and compared."""

from collections.abc import Callable
from pathlib import Path

import click

from mechanisms.randomness import seeded
from ops.errors import CheckFailed
from ops.experiments.metric_figures import figure_1, figure_2
from ops.experiments.metric_output import Result
from ops.experiments.metric_tables import large_grid, table_1, table_2


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("var/experiments/metric"),
    show_default=True,
    help="Directory for CSV files and figures.",
)
@click.option("--quick", is_flag=True, help="Fewer points and runs: a minute instead of several.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=20, show_default=True, help="Seed of all draws.")
def command(out: Path, quick: bool, seed: int) -> None:
    """Errors under metric privacy: figures 1 and 2 and tables 1 and 2 of the paper, measured.

    Exits with 1 where an error lies off its exact expectation.
    """
    out.mkdir(parents=True, exist_ok=True)
    random = seeded(seed)
    parts: list[Callable[[], Result]] = [
        lambda: figure_1(quick, random),
        lambda: figure_2(5, quick, random),
        lambda: figure_2(6, quick, random),
        lambda: table_2(quick, random),
        lambda: table_1(random),
        lambda: large_grid(random),
    ]
    failures = []
    for part in parts:
        result = part()
        result.publish(out)
        failures += result.failures
    if failures:
        raise CheckFailed("; ".join(failures))
