"""`hearsay experiment key-value`: PrivKV's tables and figures (Ye et al. 2019), and what one round does instead."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click
import numpy as np

from hearsay.ops.experiments.key_value.cost import figure_11, table_4
from hearsay.ops.experiments.key_value.figures import (
    figure_3,
    figure_4,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
    figure_12,
    figures_5_and_6,
)
from hearsay.ops.experiments.key_value.moments import moments
from hearsay.ops.experiments.key_value.rare import rare
from hearsay.ops.experiments.key_value.several_values import several_values
from hearsay.ops.experiments.key_value.table import acceptance, against_rounds
from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option

RUNS, QUICK_RUNS = 100, 50
LAST_TABLES = ("rare-keys", "moments")


@click.command()
@out_option("key-value")
@click.option("--quick", is_flag=True, help="The acceptance table over 50 runs, and figures over 4: under two minutes.")
@click.option("--only", type=click.Choice(LAST_TABLES), help="Only this table.")
@seed_option(31)
def command(out: Path, quick: bool, only: str | None, seed: int) -> None:
    """Frequencies and means of key-value pairs: figures 3 to 12 and table IV of the paper, and the acceptance table.

    Exits with 1 if an error is more than 10% off its known value, or if one round of joint or pckv-grr has a larger
    error than several rounds of PrivKVM.
    """
    generator = np.random.default_rng(seed)
    if only is None:
        publish_all(chain(_parts(quick, generator), *(_table(each, quick, generator) for each in LAST_TABLES)), out)
    else:
        publish_all(_table(only, quick, generator), out)


def _table(name: str, quick: bool, generator: np.random.Generator) -> Iterator[Result]:
    """One of the last tables, which need nothing of the others."""
    if name == "rare-keys":
        yield rare(2 if quick else 60, generator)
    else:
        yield moments(10 if quick else 4_000, generator)


def _parts(quick: bool, generator: np.random.Generator) -> Iterator[Result]:
    yield acceptance(QUICK_RUNS if quick else RUNS, generator)
    runs = 4 if quick else 20
    yield against_rounds(runs, generator)
    yield figure_3(runs, generator)
    yield figure_4(runs, generator)
    yield from figures_5_and_6(runs, generator)
    yield figure_7(runs, generator)
    yield figure_8(generator)
    yield several_values(runs, generator)
    yield figure_9(runs, generator)
    yield figure_10(runs, generator)
    yield figure_11(runs, generator)
    yield figure_12(runs, generator)
    yield table_4()
