"""`hearsay simulate --truth`, `--repeat`, `--ask`, `--picture`: answers beside what is true of the devices."""

import json
from pathlib import Path
from typing import Any

import pytest

from hearsay.ops import cli

SURVEY = 'name = "minutes"\nmechanism = "haar"\nepsilon = 2.0\n[domain]\nkind = "ordinal"\nsize = 16\n'


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("minutes.toml").write_text(SURVEY)
    return "minutes.toml"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert cli.run(["simulate", *words, "--seed", "3", "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


PEOPLE = ("--distribution", "normal", "--devices", "4000")


def test_rows_have_truth_interval_and_error(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = run(capsys, survey, *PEOPLE, "--ask", "range 4 11", "--truth")
    assert {*row} >= {"query", "truth", "value", "stderr", "low", "high", "holds", "z"}
    assert row["truth"] == pytest.approx(0.866, abs=0.03)  # a normal's mass within one and a half sigma
    assert row["holds"] == (row["low"] <= row["truth"] <= row["high"])
    assert row["z"] == pytest.approx((row["value"] - row["truth"]) / row["stderr"])


def test_the_truth_of_a_list_is_matched_by_item(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    listed = run(capsys, survey, *PEOPLE, "--ask", "top 5", "--ask", "frequencies", "--truth")
    true = {row["item"]: row["truth"] for row in listed if row["query"] == "frequencies"}
    assert all(row["truth"] == true[row["item"]] for row in listed)
    assert len(listed) == 5 + 16


def test_the_headline_is_asked_where_nothing_else_is(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert next(row["query"] for row in run(capsys, survey, *PEOPLE, "--truth")) == "quantile 0.1"
    assert cli.run(["simulate", survey, *PEOPLE, "--truth", "--seed", "3"]) == 0
    assert "contain the truth" in capsys.readouterr().err


def test_values_alone_are_enough(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert next(row["query"] for row in run(capsys, survey, *PEOPLE)) == "quantile 0.1"


def test_pairs_of_attributes_are_told_in_words(
    survey: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    axis = '[[domain.attributes]]\nname = "{}"\ncategories = [{}]\n'
    towns = axis.format("city", '"New York", "Washington, D.C."')
    ages = axis.format("age", '"to 35", "over 35"')
    head = 'name = "both"\nmechanism = "auto"\nepsilon = 2.0\n[domain]\nkind = "attributes"\n'
    Path("both.toml").write_text(head + towns + ages)
    Path("both.csv").write_text("age,city\n" + 'to 35,New York\nover 35,"Washington, D.C."\n' * 500)
    words = ["simulate", "both.toml", "--values", "both.csv", "--truth", "--seed", "3"]
    assert cli.run([*words, "--ask", "conditional city given age", "--ask", "correlations"]) == 0
    out = capsys.readouterr().out
    assert "{" not in out
    assert "city Washington, D.C., age over 35" in " ".join(out.split())
    assert cli.run([*words, "--ask", "conditional city given age"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("conditional city given age: both: 1,000 reports\n")
    assert len(told.out.splitlines()) <= 3 + 2 * 4, "a table of four rows, each of two lines at most"
    assert cli.run([word for word in words if word != "--truth"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "marginal city: both: 1,000 reports"
    assert "marginal age" in lines, "each question with several answers has a table of its own"


def test_repeated_surveys_cover_and_meet_the_prediction(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = run(capsys, survey, *PEOPLE, "--ask", "range 4 11", "--ask", "frequencies", "--repeat", "60")
    for row in rows:
        assert list(row) == ["query", "runs", "coverage", "rmse", "within", "predicted"]
        assert row["runs"] == 60
        assert 0.85 <= row["coverage"] <= 1
        assert row["predicted"] == pytest.approx(row["within"], rel=0.05)
        assert row["rmse"] == pytest.approx(row["within"] / 1.96, rel=0.4)


@pytest.mark.parametrize("words", [[], ["--truth"], ["--ask", "range 4 11"]])
def test_it_says_where_the_snapshot_is(survey: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["simulate", survey, *PEOPLE, *words, "--out", "found"]) == 0
    assert "snapshot in found; ask it: hearsay query --snapshot found ...\n" in capsys.readouterr().out


def test_the_truth_never_goes_into_the_snapshot(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, survey, *PEOPLE, "--truth", "--out", "with")
    assert cli.run(["simulate", survey, *PEOPLE, "--seed", "3", "--out", "without"]) == 0
    one, other = (json.loads((Path(name) / "snapshot.json").read_text()) for name in ("with", "without"))
    changing = {"generated_at", "checksum"}
    assert {key: one[key] for key in one if key not in changing} == {
        key: other[key] for key in other if key not in changing
    }
    assert "truth" not in (Path("with") / "snapshot.json").read_text()


def test_a_picture(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    run(capsys, survey, *PEOPLE, "--ask", "frequencies", "--ask", "quantile 0.5", "--truth", "--picture", "p.svg")
    assert "<svg" in Path("p.svg").read_text()
    assert cli.run(["simulate", survey, *PEOPLE, "--picture", "p.svg"]) == 0
    assert "picture in p.svg" in capsys.readouterr().err
    assert cli.run(["simulate", survey, *PEOPLE, "--picture", "p"]) == 0
    assert "picture in p.png" in capsys.readouterr().err
    assert Path("p.png").exists()


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("--picture", "nodir/p.png"), "nodir is no directory; make it first"),
        (("--out", "minutes.toml"), "'minutes.toml' is a file"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_runs(
    survey: str,
    words: tuple[str, ...],
    refusal: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("hearsay.ops.commands.simulate.simulate")
    assert cli.run(["simulate", survey, *PEOPLE, *words]) == 2
    assert refusal in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("--truth",), "give --values FILE, or --distribution SHAPE and --devices N"),
        (("--truth", "--distribution", "normal"), "--distribution and --devices go together"),
        (("--truth", "--distribution", "cake", "--devices", "3"), "distribution must be one of"),
        ((*PEOPLE, "--truth", "--ask", "mean"), "number has it"),
        ((*PEOPLE, "--ask", "rnge 1 2"), "one that this survey answers; the nearest: range A B"),
        ((*PEOPLE, "--ask", "median"), "the nearest: quantile Q..., got 'median'"),
    ],
)
def test_bad_input(survey: str, words: tuple[str, ...], refusal: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["simulate", survey, *words]) == 2
    assert refusal in capsys.readouterr().err


def test_a_snapshot_of_another_survey_is_replaced_and_named(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("hours.toml").write_text(SURVEY.replace("minutes", "hours"))
    for file, note in ((survey, False), (survey, False), ("hours.toml", True)):
        assert cli.run(["simulate", file, *PEOPLE, "--out", "mine", "--seed", "1"]) == 0
        assert ("mine holds a snapshot of survey minutes, which is replaced" in capsys.readouterr().err) == note


@pytest.mark.parametrize("words", [("--out", "snap"), ("--picture", "rep.png")])
def test_repeated_surveys_write_nothing_and_say_so(
    survey: str, words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["simulate", survey, *PEOPLE, "--repeat", "3", *words]) == 2
    assert "--repeat only shows a table: leave out --out and --picture" in capsys.readouterr().err
    assert not Path(words[1]).exists()
