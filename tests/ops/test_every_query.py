"""JSON, table and HTTP say the same, for the worked example of every kind of query."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from hearsay import Survey, simulate
from hearsay.checks import Example, agree
from hearsay.collector.store.connect import Client
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import answer, parse_text
from hearsay.ops import cli
from hearsay.ops.terminal.present import show
from hearsay.workers.context import Context, set_current
from tests.estimator.running import estimator
from tests.mechanisms.test_every_query import EXAMPLES
from tests.pipeline import fold_all, state_of

TIMES = 100
QUESTIONS = [example for _, example in EXAMPLES]


def table_rows(text: str) -> list[dict[str, str]]:
    """The rows of a printed table, by the names of their columns: what stands below the line, cut where it cuts."""
    lines = text.splitlines()
    ruled = next(number for number, line in enumerate(lines) if line.startswith("──"))
    header = re.split(r" {2,}", lines[ruled - 1].strip())
    rows = [re.split(r" {2,}", line.strip()) for line in lines[ruled + 1 : len(lines)]]
    return [dict(zip(header, row, strict=True)) for row in rows if len(row) == len(header)]


def says(text: str, number: float | None) -> bool:
    """Whether a printed number is this one, to its last digit."""
    if number is None:
        return text == "-"
    digits = text.replace(",", "")
    step = 10.0 ** -len(digits.partition("e")[0].partition(".")[2]) if "e" not in digits else abs(number) / 1000
    return abs(float(digits) - number) <= 0.51 * step


ONE = re.compile(r"(?P<query>.+?): (?:.+ )?(?P<value>\S+) \((?P<low>\S+) to (?P<high>\S+)\), 95%")


def shown(answers: list[Answer], text: str) -> None:
    """That what is printed says what the answers say, to the digits that people get."""
    if len(answers) == 1:
        (line, _, *_) = text.splitlines()
        row = re.match(ONE, line)
        if row is None:
            assert answers[0].low is None
            return
        rows = [row.groupdict()]
        assert row["query"] == answers[0].query
    else:
        rows = table_rows(text)
    assert len(rows) == len(answers)
    for each, row in zip(answers, rows, strict=True):
        for name in ("value", "low", "high"):
            assert says(row.get(name, "-"), getattr(each, name)), (name, row)
        for name, part in (each.cell or {}).items() if len(answers) > 1 else ():
            assert row[name] == show(part)


@pytest.mark.parametrize("example", QUESTIONS, ids=lambda example: example.question)
def test_the_command_line_shows_the_answers(
    example: Example, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    survey = {"name": "example", **example.survey}
    snapshot = simulate(survey, list(example.values) * TIMES, seed=3, out=tmp_path / "s")
    answers = snapshot.ask(example.question)

    def ask(*more: str) -> str:
        words = shlex.split(example.question)
        assert cli.run(["query", "--snapshot", str(tmp_path / "s"), *words, *more]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    agree(answers, json.loads(ask("--json")))
    shown(answers, ask())


def collected(registry: Registry, name: str, example: Example) -> Registered:
    """The example's devices, each many times, through the stream and the fold."""
    registered = registry.add(Survey.of({"name": name, **example.survey}))
    mechanism, store = registered.survey.mechanism, registered.shards[0]
    domain = mechanism.domain
    values: Any = domain.join([domain.one(value) for value in list(example.values) * TIMES])
    frame = codec(mechanism).encode_frame(mechanism.perturb(domain.check(values), seeded(4)))
    assert store.publish("writer", 1, [(b"f", frame)], len(values)).status == "ok"
    fold_all(store)
    return registered


def test_http_shows_the_answers(client: Client, prefix: str, tmp_path: Path) -> None:
    set_current(Context(client, prefix))
    registry = Registry(client, prefix)
    examples = {f"example-{number}": example for number, example in enumerate(QUESTIONS)}
    surveys = {
        name: collected(registry, name, example)
        for name, example in examples.items()
        if Survey.of({"name": name, **example.survey}).mechanism.rounds == 1
    }
    assert len(surveys) > 15
    with estimator(registry, tmp_path) as http:
        for name, registered in surveys.items():
            estimate = registered.survey.mechanism.estimate(state_of(registered.shards[0]))
            question = examples[name].question
            document = http.get(f"/api/surveys/{name}/query", params={"q": question}).json()
            agree(answer(parse_text(question), estimate), document["answers"])
