"""`hearsay experiment longitudinal`: errors, attacks and intervals if a device reports in many windows."""

from collections.abc import Iterator
from pathlib import Path

import click

from hearsay.ops.experiments.longitudinal.attack import LIVES, attack
from hearsay.ops.experiments.longitudinal.coverage import coverage
from hearsay.ops.experiments.longitudinal.variances import variances
from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option

PARTS = ("variances", "attack", "coverage")


@click.command()
@out_option("longitudinal")
@click.option("--runs", type=click.IntRange(1, 10_000), default=20, show_default=True,
              help="Windows of every variance; ten times as many runs of every coverage.")  # fmt: skip
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="Only these parts.")
@click.option("--quick", is_flag=True, help="Few runs and devices: seconds.")
@seed_option(22)
def command(out: Path, runs: int, only: tuple[str, ...], quick: bool, seed: int) -> None:
    """Devices that report in 30 windows: afresh, sampled or memoised.

    The error of a rare value by lifetime epsilon; how many values the averaging attack guesses; how often intervals
    over several memoised windows contain the truth. Exits with 1 if a figure is off by more than 5%, or if intervals
    contain the truth too rarely.
    """
    publish_all(_results(only or PARTS, 2 if quick else runs, LIVES // 10 if quick else LIVES, seed), out)


def _results(parts: tuple[str, ...], runs: int, lives: int, seed: int) -> Iterator[Result]:
    if "variances" in parts:
        yield variances(runs, seed)
    if "attack" in parts:
        yield attack(lives, seed)
    if "coverage" in parts:
        yield coverage(10 * runs, seed)
