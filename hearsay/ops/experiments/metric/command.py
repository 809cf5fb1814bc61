"""`hearsay experiment metric`: what Xiang, Ding, He and Zhou (2020) report, reproduced and compared."""

from collections.abc import Callable
from pathlib import Path

import click

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.experiments.metric.figures import figure_1, figure_2
from hearsay.ops.experiments.metric.tables import large_grid, table_1, table_2
from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option


@click.command()
@out_option("metric")
@click.option("--quick", is_flag=True, help="Fewer points and runs: a minute instead of several.")
@seed_option(20)
def command(out: Path, quick: bool, seed: int) -> None:
    """Errors under metric privacy: figures 1 and 2 and tables 1 and 2 of the paper, measured.

    Exits with 1 if an error differs significantly from its exact expectation.
    """
    random = seeded(seed)
    parts: list[Callable[[], Result]] = [
        lambda: figure_1(quick, random),
        lambda: figure_2(5, quick, random),
        lambda: figure_2(6, quick, random),
        lambda: table_2(quick, random),
        lambda: table_1(random),
        lambda: large_grid(random),
    ]
    publish_all((part() for part in parts), out)
