"""`hearsay init`: a first survey file, from four answers at most."""

from pathlib import Path
from typing import Any

import click

from hearsay.collector.describe.describe import remarks_on
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.survey.toml import dump
from hearsay.errors import HearsayError, nearest
from hearsay.mechanisms import catalogue
from hearsay.ops.config import Settings
from hearsay.ops.errors import OperationError
from hearsay.ops.terminal.options import NumberRange, uses

MINIMUM_REPORTS = 100  # what a survey should have before it answers; a file that names none answers from the first
ENDS = ("number",)  # kinds whose size is two ends
ALONE = ("binary", "text")  # kinds that need no size
SIZED = ("attributes",)  # kinds whose names come with a number of values each: yes and no
LABELLED = {"categorical": "categories", "ordinal": "categories", "key-value": "keys", "attributes": "names"}


@click.command()
@click.argument("file", metavar="FILE.toml", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--name", help="The survey's name: a-z, 0-9 and -.")
@click.option("--kind", metavar="KIND", help="What a value is: categorical, ordinal, number, ...")
@click.option("--size", metavar="D", help="How many values there are; two ends LOW,HIGH of numbers.")
@click.option("--categories", metavar="A,B", help="Instead of --size: the values' names.")
@click.option("--epsilon", type=NumberRange(0, min_open=True), help="What a report may show of a value; 0.5 to 4.")
@uses("plugins")
def command(
    settings: Settings,
    file: Path,
    name: str | None,
    kind: str | None,
    size: str | None,
    categories: str | None,
    epsilon: float | None,
) -> None:
    """Write a commented survey file, asking for what is missing.

    The mechanism with the least predicted error is chosen and written down. The file is one that `hearsay validate` and
    `hearsay survey add` take; it is never overwritten.
    """
    if size is not None and categories is not None:
        raise click.UsageError("give --size or --categories, and not both")
    if file.exists():
        raise OperationError(f"{file} exists; choose another name, or remove it first")
    name = name or click.prompt("Name of the survey", default=_name(file))
    kind = _kind(kind or click.prompt(f"What is a value? ({', '.join(catalogue.DOMAINS)})", default="categorical"))
    if size is None and categories is None and kind not in ALONE:
        size, categories = _ask_size(kind)
    if epsilon is None:
        epsilon = click.prompt("Epsilon, what a report may show (0.5 to 4 are usual)", type=float, default=1.0)
    survey = parse(
        {
            "name": name,
            "mechanism": "auto",
            "epsilon": epsilon,
            "domain": {"kind": kind, **_domain(kind, size, categories)},
            "answers": {"minimum_reports": MINIMUM_REPORTS},
        }
    )
    file.write_text(survey_file(survey), encoding="utf-8")
    click.echo(f"{file} is written; see its promise with: hearsay survey show {file}")
    for remark in remarks_on(survey):
        click.echo(f"remark: {remark}", err=True)


def survey_file(survey: Survey) -> str:
    """The survey as a file for people: every choice with a word about it."""
    words = {
        "name": "a-z, 0-9 and -; a name is bound to one definition until `hearsay survey delete`",
        "mechanism": survey.reason or "how devices randomise; `hearsay plan` compares others",
        "epsilon": survey.mechanism.guarantee.words(),
        "[domain]": "what a value is; `hearsay schema` lists the keys of every kind",
        "[options]": "the mechanism's own",
        "[answers]": "",
        "minimum_reports": "no answer is given from fewer reports; a file without it answers from the first",
        "postprocess": "what is done to shares before they are shown: none, clip, norm-sub, simplex, ...",
    }
    lines = []
    for line in dump(survey.canonical()).splitlines():
        key = line.partition(" =")[0]
        lines += [f"# {words[key]}"] if words.get(key) else []
        lines.append(line)
    return "\n".join(["# A hearsay survey: check it with `hearsay validate`.", *lines, ""])


def _name(file: Path) -> str:
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in file.stem.lower())
    return letters.strip("-") or "survey"


def _kind(kind: str) -> str:
    if kind not in catalogue.DOMAINS:
        raise OperationError(f"--kind must be one of {', '.join(nearest(kind, catalogue.DOMAINS))}, got {kind!r}")
    return kind


def _ask_size(kind: str) -> tuple[str | None, str | None]:
    if kind in ENDS:
        return click.prompt("Lowest and highest value", default="0,100"), None
    labelled = kind in LABELLED
    question = "How many values, or their names separated by commas?" if labelled else "How many values?"
    given = click.prompt(question)
    return (None, given) if labelled and not given.strip().isdecimal() else (given, None)


def _domain(kind: str, size: str | None, categories: str | None) -> dict[str, Any]:
    """The keys of the domain's table that say which values there are."""
    if categories is not None:
        if kind not in LABELLED:
            raise OperationError(f"--categories goes with {', '.join(LABELLED)}, got {kind}")
        labels = [label.strip() for label in categories.split(",")]
        more = {"sizes": [2] * len(labels)} if kind in SIZED else {}
        return {LABELLED[kind]: labels, **more}
    if size is None:
        return {}
    parts = size.split(",")
    try:
        if kind in ENDS:
            low, high = map(float, parts)
            return {"low": low, "high": high}
        table: dict[str, Any] = catalogue.DOMAINS[kind].load().of_size([int(part) for part in parts])
    except HearsayError:
        raise
    except ValueError:
        wanted = "two numbers LOW,HIGH" if kind in ENDS else "a whole number, or one for each axis separated by commas"
        raise OperationError(f"--size must be {wanted}, got {size!r}") from None
    return table
