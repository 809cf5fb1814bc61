"""A family from outside enters everything that users see, through real processes, and only its own files know it."""

import json
import re
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jsonschema
import numpy as np
import pytest

from hearsay import Device, load_snapshot
from hearsay import simulate as simulate_in_python
from hearsay.collector.plugins import load_plugins
from hearsay.collector.survey.survey import load, parse
from hearsay.mechanisms import build, catalogue
from hearsay.mechanisms.questions import answer, parse_text
from hearsay.ops import cli
from hearsay.ops.pages import docs
from hearsay.ops.pages.family import family_page
from hearsay.ops.server.processes import Pipeline
from hearsay.ops.server.waiting import wait_until_folded
from hearsay.producer.errors import DistributionError, ValuesError
from hearsay.producer.populations import Population
from hearsay.producer.values import read
from tests.plugged import plugged

SURVEY = """
name = "throws"
mechanism = "two-throws"
epsilon = 2.0
[domain]
kind = "dice"
sides = 4
[rounds]
reports = 20000
[answers]
postprocess = "not-below-zero"
"""
DEVICES = 20_000
ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "snapshot.schema.json").read_text())
# Of four sides: 1+4, 2+3, 3+2 and 4+1 a fifth each, and 1+1 the last one.
ROWS = [(1, 4), (2, 3), (3, 2), (4, 1), (1, 1)]
GRR = {"mechanism": "grr", "epsilon": 1.0}
Run = Callable[..., str]


@pytest.fixture(scope="module", autouse=True)
def _only_here() -> Iterator[None]:
    """What the tests of this module add to the catalogue goes with them."""
    with plugged("tests.toy"):
        load_plugins("tests.toy")
        yield


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dice") / "throws.toml"
    path.write_text(SURVEY)
    return path


