"""`hearsay init`: a first survey file, from four answers at most."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hearsay.collector.describe.describe import remarks_on
from hearsay.collector.describe.plan_file import MINIMUM_REPORTS
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.survey.toml import dump
from hearsay.errors import HearsayError, nearest
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.domains.cells import FIRST_LAST
from hearsay.ops.config import Settings
from hearsay.ops.errors import OperationError
from hearsay.ops.terminal.options import NumberRange, uses

TWO_ENDS = ("number",)  # kinds whose size is the lowest and the highest value
KEYS_WITH_ENDS = ("key-value",)  # kinds that need keys, and the lowest and the highest value of a key
NO_SIZE = ("binary",)  # kinds that are complete without a size
WITH_ATTRIBUTES = ("attributes",)  # kinds whose labels name attributes; one without listed values has two: yes and no
WHOLE_NUMBERS = ("ordinal",)  # kinds whose values are labels or whole numbers: from 0, or between two ends
T = TypeVar("T")
_DECIMALS = re.compile(r"(?=.*\.)[-\d.\s,]+")  # numbers that are ends and no labels
_SIZES = re.compile(r"\s*\d+(\s*,\s*\d+)*\s*")  # "2,3": one size per attribute
# The key of the domain's table that the labels stand under, by kind.
LABELLED = {
    "categorical": "categories",
    "ordinal": "categories",
    "binary": "categories",
    "key-value": "keys",
    "attributes": "names",
}
QUESTIONS = {
    "attributes": "Attributes with their values (city=Paris|Rome, smokes=yes|no)",
    "grid": "How many cells along each axis (8,4)",
    "text": "How many bytes the longest text has",
}


@click.command()
@click.argument("file", metavar="FILE.toml", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--name", help="The survey's name: a-z, 0-9 and -.")
@click.option("--kind", metavar="KIND", help="What a value is: categorical, ordinal, number, ...")
@click.option(
    "--size",
    metavar="D",
    help="How many values there are; or their two ends LOW,HIGH; or LOW,HIGH,BINS. Of texts the bytes of the longest.",
)
@click.option(
    "--categories",
    metavar="A,B",
    help="Instead of --size: the values' names; one with a comma in double quotes. Of attributes: city=Paris|Rome,... "
    "Of key-value data the keys, or how many; --size is then the lowest and the highest value of a key.",
)
@click.option(
    "--epsilon", type=NumberRange(0, min_open=True), help="What a report may reveal of a value; usually 0.5 to 4."
)
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

    Where there is no terminal to ask, defaults are taken. The mechanism with the least predicted error is chosen and
    written down. The file is one that `hearsay validate` and `hearsay survey add` take; it is never overwritten.
    """
    if size is not None and categories is not None and kind not in (None, *KEYS_WITH_ENDS):
        raise click.UsageError("give --size or --categories, and not both")
    if file.exists():
        raise OperationError(f"{file} exists; choose another name, or remove it first")
    name = name or _prompt("--name", "Name of the survey", _asked(_survey_name), _name(file))
    if kind is None:
        question = f"What is a value? ({', '.join(catalogue.DOMAINS)})"
        kind = _prompt("--kind", question, _asked(_kind), "categorical")
    kind = _kind(kind)
    if kind in KEYS_WITH_ENDS:
        domain = _keys_with_ends(size, categories)
    elif size is not None and categories is not None:
        raise click.UsageError("give --size or --categories, and not both")
    else:
        domain = _domain(kind, size, categories)
        if not domain and kind not in NO_SIZE:
            domain = _ask_domain(kind)
    if epsilon is None:
        question = "Epsilon, what a report may show (0.5 to 4 are usual)"
        epsilon = _prompt("--epsilon", question, NumberRange(0, min_open=True), "1.0")
    survey = parse(
        {
            "name": name,
            "mechanism": "auto",
            "epsilon": epsilon,
            "domain": {"kind": kind, **domain},
            "answers": {"minimum_reports": MINIMUM_REPORTS},
        }
    )
    file.write_text(survey_file(survey), encoding="utf-8")
    click.echo(f"{file} is written. Its promise: hearsay survey show {file}")
    click.echo(f"try it on a file of values: hearsay simulate {file} --values people.csv --out {name}")
    click.echo(f"collect with it: hearsay survey add {file}")
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
        "low": "the lowest value that a device may report; --clamp moves lower ones there, else they are refused",
        "high": "the highest value",
        "minimum_reports": "no answer is given from fewer reports; a file without it answers from the first",
        "postprocess": "what is done to shares before they are shown: none, clip, norm-sub, simplex, ...",
    }
    lines = []
    for line in dump(survey.canonical()).splitlines():
        key = line.partition(" =")[0]
        comment = words.pop(key, "")  # only where a key comes first: attributes have a `name` too
        lines += [f"# {comment}"] if comment else []
        lines.append(line)
    return "\n".join(["# A hearsay survey: check it with `hearsay validate`.", *lines, ""])


