"""`hearsay audit`: attack a mechanism and report whether its guarantee holds."""

from pathlib import Path

import click

from hearsay.collector.survey.survey import load
from hearsay.mechanisms import Mechanism, build, catalogue
from hearsay.mechanisms.errors import one_of
from hearsay.mechanisms.exact.randomness import secure, seeded
from hearsay.ops.audit.audit import CONFIDENCE, DRAWS, MAXIMUM_CELLS, Audit, audit, smaller
from hearsay.ops.audit.timing import timing
from hearsay.ops.config import Settings
from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.terminal.options import NumberRange, json_option, seed_option, uses
from hearsay.ops.terminal.present import notes, print_json, print_table

COLUMNS = ("mechanism", "values", "claimed", "exact", "audited", "fit", "microseconds", "holds")


@click.command()
@click.argument("subject", metavar="MECHANISM|SURVEY.toml", required=False)
@click.option("--draws", type=click.IntRange(1_000, 10_000_000), default=DRAWS, show_default=True,
              help="Reports of each value.")  # fmt: skip
@click.option("--confidence", type=NumberRange(0.5, 1, max_open=True), default=CONFIDENCE, show_default=True,
              help="How sure all bounds together are.")  # fmt: skip
@click.option("--all-pairs", is_flag=True, help="Show every pair of values that was attacked, not only the worst.")
@click.option("--timing", "timed", is_flag=True,
              help="Instead: how long reports take by value, of a mechanism or of all.")  # fmt: skip
@seed_option
@json_option
@uses("plugins")
def command(
    settings: Settings,
    subject: str | None,
    draws: int,
    confidence: float,
    all_pairs: bool,
    timed: bool,
    seed: int | None,
    as_json: bool,
) -> None:
    """Attack a mechanism's reports and compare with the claimed epsilon.

    MECHANISM audits each example of that mechanism, SURVEY.toml that survey (above 1024 cells, on the first cells of
    every axis). Exits with 1 if the audit proves a greater loss than claimed.

    Where a report has many possible contents, each report is estimated by itself, which takes long on large domains:
    under hierarchical on 360 cells a minute with --draws 1000, with more in proportion. MECHANISM is quick.
    """
    if timed:
        names = catalogue.shipped() if subject is None else [subject]
        _print_times([named for name in names for named in _subjects(name)], as_json)
        return
    if subject is None:
        raise click.UsageError("Missing argument 'MECHANISM|SURVEY.toml'.")
    random = secure() if seed is None else seeded(seed)
    audits = []
    for name, mechanism in _subjects(subject):
        notes().print(f"auditing {name}: {draws:,} reports of each of some values", markup=False)
        audits.append((name, audit(mechanism, draws, random, confidence)))
    if as_json:
        print_json([result.table() for _, result in audits])
    else:
        _print(audits, all_pairs)
    broken = [f"{name}: {_words(result)}" for name, result in audits if not result.holds]
    if broken:
        raise CheckFailed("; ".join(broken))


def _print_times(subjects: list[tuple[str, Mechanism]], as_json: bool) -> None:
    """The table of times: for every subject the two values whose times differ most."""
    timings = [(name, timing(mechanism)) for name, mechanism in subjects]
    columns = ("mechanism", "values", "microseconds", "difference", "standard errors", "meaning")
    rows = [
        [name, f"{each.values[0]} and {each.values[1]}", each.microseconds, each.share, each.errors, each.words]
        for name, each in timings
        if each is not None
    ]
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table("times", columns, rows, "processor time of a report, and the two values that differ most")


def _subjects(subject: str) -> list[tuple[str, Mechanism]]:
    if subject in catalogue.MECHANISMS:
        examples = [build({"mechanism": subject, **example}) for example in catalogue.examples(subject)]
        return [(f"{subject} ({number})", example) for number, example in enumerate(examples, start=1)]
    if not subject.endswith(".toml") and not Path(subject).exists():
        near = one_of(catalogue.names(), subject)
        raise OperationError(what="MECHANISM|SURVEY.toml", expected=f"a file or one of {near}", got=repr(subject))
    survey = load(subject)
    if survey.mechanism.domain.size <= MAXIMUM_CELLS:
        return [(survey.name, survey.mechanism)]
    reduced = smaller(survey.mechanism)
    return [(f"{survey.name} (on {reduced.domain.size} of its {survey.mechanism.domain.size} cells)", reduced)]


def _print(audits: list[tuple[str, Audit]], all_pairs: bool) -> None:
    rows = [
        [
            name,
            f"{pair.one} against {pair.other}",
            pair.claimed,
            pair.exact,
            pair.audited,
            None if result.fit is None else result.fit.chance,
            _times(result),
            pair.holds and result.fits,
        ]
        for name, result in audits
        for pair in (result.pairs if all_pairs else [result.worst])
    ]
    first = audits[0][1]
    caption = (
        f"{first.draws:,} reports per value; audited is a lower bound on ln of the likelihood ratio that holds with "
        f"confidence {first.confidence:g}; it must not exceed what is claimed. fit is the p-value of a test "
        f"that reports follow the channel; microseconds are the medians of single reports, by value"
    )
    print_table("audit", COLUMNS, rows, caption)


def _times(result: Audit) -> str:
    times = result.microseconds.values()
    return f"{min(times):.0f}-{max(times):.0f}"


def _words(result: Audit) -> str:
    pair = result.worst
    if pair.holds and result.fit is not None:
        return (
            f"{result.fit.way} of value {result.fit.value} must follow the channel, but the chance of what they show "
            f"is {result.fit.chance:.2g}"
        )
    exact = "" if pair.exact is None else f", the channel itself {pair.exact:.4g}"
    return (
        f"values {pair.one} and {pair.other} must not leak more than {pair.claimed:.4g}, but the reports prove "
        f"at least {pair.audited:.4g}{exact}"
    )