@pytest.fixture(scope="module")
def throws(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose columns stand in an order of its own, with one more."""
    path = tmp_path_factory.mktemp("values") / "throws.csv"
    lines = (f"{second},somebody,{first}" for first, second in ROWS * (DEVICES // len(ROWS)))
    path.write_text("second,who,first\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def hearsay(capsys: pytest.CaptureFixture[str]) -> Run:
    """What a command prints; or, where another exit code is expected, what it says on stderr."""

    def call(*words: str, code: int = 0) -> str:
        found = cli.run(words)
        out, err = capsys.readouterr()
        assert found == code, err
        return err if code else out

    return call


def hold(answers: list[dict[str, Any]], truth: list[tuple[Any, float]]) -> None:
    """Every answer is about what it should be about, and within six standard errors, which are small."""
    for each, (name, expected) in zip(answers, truth, strict=True):
        assert each.get("item", each.get("cell")) == name
        assert abs(each.get("raw", each["value"]) - expected) < 6 * each["stderr"] < 0.2


def test_the_whole_way_through_real_processes(
    survey: Path, throws: Path, tmp_path: Path, hearsay: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Pipeline(tmp_path, workers=1, estimator=True, period_s=0.1, plugins="tests.toy") as pipeline:
        monkeypatch.setenv("HEARSAY_REDIS_URL", pipeline.server.url)
        monkeypatch.setenv("HEARSAY_DATA_DIR", str(tmp_path))
        assert "registered" in hearsay("survey", "add", str(survey))
        (listed,) = json.loads(hearsay("survey", "list", "--json"))
        assert (listed["mechanism"], listed["kind"], listed["cells"]) == ("two-throws", "dice", 7)
        assert 'kind = "dice"' in hearsay("survey", "show", "throws")
        registered = pipeline.registry().get("throws")

        words = ("--values", str(throws), "--devices", str(2 * DEVICES), "--seed", "1", "--json")
        produced = json.loads(
            hearsay("produce", "throws", *words)
        )  # half of the people in each round, until it is over
        assert produced["reports"] == 2 * DEVICES
        assert registered.look().rounds.newest.parameters == {"common": 3}
        (row,) = json.loads(hearsay("status", "--interval", "0", "--json"))
        assert (row["round"], row["rejected"]) == (2, {})

        _until(lambda: registered.look().closed, pipeline)
        wait_until_folded(registered, 2 * DEVICES)
        _until(lambda: load_snapshot(pipeline.snapshots / "throws" / "r2").metadata["status"] == "final", pipeline)

        live = json.loads(hearsay("query", "throws", "split", "--json"))
        hold(live, [({"sum": 5, "first": eyes}, 1 / 5) for eyes in (1, 2, 3, 4)])
        hold(json.loads(hearsay("query", "throws", "top", "2", "--json")), [(5, 0.8), (2, 0.2)])
        (five,) = json.loads(hearsay("query", "throws", "sum", "5", "--json", "--window", "r1"))
        assert five["postprocess"] == "not-below-zero"

        folder = str(pipeline.snapshots / "throws" / "r2")
        assert json.loads(hearsay("query", "--snapshot", folder, "split", "--json")) == live
        assert "second round" in hearsay("query", "--snapshot", folder.replace("r2", "r1"), "split", code=2)
        hearsay("snapshot", "throws", "--out", str(tmp_path / "now"))
        (mean,) = load_snapshot(tmp_path / "now").ask("expected")
        hold([mean.table()], [(None, 4.4)])

        assert _ask(pipeline, q="split")["answers"] == live
        refused = _ask(pipeline, q="sum 9")
        assert refused["error"] == "sum must be an integer in 2..8, got 9"
        assert _ask(pipeline, q="expected", count="1")["error"].startswith("count does not apply to expected")
        metrics = _get(f"{pipeline.address}/metrics")
        for query, item in (("expected", ""), ("top 3", "5"), ("split", "sum=5,first=1")):
            assert f'hearsay_estimate{{item="{item}",query="{query}",survey="throws"}}' in metrics
        assert "two-throws" in _get(f"{pipeline.address}/api/surveys/throws")
        assert "deleted" in hearsay("survey", "delete", "throws", "--yes")


def test_people_are_simulated_as_the_domain_says(survey: Path) -> None:
    domain = load(survey).mechanism.domain
    people = Population("uniform", domain, np.random.default_rng(2)).take(16_000)
    (five,) = answer(parse_text("sum 5"), load(survey).mechanism.exact(people))
    assert five.value == pytest.approx(4 / 16, abs=0.02)


def test_people_are_simulated_by_a_shape_of_its_own(survey: Path) -> None:
    """`loaded` is known to the toy's folder only, and to the commands by the domain."""
    assert "loaded" in catalogue.shapes()
    domain = load(survey).mechanism.domain
    people = Population("loaded", domain, np.random.default_rng(2)).take(16_000)
    (eight,) = answer(parse_text("sum 8"), load(survey).mechanism.exact(people))
    assert eight.value == pytest.approx(1 / 4, abs=0.02)
    with pytest.raises(DistributionError, match="point for a domain of kind ordinal, got 'loaded'"):
        Population("loaded", build({**GRR, "domain": {"kind": "ordinal", "size": 4}}).domain, np.random.default_rng(2))


def test_survey_show_has_its_advice_its_facts_and_its_picture(survey: Path, tmp_path: Path, hearsay: Run) -> None:
    many = tmp_path / "many.toml"
    many.write_text(SURVEY.replace("sides = 4", "sides = 30"))
    assert "advice" not in json.loads(hearsay("survey", "show", str(survey), "--json"))
    shown = json.loads(hearsay("survey", "show", str(many), "--json"))
    assert shown["advice"] == ["Dice with 30 sides have 59 sums, each with as much noise; roll fewer."]
    assert shown["rounds"] == ["sums", "first"]
    assert shown["warnings"] == ["the second round asks about one sum only"]
    assert len(shown["bars"]) == 59
    text = hearsay("survey", "show", str(many))
    for line in (*shown["advice"], "Rounds: sums first.", shown["bars"][0], f"Warning: {shown['warnings'][0]}."):
        assert line in " ".join(text.split()) or line in text


def test_a_simulation_plays_every_round(survey: Path, throws: Path, tmp_path: Path, hearsay: Run) -> None:
    hearsay("simulate", str(survey), "--values", str(throws), "--out", str(tmp_path), "--seed", "3")
    found = load_snapshot(tmp_path)
    jsonschema.validate(found.metadata, SCHEMA)
    assert found.metadata["rounds"] == [{"common": 3}]
    assert {array["name"] for array in found.metadata["arrays"]} == {
        *("sums", "sums_stderr", "first", "first_stderr", "state/r1/sums", "state/r2/first")
    }
    assert [answer["query"] for answer in found.metadata["answers"]] == ["expected", *["top 3"] * 3, *["split"] * 4]
    assert [int(array.sum()) for array in found.state.values()] == [DEVICES // 2, DEVICES // 2]
    truth = found.survey.mechanism.exact(read(throws, found.survey.mechanism.domain))
    for question in ("expected", "sum 2", "sum 3", "split"):
        for told, true in zip(found.ask(question), answer(parse_text(question), truth), strict=True):
            assert abs(told.unbiased - true.value) < 6 * told.stderr  # type: ignore[operator]
    asked = [each for question in ("split", "top 2") for each in found.ask(question, simultaneous=True)]
    wide = [(each.simultaneous[1] - each.unbiased) / each.stderr for each in asked]  # type: ignore[index,operator]
    assert wide == pytest.approx([2.491] * 4 + [2.683] * 2, abs=1e-3)  # of four sides, and of all seven sums
    assert simulate_in_python(survey, ROWS * 200, seed=4).reports == 1_000


def test_the_commands_without_a_server_know_it_too(survey: Path, hearsay: Run) -> None:
    shown = json.loads(hearsay("survey", "show", str(survey), "--json"))
    assert shown["definition"]["options"] == {"ties": "low"}
    assert set(shown["predicted_stderr"]["10000"]) == {"sum"}
    assert "sum S | expected | split" in " ".join(hearsay("query", "--help").split())
    (audited,) = json.loads(hearsay("audit", "two-throws", "--json"))
    assert audited["holds"]


def test_its_page_is_written_from_its_tables() -> None:
    page = family_page("tests.toy")
    assert page.startswith("# tests.toy\n\nA family from outside")
    assert "| `dice` | Two throws of a die with so many sides. | `first`, `second` |" in page
    assert "| `dice` | `sides` (6) | two throws, each an integer 1..sides |" in page
    assert "| `ties` | `low` | which of several most common sums is taken |" in page
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert parse(tomllib.loads(example)).mechanism.ID == "two-throws"
    rows = [
        "| `sum S` | the share of those whose two throws sum up to S | sums of throws | yes |  | `not-below-zero` |",
        "| `expected` | the mean of the sum of two throws | sums of throws | no (whose value is a number of eyes) |",
        "| how a sum was thrown | `two-throws` |",
    ]
    assert [row for row in rows if row not in page] == []


@pytest.mark.parametrize("name", ["reference/queries.md", "reference/survey.md", "reference/wire.md"])
def test_the_pages_of_this_distribution_stay_as_they_are(name: str) -> None:
    assert (docs.DOCS / name).read_text(encoding="utf-8") == docs.PAGES[name]()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("sides = 4", "sides = 1"), "domain.sides must be an integer in 2..100, got 1"),
        (("sides = 4", "eyes = 4"), "domain has the unknown key 'eyes'; allowed: kind, sides"),
        (("two-throws", "grr"), "domain.kind must be one of categorical, ordinal, binary, grid"),
        (("epsilon = 2.0", "epsilon = 11.0"), "epsilon must be at most 10 for mechanism two-throws, got 11"),
        (("not-below-zero", "isotonic"), "isotonic needs an ordinal domain, got 'dice'"),
        (("not-below-zero", "positive"), "answers.postprocess must be one of "),
    ],
)
def test_what_is_wrong_is_said_in_one_line(change: tuple[str, str], message: str, tmp_path: Path, hearsay: Run) -> None:
    (tmp_path / "wrong.toml").write_text(SURVEY.replace(*change))
    assert message in hearsay("survey", "show", str(tmp_path / "wrong.toml"), code=2)