def _name(file: Path) -> str:
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in file.stem.lower())
    return letters.strip("-") or "survey"


def _survey_name(name: str) -> str:
    """The name, checked as that of any survey."""
    return parse({"name": name, "mechanism": "binary", "epsilon": 1.0, "domain": {"kind": "binary"}}).name


def _kind(kind: str) -> str:
    if kind not in catalogue.DOMAINS:
        meant = nearest(kind, catalogue.DOMAINS, cutoff=0.6)
        hint = f"; the nearest: {meant[0]}" if meant else ""
        allowed = f"one of {', '.join(catalogue.DOMAINS)}"
        raise OperationError(what="--kind", expected=allowed, got=repr(kind), ending=hint)
    return kind


def _labels(text: str) -> list[str]:
    """Names between commas, as a row of a CSV file has them: one with a comma in it stands in double quotes.

    >>> _labels('New York, "Washington, D.C."')
    ['New York', 'Washington, D.C.']
    """
    return [_unquoted(label) for label in _split(text, ",")]


def _split(text: str, separator: str) -> list[str]:
    """The parts between separators that do not stand in double quotes."""
    parts, is_quoted = [""], False
    for letter in text:
        is_quoted ^= letter == '"'
        if letter == separator and not is_quoted:
            parts.append("")
        else:
            parts[-1] += letter
    if is_quoted:
        raise OperationError(what="names", expected="in pairs of double quotes or without", got=repr(text))
    return parts


def _unquoted(part: str) -> str:
    """A name as it is meant; in double quotes a doubled one is one.

    >>> _unquoted(' "a ""b"", c"')
    'a "b", c'
    """
    part = part.strip()
    is_quoted = len(part) > 1 and part[0] == part[-1] == '"'
    return part[1:-1].replace('""', '"').strip() if is_quoted else part


def _attribute(text: str) -> dict[str, Any]:
    """An attribute with its values; without them it has two.

    >>> _attribute('city=Paris|"Washington, D.C."')
    {'name': 'city', 'categories': ['Paris', 'Washington, D.C.']}
    """
    name, _, values = text.partition("=")
    listed = [value for value in map(_unquoted, _split(values, "|")) if value]
    return {"name": name.strip(), **({"categories": listed} if listed else {"size": 2})}


def _prompt(flag: str, question: str, read: Callable[[str], T], default: str | None = None) -> T:
    """The answer; where nobody can answer, the default, or an error that names the flag to give instead."""
    try:
        answer: T = click.prompt(question, default=default, value_proc=read)
    except click.Abort as abort:
        if sys.stdin.isatty() or not isinstance(abort.__context__, EOFError):
            raise
        click.echo()
        if default is None:
            raise click.UsageError(f"give {flag}: there is no terminal to ask") from None
        return read(default)
    return answer


def _asked(read: Callable[[str], T]) -> Callable[[str], T]:
    """`read` for a prompt: where `read` raises an error, click prints it and asks again."""

    def again(given: str) -> T:
        try:
            return read(given)
        except HearsayError as error:
            raise click.UsageError(str(error).removeprefix("--")) from None

    return again


