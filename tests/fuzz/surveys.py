"""Survey files, as people write them and as the registry keeps them: accepted, or refused in one line.

What is accepted is written out again, read again, and has the same tag.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey import toml
from hearsay.collector.survey.registration import Registration
from hearsay.collector.survey.survey import Survey, load, parse
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms import catalogue
from tests.fuzz.octets import damaged, damaged_text, put
from tests.fuzz.tally import Tally, one_line
from tests.fuzz.trees import damaged_tree
from tests.mechanisms.shared import ALL_CASES

ROOT = Path(__file__).parents[2]
_SELDOM = 0.05  # how often a survey is taken whose mechanism is among the slow ones
SLOW = {
    "mean",
    "matrix",
    "laplace-histogram",
    "auto",
}  # solvers that take up to some tenths of a second


@cache
def seeds() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Survey tables of every mechanism and of the shipped files, the slow ones apart; as written and canonical."""
    given = [{"name": f"s{number}", **case.table} for number, case in enumerate(ALL_CASES)]
    shipped = [load(path).canonical() for path in sorted((ROOT / "hearsay" / "ops" / "surveys").glob("*.toml"))]
    extras: list[dict[str, Any]] = [
        {"window": {"every": "1h", "retain": "7d"}},
        {"answers": {"minimum_reports": 10, "postprocess": "simplex"}},
        {"rounds": {"reports": 100, "within": "1h"}},
        {"options": {}},
    ]
    given += [{**table, **extras[number % len(extras)]} for number, table in enumerate(given)]
    auto = [{**table, "mechanism": "auto", "options": {}} for table in given[:: len(given) // 8]]
    every = [*given, *(parse(table).canonical() for table in given[: len(ALL_CASES)]), *shipped, *auto]
    slow = [table for table in every if table["mechanism"] in SLOW]
    return [table for table in every if table["mechanism"] not in SLOW], slow


def run(tally: Tally, seed: int, cases: int, folder: Path) -> None:
    """Tables, files and records in turn."""
    random = Random(seed)
    quick, slow = seeds()
    texts = [toml.dump(table) for table in quick]
    file = folder / "fuzzed.toml"
    for number in range(cases):
        good = random.choice(slow if random.random() < _SELDOM else quick)
        match number % 4:
            case 0 | 1:
                table = damaged_tree(random, good, quick)
                tally.run(table, _parsing(table, number % 16 == 0), lambda table=table: why_slow(table))
            case 2:
                text = _file(random, good, texts)
                put(file, text)
                tally.run(text, _reading(lambda: load(file)), lambda text=text: _why_slow_text(text))
            case _:
                record = json.dumps({"survey": good, "shards": 1}).encode()
                record = damaged(random, record, [record])
                tally.run(
                    record,
                    _reading(lambda record=record: Registration.parse(record).survey),
                    lambda record=record: _why_slow_text(record),
                )


def _file(random: Random, good: dict[str, Any], texts: list[str]) -> bytes:
    """A TOML file: of a damaged table, or itself damaged."""
    if random.random() < 0.5:
        try:
            return toml.dump(damaged_tree(random, good)).encode(errors="surrogatepass")
        except (RecursionError, AttributeError):  # too deep to write; the root became a list
            pass
    text = damaged_text(random, toml.dump(good), texts).encode(errors="surrogatepass")
    return damaged(random, text) if random.random() < 0.1 else text


def _parsing(table: Any, again: bool) -> Callable[[], str]:
    def execute() -> str:
        if not isinstance(table, dict):
            return "refused"
        try:
            survey = parse(table)
        except SurveyError as refusal:
            return one_line(refusal)
        return _accepted(survey, again)

    return execute


def _reading(read: Callable[[], Survey]) -> Callable[[], str]:
    def execute() -> str:
        try:
            return _accepted(read(), False)
        except SurveyError as refusal:
            return one_line(refusal)

    return execute


def _accepted(survey: Survey, again: bool) -> str:
    codec(survey.mechanism)
    assert survey.mechanism.guarantee.words()
    if again:
        assert parse(json.loads(json.dumps(survey.canonical()))).tag == survey.tag
    return "accepted"


def why_slow(table: Any) -> str | None:
    """The reason why a survey may take long, which its mechanism also gives to people who wait for it."""
    return _reason(str(table.get("mechanism"))) if isinstance(table, dict) else None


def _reason(mechanism: str) -> str | None:
    if mechanism == "auto":
        return "every candidate is planned"
    found = catalogue.classes(mechanism) if mechanism in catalogue.MECHANISMS else ()
    return next((each.LONG_CHECK for each in found if each.LONG_CHECK), None)


def _why_slow_text(text: bytes) -> str | None:
    named = (name for name in (*catalogue.names(), "auto") if f'"{name}"'.encode() in text)
    return next((why for name in named if (why := _reason(name))), None)