def test_auto_chooses_by_what_the_family_predicts(tmp_path: Path, hearsay: Run) -> None:
    (tmp_path / "auto.toml").write_text(SURVEY.replace("two-throws", "auto"))
    shown = json.loads(hearsay("survey", "show", str(tmp_path / "auto.toml"), "--json"))
    assert "predicted standard error of sum at 100000 reports: two-throws 0.00" in shown["reason"]


def test_a_bad_row_is_named_and_not_shown(survey: Path, tmp_path: Path) -> None:
    domain = build({"mechanism": "two-throws", "epsilon": 1.0, "domain": {"kind": "dice", "sides": 4}}).domain
    (tmp_path / "bad.csv").write_text("first,second\n1,2\n3,77\n")
    with pytest.raises(ValuesError, match=r"bad.csv: line 3, column 2: second must be an integer in 1..4; --skip-bad"):
        read(tmp_path / "bad.csv", domain)


def test_a_device_takes_a_pair_in_either_round(survey: Path) -> None:
    for value in ((1, 4), {"first": 1, "second": 4}):
        assert isinstance(Device(survey).report(value), bytes)
    second = load(survey).in_round([{"common": 3}])
    assert {Device(second).report((2, 3)) for _ in range(300)} == {bytes([told]) for told in range(5)}


