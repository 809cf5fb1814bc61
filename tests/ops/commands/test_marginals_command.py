"""Attributes as a user meets them: a file of values, `simulate`, every query, pictures; for every mechanism."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hearsay.collector.survey import toml
from hearsay.collector.survey.survey import parse
from hearsay.mechanisms.queries.answer import Answer
from hearsay.ops import cli
from hearsay.ops.terminal.pictures import tree_lines
from tests.mechanisms.shared import ALL_CASES, Case

CASES = [case for case in ALL_CASES if case.table["domain"]["kind"] == "attributes"]
GROSS = 6.0
REPORTS = 20_000

SURVEY = """
name = "habits"
mechanism = "auto"
epsilon = 1.1
[domain]
kind = "attributes"
[[domain.attributes]]
name = "smokes"
categories = ["no", "yes"]
[[domain.attributes]]
name = "age group"
categories = ["young", "old", "very old"]
[[domain.attributes]]
name = "sport"
"""


def run(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.run([*words, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_from_a_file_of_values_to_a_table(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey = parse({"name": "example", **case.table})
    domain: Any = survey.mechanism.domain
    generator = np.random.default_rng(3)
    common = generator.random(REPORTS)
    columns = [((0.5 * common + 0.5 * generator.random(REPORTS)) * size).astype(int) for size in domain.shape]
    file, values, out = tmp_path / "survey.toml", tmp_path / "values.csv", tmp_path / "out"
    file.write_text(toml.dump({"name": "example", **case.table}), encoding="utf-8")
    with values.open("w", newline="", encoding="utf-8") as opened:
        rows = csv.writer(opened)
        rows.writerow(domain.columns)
        rows.writerows(zip(*columns, strict=True))
    document = run(capsys, "simulate", str(file), "--values", str(values), "--out", str(out), "--seed", "7")
    assert (document["reports"], document["rejected"], document["mechanism"]) == (REPORTS, {}, survey.mechanism.ID)
    found = run(capsys, "query", "--snapshot", str(out), "marginal", *domain.columns[:1])
    truth = np.bincount(columns[0], minlength=domain.shape[0]) / REPORTS
    for each, true in zip(found, truth, strict=True):
        assert abs(each["value"] - true) < GROSS * each["stderr"]
    counted = run(capsys, "query", "--snapshot", str(out), "marginal", domain.columns[0], "--count")
    assert counted[0]["value"] == pytest.approx(REPORTS * found[0]["value"])


@pytest.fixture
def snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    generator = np.random.default_rng(4)
    age = generator.choice(3, 60_000)
    smokes = generator.random(60_000) < np.array([0.7, 0.3, 0.1])[age]
    sport = generator.random(60_000) < np.where(smokes, 0.2, 0.7)
    file, values, out = tmp_path / "survey.toml", tmp_path / "values.csv", tmp_path / "out"
    file.write_text(SURVEY, encoding="utf-8")
    labels = np.array(["young", "old", "very old"])[age]
    with values.open("w", newline="", encoding="utf-8") as opened:
        rows = csv.writer(opened)
        rows.writerow(["sport", "age group", "smokes"])
        rows.writerows(zip(sport.astype(int), labels, np.array(["no", "yes"])[smokes.astype(int)], strict=True))
    assert cli.run(["simulate", str(file), "--values", str(values), "--out", str(out), "--seed", "7"]) == 0
    shown = capsys.readouterr()
    assert "a cell of a table" in shown.err + shown.out
    return out


def test_the_snapshot_holds_the_coefficients(snapshot: Path) -> None:
    document = json.loads((snapshot / "snapshot.json").read_text())
    arrays = np.load(snapshot / "arrays.npz")
    assert arrays["estimate"].shape == arrays["stderr"].shape
    assert (arrays["stderr"] > 0).all()
    assert {"marginal smokes", "tree"} <= {answer["query"] for answer in document["answers"]}


def test_a_tree_as_text_json_and_picture(snapshot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "tree.png"
    assert cli.run(["query", "--snapshot", str(snapshot), "tree", "--picture", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert "└─" in shown
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = run(capsys, "query", "--snapshot", str(snapshot), "tree")
    assert [set(each["cell"].values()) for each in found] == [{"smokes", "age group"}, {"smokes", "sport"}]


def test_correlations_as_a_map(snapshot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "map.svg"
    assert cli.run(["query", "--snapshot", str(snapshot), "correlations", "--picture", str(picture)]) == 0
    assert "age group" in picture.read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["marginal", "smokes", "--picture", "x.png"], "--picture goes with tree or correlations, got marginal"),
        (["tree", "--picture", "x.nothing"], "--picture: x.nothing cannot be written"),
        (["tree", "--count"], "count does not apply to tree"),
        (["marginal", "smokes", "sport", "age group"], "postprocess maxent or tree answers with a model"),
        (["conditional", "smokes", "sport"], "asked as: conditional"),
    ],
)
def test_refusals(snapshot: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["query", "--snapshot", str(snapshot), *words]) == 2
    assert says in capsys.readouterr().err.replace("\n", " ")


def test_a_bad_cell_is_located_and_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, values = tmp_path / "survey.toml", tmp_path / "values.csv"
    file.write_text(SURVEY, encoding="utf-8")
    values.write_text("sport,smokes,age group\n1,no,young\n0,sometimes,old\n", encoding="utf-8")
    assert cli.run(["simulate", str(file), "--values", str(values), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "line 3" in said
    assert "smokes" in said
    assert "sometimes" not in said


def test_a_tree_of_several_branches_is_drawn_from_its_strongest_edge() -> None:
    edges = [("a", "b"), ("a", "c"), ("c", "d")]
    answers = [Answer("tree", 0.3 - 0.1 * i, None, cell={"first": x, "second": y}) for i, (x, y) in enumerate(edges)]
    assert tree_lines(answers) == ["a", "├─ b  0.3", "└─ c  0.2", "   └─ d  0.1"]
