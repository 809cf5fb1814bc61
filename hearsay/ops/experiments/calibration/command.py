"""`hearsay experiment calibration`: the coverage of every kind of answer at the edges, as one table."""

from collections.abc import Iterator
from math import sqrt
from pathlib import Path

import click

from hearsay.ops.experiments.calibration.cases import MECHANISMS, REPORTS, cases
from hearsay.ops.experiments.calibration.coverage import KINDS, Measurement, Tally, measure
from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option

LEAST = 0.93
_DEVIATIONS = 5  # of a coverage that are put down to chance: the answers of one run hold or miss together
_SLOW = {"hierarchical": 10, "flat": 2, "haar": 2}  # fewer runs by so much, but on domains of a few cells
_FEW_CELLS, _LARGE, _AT_LARGE = 64, 1 << 14, 4  # and by so much more on large ones


@click.command()
@out_option("calibration")
@click.option("--runs", type=click.IntRange(4, 10_000), default=40, show_default=True,
              help="Runs of every setting; slow mechanisms get fewer.")  # fmt: skip
@click.option("--only", type=click.Choice(MECHANISMS), multiple=True, help="Only these mechanisms.")
@click.option("--quick", is_flag=True, help="Few settings: a minute instead of a quarter of an hour.")
@seed_option(10)
def command(out: Path, runs: int, only: tuple[str, ...], quick: bool, seed: int) -> None:
    """How often 95% intervals hold, where reports are few, data spiky, domains small or large.

    Exits with 1 where intervals of a kind hold in less than 93% of the answers given, by more than chance, over all of
    a mechanism's settings with so many reports or in a single one.
    """
    publish_all(results(only or MECHANISMS, runs, quick, seed), out)


def results(mechanisms: tuple[str, ...], runs: int, quick: bool, seed: int) -> Iterator[Result]:
    """One table, made mechanism by mechanism."""
    result = Result(
        "coverage",
        "Coverage of 95% intervals in percent, and mean squared z",
        ["mechanism", "reports", *KINDS, "z^2", "answered"],
        [],
        "over all sizes, data and epsilons; heavy, rare, empty: the fullest cell, cells of 1-5, cells of nobody; z^2: "
        "of all but quantiles; answered: questions with a finite standard error",
    )
    for mechanism in mechanisms:
        found = [measure(case, _runs(case.mechanism, case.size, runs), seed) for case in cases(mechanism, quick)]
        for reports in REPORTS:
            of_these = [each for each in found if each.case.reports == reports]
            if of_these:
                _row(result, mechanism, reports, of_these)
    yield result


def _runs(mechanism: str, size: int, runs: int) -> int:
    if size < _FEW_CELLS:
        return runs
    fewer = _SLOW.get(mechanism, 1) * (_AT_LARGE if size >= _LARGE else 1)
    return max(2, runs // fewer)


def _row(result: Result, mechanism: str, reports: int, found: list[Measurement]) -> None:
    together = {kind: Tally() for kind in KINDS}
    for each in found:
        for kind, tally in each.tallies.items():
            together[kind].merge(tally)
            if tally.answered:
                _judge(result, each, kind, tally)
    shown = [f"{100 * tally.coverage:.1f}" if tally.answered else "" for tally in together.values()]
    of_all = Tally()
    for kind in KINDS[:-1]:
        of_all.merge(together[kind])
    result.rows.append(
        [mechanism, reports, *shown, f"{of_all.z2:.2f}", f"{of_all.answered / max(of_all.asked, 1):.0%}"]
    )
    for kind, tally in together.items():
        if tally.answered:
            share = f"{tally.coverage:.1%}"
            result.expect(_holds(tally), f"{mechanism}, {reports} reports, {kind}: {share} hold")


def _holds(tally: Tally) -> bool:
    return tally.coverage >= LEAST - _DEVIATIONS * sqrt(LEAST * (1 - LEAST) / tally.runs)


def _judge(result: Result, found: Measurement, kind: str, tally: Tally) -> None:
    case = found.case
    where = (
        f"{case.mechanism}, {case.size} cells, {case.data}, {case.reports} reports, epsilon {case.epsilon:g}, {kind}"
    )
    result.expect(_holds(tally), f"{where}: {tally.coverage:.1%} of {tally.runs} runs' answers hold")