def test_the_promise_is_kept_in_both_rounds() -> None:
    mechanism = build({"mechanism": "two-throws", "epsilon": 1.0, "domain": {"kind": "dice", "sides": 3}})
    for each in (mechanism, mechanism.in_round([{"common": 2}])):
        channel = each.channel()
        assert channel.sum(axis=1) == pytest.approx(1.0)
        assert np.log(channel.max(axis=0) / channel.min(axis=0)).max() <= 1.0 + 1e-9


def test_nothing_outside_its_folder_knows_it() -> None:
    files = [*(ROOT / "hearsay").rglob("*.py"), *(ROOT / "docs").rglob("*.md")]
    assert len(files) > 100
    for path in files:
        assert not re.search(r"two-throws|\bdice\b", path.read_text(encoding="utf-8")), path


def _until(done: Callable[[], bool], pipeline: Pipeline) -> None:
    deadline = time.monotonic() + 30
    while not done():
        pipeline.check()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _ask(pipeline: Pipeline, **parameters: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_get(f"{pipeline.address}/api/surveys/throws/query?{urlencode(parameters)}"))
    return document


def _get(address: str) -> str:
    try:
        with urllib.request.urlopen(address) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return str(error.read().decode())


def test_the_planner_knows_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Rows, inverse and frames, with nothing outside this folder."""
    words = ["plan", "--kind", "dice", "--domain", "sides=6", "--query", "sum 7", "--plugins", "tests.toy", "--json"]
    assert cli.run([*words, "--users", "4000", "--epsilon", "2", "--shape", "uniform"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["mechanism"], row["recommended"], row["unit"]) == ("two-throws", True, "share")
    assert cli.run([*words, "--users", "4000", "--within", str(row["within"]), "--shape", "uniform"]) == 0
    (back,) = json.loads(capsys.readouterr().out)
    assert back["epsilon"] == pytest.approx(2, rel=0.01)
    survey = {"name": "throws", "mechanism": "two-throws", "epsilon": 4.0, "domain": {"kind": "dice", "sides": 6}}
    found = simulate_in_python(survey, {"first": [1, 2, 3] * 200, "second": [6, 5, 4] * 200}, seed=1)
    assert found.truth("sum 7") == [1.0]
    assert found.ask("top 3").columns()["value"]
    (compared,) = found.compare("sum 7")
    assert compared.z is not None