def _ask_domain(kind: str) -> dict[str, Any]:
    """Ask for the values until the answer is valid."""
    labelled = kind in LABELLED

    def read(given: str) -> dict[str, Any]:
        if kind in WHOLE_NUMBERS and (FIRST_LAST.fullmatch(given) or _DECIMALS.fullmatch(given)):
            return _domain(kind, given, None)
        is_size = _SIZES.fullmatch(given) if kind in WITH_ATTRIBUTES else given.strip().isdecimal()
        table = _domain(kind, None, given) if labelled and not is_size else _domain(kind, given, None)
        catalogue.DOMAINS[kind].load().parse({"kind": kind, **table})  # refuses a single label, and labels twice
        return table

    general = "How many values, or their names separated by commas" if labelled else "How many values"
    question = QUESTIONS.get(kind, general)
    question += (
        ", or the first and last number (18-99), or LOW,HIGH,BINS (0.0,24.5,98)" if kind in WHOLE_NUMBERS else ""
    )
    if kind in TWO_ENDS:
        return _prompt("--size", "Lowest and highest value", _asked(read), "0,100")
    return _prompt("--size or --categories" if labelled else "--size", question, _asked(read))


def _keys_with_ends(size: str | None, categories: str | None) -> dict[str, Any]:
    """Keys, and the ends of their values; what is missing is asked for in one question."""
    if size is not None and size.strip().isdecimal() and categories is None:
        size, categories = None, size  # the number of keys
    if categories is None and size is None:
        question = "Keys, or how many; then the lowest and highest value of a key (Dune,Alien: 1,5)"
        return _prompt("--categories and --size", question, _asked(_keys_and_ends))
    question = "How many keys, or their names separated by commas"
    keys = _prompt("--categories", question, _asked(_keys)) if categories is None else _keys(categories)
    question = "Lowest and highest value of a key (1,5 for one to five stars)"
    ends = _prompt("--size", question, _asked(_ends), "-1,1") if size is None else _ends(size)
    return {**keys, **ends}


def _keys_and_ends(text: str) -> dict[str, Any]:
    """Keys and the ends of their values, with a colon between them.

    >>> _keys_and_ends("Dune, Alien: 1,5")
    {'keys': ['Dune', 'Alien'], 'low': 1.0, 'high': 5.0}
    """
    keys, colon, ends = text.rpartition(":")
    if not colon:
        raise OperationError(what="keys", expected="followed by a colon and two numbers LOW,HIGH", got=repr(text[:40]))
    return {**_keys(keys), **_ends(ends)}


def _keys(text: str) -> dict[str, Any]:
    return _domain("key-value", text, None) if text.strip().isdecimal() else _domain("key-value", None, text)


def _ends(text: str) -> dict[str, Any]:
    number = catalogue.DOMAINS["number"].load()
    ends: dict[str, Any] = number.sized(text)
    number.parse(ends)  # refuses ends that are reversed or not finite
    return ends


def _domain(kind: str, size: str | None, categories: str | None) -> dict[str, Any]:
    """The keys of the domain's table that say which values there are."""
    if categories is not None:
        if kind not in LABELLED:
            raise OperationError(f"--categories goes with {', '.join(LABELLED)}, got {kind}")
        labels = _labels(categories)
        if kind in WITH_ATTRIBUTES and any("=" in label for label in labels):
            without = [label for label in labels if "=" not in label]
            if without:
                raise OperationError(
                    what="attribute",
                    expected="NAME=VALUE|VALUE, as the others are",
                    got=repr(without[0]),
                    ending="; a value with a comma stands in double quotes",
                )
            return {"attributes": [_attribute(label) for label in labels]}
        more = {"sizes": [2] * len(labels)} if kind in WITH_ATTRIBUTES else {}
        return {LABELLED[kind]: labels, **more}
    if size is None:
        return {}
    table: dict[str, Any] = catalogue.DOMAINS[kind].load().sized(size)
    return table
