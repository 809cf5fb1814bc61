"""`hearsay plan`: which mechanism, which epsilon, how many users."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hearsay.collector.describe.plan_file import DEFAULT_NAME, survey_text
from hearsay.collector.describe.planned import Plan, PlanRow, asked_of, described, domain_from
from hearsay.collector.describe.risk import lifetime_words
from hearsay.collector.describe.several import plan_several
from hearsay.collector.describe.written import half_width
from hearsay.collector.survey.survey import Survey, load
from hearsay.collector.survey.windows import seconds
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.planning.plan import Target
from hearsay.ops.config import Settings
from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.terminal.options import CountRange, NumberRange, json_option, uses
from hearsay.ops.terminal.present import notes, print_json, print_table, say
from hearsay.ops.terminal.values_file import ValuesFile, values_option

_COLUMNS = (
    "mechanism",
    "users",
    "epsilon",
    "within",
    "within_90",
    "worst",
    "bytes",
    "state_bytes",
    "device_us",
    "detects",
)

_COLUMNS_IN_WORDS = (
    "within: half the width of the 95% interval, of half of all surveys at most so much; within 90: of nine in ten; "
    "worst: of all shapes that are tried; where more users have the very value that is asked for, it may be wider, as "
    "--values tells; detects: the least difference between two halves of the users that is found four times in five"
)


@click.command()
@click.argument("survey_files", metavar="[SURVEY.toml]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--kind", help="Instead of a file: the kind of domain.")
@click.option("--size", metavar="D", multiple=True,
              help="With --kind: how many values there are, of several axes or attributes once for each; or the two "
              "ends FIRST,LAST.")  # fmt: skip
@click.option("--low", type=NumberRange(), help="With --kind: the domain's lower end.")
@click.option("--high", type=NumberRange(), help="With --kind: the domain's upper end.")
@click.option("--bins", type=click.IntRange(1), help="With --kind: how many bins a continuous axis has.")
@click.option("--order", type=click.IntRange(1), help="With --kind attributes: the most attributes of one table.")
@click.option("--domain", "more", metavar="KEY=VALUE", multiple=True,
              help="With --kind: another key of the [domain] table, such as ordered=true.")  # fmt: skip
@click.option("--query", metavar="QUERY", help="What will be asked, as in `hearsay query`, in quotes.")
@click.option("--users", type=CountRange(), help="How many users report.")
@click.option("--epsilon", type=NumberRange(), help="How much a report may reveal of a user's value.")
@click.option("--within", metavar="WIDTH",
              help="Half the width of the 95% interval, in the answer's own unit; of a share also as 2%.")  # fmt: skip
@click.option("--shape", metavar="SHAPE", help="The distribution of users' values, as in `produce --distribution`.  "
              "[default: the worst]")  # fmt: skip
@values_option("Values of real people instead of a shape.")
@click.option("--mechanism", "mechanisms", metavar="ID", multiple=True, help="Only this mechanism; may be repeated.")
@click.option(
    "--every", "period", metavar="1h", help="With --for: how often a device reports; says what it spends in all."
)
@click.option("--for", "lifetime", metavar="30d", help="With --every: for how long.")
@click.option("--budget", type=NumberRange(0, min_open=True),
              help="With several survey files: what a user may spend on all of them together.")  # fmt: skip
@click.option("--write", "target_file", metavar="FILE.toml", type=click.Path(path_type=Path),
              help="Write the recommended survey as a commented file, which must not exist yet.")  # fmt: skip
@json_option
@uses("plugins")
def command(
    settings: Settings,
    survey_files: tuple[Path, ...],
    kind: str | None,
    size: tuple[str, ...],
    low: float | None,
    high: float | None,
    bins: int | None,
    order: int | None,
    more: tuple[str, ...],
    query: str | None,
    users: int | None,
    epsilon: float | None,
    within: str | None,
    shape: str | None,
    values_file: ValuesFile | None,
    mechanisms: tuple[str, ...],
    period: str | None,
    lifetime: str | None,
    budget: float | None,
    target_file: Path | None,
    as_json: bool,
) -> None:
    """Choose mechanism, epsilon and number of users before any report exists.

    Two of --users, --epsilon and --within give the third, a row for every mechanism that can answer the query with
    the same kind of promise, best first. `within` is the median half width of the 95% interval in the answer's own
    unit (without a shape, a quantile's is in ranks); nine surveys in ten are narrower than `within_90`; `worst` is
    the largest over the shapes that are tried; `detects` is the least difference between two halves of the users
    that four of five tries find. Several files with --users and --budget: each survey's width where every user's
    budget is split among all surveys, and where the users are split among them. Exit code 1: no mechanism reaches
    what was asked for.
    """
    rest = [str(file) for file in survey_files if file.suffix != ".toml" and not file.exists()]
    if query is not None and rest:
        raise click.UsageError(f'quote the question: --query "{" ".join([query, *rest])}"')
    if budget is not None or len(survey_files) > 1:
        alone = {"--epsilon": epsilon, "--within": within, "--shape": shape, "--values": values_file, "--kind": kind,
                 "--mechanism": mechanisms or None, "--every": period, "--write": target_file}  # fmt: skip
        _refuse_with_several([flag for flag, value in alone.items() if value is not None])
        _several(survey_files, users, budget, query, as_json)
        return
    if (period is None) != (lifetime is None):
        raise click.UsageError("--every and --for go together")
    reports = None if period is None or lifetime is None else _reports(period, lifetime)
    if target_file is not None and target_file.exists():
        raise OperationError(f"{target_file} exists; choose another name, or remove it first")
    if query is None:
        raise click.UsageError('say what will be asked: --query "range 0 99" of numbers, "point LABEL" of labels')
    flags = {"low": low, "high": high, "bins": bins, "order": order}
    keys = {name: value for name, value in flags.items() if value is not None} | dict(map(_pair, more))
    source = _source(survey_files, kind, size, keys)
    people = None if values_file is None else values_file.read(_domain(source))
    asked = asked_of(source, query, shape, people, mechanisms)
    wanted = None if within is None else half_width(within, asked.is_share or asked.in_ranks)
    made = described(asked, Target(users, epsilon, wanted))
    best = made.recommended
    if as_json:
        print_json([row.table() for row in made])
    else:
        _print(made)
        if reports is not None and best is not None and best.epsilon is not None:
            say(lifetime_words(best.epsilon, reports, str(period), str(lifetime)))
    if target_file is not None and best is not None:
        text = survey_text(source, best, made.query, _name(target_file))
        with target_file.open("x", encoding="utf-8") as written:
            written.write(text)
        if not as_json:
            say(f"survey in {target_file}; register it: hearsay survey add {target_file}")
    if not made.reached:
        is_worst = shape is None and values_file is None and not asked.in_ranks
        hint = (
            f"; planned for the worst shape, {made[0].shape}: --shape or --values plan for another" if is_worst else ""
        )
        raise CheckFailed(f"no mechanism reaches what was asked for; {made[0].mechanism}: {made[0].reason}{hint}")


def _several(
    files: tuple[Path, ...], users: int | None, budget: float | None, query: str | None, as_json: bool
) -> None:
    if budget is None or users is None or len(files) < 2:
        raise click.UsageError("several survey files go with --users and --budget")
    rows = plan_several([load(file) for file in files], users, budget, query)
    if as_json:
        print_json([row.table() for row in rows])
        return
    columns = ("survey", "query", "mechanism", "alone", "split_budget", "split_users")
    print_table(
        f"half widths with {users:,} users and epsilon {budget:g} for {len(files)} surveys together",
        [column.replace("_", " ") for column in columns],
        [[getattr(row, name) for name in columns] for row in rows],
    )
    say(f"recommended: {rows[0].recommended}; {rows[0].reason}")


def _refuse_with_several(flags: list[str]) -> None:
    if flags:
        raise click.UsageError(f"{flags[0]} goes with one survey; several files take --users, --budget and --query")


def _reports(period: str, lifetime: str) -> int:
    """How many reports a device makes in its lifetime."""
    return max(1, _seconds(lifetime, "--for") // _seconds(period, "--every"))


def _seconds(text: str, flag: str) -> int:
    try:
        return seconds(text)
    except ValueError as error:
        raise click.UsageError(f"{flag} {error}") from None


def _name(path: Path) -> str:
    """A survey's name from a file's: what is no letter or digit becomes a hyphen."""
    return re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-") or DEFAULT_NAME


def _source(
    files: tuple[Path, ...], kind: str | None, size: tuple[str, ...], keys: Mapping[str, Any]
) -> Survey | Domain:
    if (kind is None) == (not files):
        raise click.UsageError("give a survey file or --kind, and not both")
    if kind is None:
        if size or keys:
            raise click.UsageError("--size and the other keys of a domain go with --kind")
        return load(files[0])
    return domain_from(kind, ",".join(size), keys)


def _pair(text: str) -> tuple[str, Any]:
    """KEY=VALUE; the value as JSON where it is some, else a text."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"--domain must be KEY=VALUE, got {text!r}")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _domain(source: Survey | Domain) -> Domain:
    return source.mechanism.domain if isinstance(source, Survey) else source


def _print(made: Plan) -> None:
    print_table(
        f"plan for {made.query}",
        [column.replace("_", " ") for column in _COLUMNS],  # which may be broken where the terminal is narrow
        [[_marked(row), *(getattr(row, name) for name in _COLUMNS[1:])] for row in made],
        caption="* recommended",
    )
    say(_COLUMNS_IN_WORDS)
    for line in made.words:
        say(line)
    for row in made:
        if row.reason:
            say(f"{row.mechanism}: {row.reason.removeprefix(f'{row.mechanism}: ')}")
    if made.left_out:
        notes().print(f"only where named by --mechanism: {', '.join(made.left_out)}", markup=False)


def _marked(row: PlanRow) -> str:
    return f"{row.mechanism} *" if row.recommended else row.mechanism
