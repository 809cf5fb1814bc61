"""`hearsay experiment calibration`: the coverage of every kind of answer at the edges, a table per family."""

from collections.abc import Iterator
from pathlib import Path

import click

from hearsay.ops.experiments.calibration.bands import bands
from hearsay.ops.experiments.calibration.cases import REPORTS
from hearsay.ops.experiments.calibration.demo import demo_result
from hearsay.ops.experiments.calibration.families import FAMILIES, Family, every_mechanism
from hearsay.ops.experiments.calibration.tally import Measurement, Tally
from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option

LEAST = 0.93
_LEAST_OF = {"information": 0.90}
_BAND_RUNS = 4  # bands are compared with the spread of the quantiles, which takes more
_CHANCE = 1e-7  # what is less likely than this is put down to an interval that does not hold
_NOTE = (
    "over all sizes, data and epsilons; z^2: of all that have a standard error of their own; answered: questions whose "
    "interval says anything; "
)
_TOGETHER = "All cells at once: coverage of simultaneous 95% intervals in percent"
_TOGETHER_NOTE = "of all runs with so many reports, those in which the intervals of all cells (or keys) hold at once"


@click.command()
@out_option("calibration")
@click.option("--runs", type=click.IntRange(4, 10_000), default=10, show_default=True,
              help="Runs of every setting; slow mechanisms get fewer.")  # fmt: skip
@click.option("--only", type=click.Choice(every_mechanism()), multiple=True, help="Only these mechanisms.")
@click.option("--quick", is_flag=True, help="Few settings: a minute instead of a quarter of an hour and more.")
@click.option("--demo", type=click.IntRange(1, 100_000), metavar="SEEDS",
              help="Instead: the demo's own intervals over so many seeds.")  # fmt: skip
@seed_option(10)
def command(out: Path, runs: int, only: tuple[str, ...], quick: bool, demo: int | None, seed: int) -> None:
    """How often 95% intervals contain the truth if reports are few, data spiky, domains small or large.

    Exits with 1 if intervals of a kind contain the truth in significantly less than 93% of the answers: over all
    settings of a mechanism with the same number of reports, with the same number of reports and epsilon, of the same
    size, with the same kind of data, or in a single setting. For mutual information the limit is 90%. On smooth data a
    quantile's interval may be twice as wide as the distribution of the estimated quantiles.
    """
    if demo is not None:
        publish_all([demo_result(demo)], out)
        return
    publish_all(results(only or every_mechanism(), runs, quick, seed), out)


def results(mechanisms: tuple[str, ...], runs: int, quick: bool, seed: int) -> Iterator[Result]:
    """One table per family, made mechanism by mechanism, and one of the bands of quantiles."""
    together = Result("together", _TOGETHER, ["mechanism", "reports", "all cells", "runs"], [], _TOGETHER_NOTE)
    for family in FAMILIES:
        chosen = [name for name in family.mechanisms if name in mechanisms]
        if chosen:
            yield _table(family, chosen, runs, quick, seed, together)
    yield together
    if not quick:
        yield from bands(mechanisms, _BAND_RUNS * runs, seed)


def _table(family: Family, mechanisms: list[str], runs: int, quick: bool, seed: int, together: Result) -> Result:
    columns = ["mechanism", "reports", *family.kinds, "z^2", "answered"]
    result = Result(family.name, family.title, columns, [], _NOTE + family.caption)
    for mechanism in mechanisms:
        measured = [family.measure(case, family.runs(case, runs), seed) for case in family.cases(mechanism, quick)]
        for reports in REPORTS:
            of_these = [each for each in measured if each.case.reports == reports]
            if of_these:
                result.rows.append(_row(family, mechanism, reports, _together(family, of_these)))
                _judge_all_cells(together, mechanism, reports, of_these)
        _judge(result, family, mechanism, measured)
    return result


def _together(family: Family, measured: list[Measurement]) -> dict[str, Tally]:
    together = {kind: Tally() for kind in family.kinds}
    for each in measured:
        for kind, tally in each.tallies.items():
            together[kind].merge(tally)
    return together


def _row(family: Family, mechanism: str, reports: int, together: dict[str, Tally]) -> list[str | int]:
    shown = [f"{100 * tally.coverage:.1f}" if tally.answered else "" for tally in together.values()]
    of_all = Tally()
    for kind in family.kinds:
        if kind != family.unscored:
            of_all.merge(together[kind])
    z2 = f"{of_all.z2:.2f}" if of_all.scored else ""
    return [mechanism, reports, *shown, z2, f"{of_all.telling / max(of_all.asked, 1):.0%}"]


def _judge(result: Result, family: Family, mechanism: str, measured: list[Measurement]) -> None:
    """Every setting, and all that have something in common."""
    groups: dict[str, list[Measurement]] = {}
    for each in measured:
        case = each.case
        alone = f"{case.where}, {case.data}, {case.reports} reports, epsilon {case.epsilon:g}"
        reports = f"{case.reports} reports"
        for name in (reports, f"{reports}, epsilon {case.epsilon:g}", case.where, case.data, alone):
            groups.setdefault(name, []).append(each)
    for name, group in groups.items():
        for kind, tally in _together(family, group).items():
            if tally.answered:
                words = f"{mechanism}, {name}, {kind}: {tally.coverage:.1%} of {tally.runs} runs' answers hold"
                result.expect(_holds(kind, tally), words)


def _judge_all_cells(result: Result, mechanism: str, reports: int, measurements: list[Measurement]) -> None:
    """Intervals that are meant to hold together: for all cells of a run, and nowhere narrower than those of one."""
    tally, narrower = Tally(), sum(each.narrower for each in measurements)
    for each in measurements:
        tally.merge(each.together)
    if tally.answered:
        result.rows.append([mechanism, reports, f"{100 * tally.coverage:.1f}", tally.answered])
        words = (
            f"{mechanism}, {reports} reports, all cells together: {tally.coverage:.1%} of {tally.answered} runs hold"
        )
        result.expect(_holds("together", tally), words)
    result.expect(narrower == 0, f"{mechanism}, {reports} reports: {narrower} narrower than those of single cells")


def _holds(kind: str, tally: Tally) -> bool:
    """Whether so few of so many runs' answers could hold by chance if each held as often as it must.

    The answers of one run hold or miss together: they count as one.
    """
    from scipy import stats

    runs = min(tally.runs, tally.answered)
    return bool(stats.binom.cdf(round(tally.coverage * runs), runs, _LEAST_OF.get(kind, LEAST)) >= _CHANCE)
