"""What is near to a mistake is named: commands, options, surveys, questions. At most three, and one next step."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hearsay.ops.cli import run

Hearsay = Callable[..., tuple[int, str, str]]
CITIES = """
name = "cities"
mechanism = "grr"
epsilon = 3.0
[domain]
kind = "categorical"
categories = ["New York", "Lima", "Oslo"]
"""


@pytest.fixture
def snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A snapshot of a survey about cities."""
    survey, values, out = tmp_path / "cities.toml", tmp_path / "cities.csv", tmp_path / "snapshot"
    survey.write_text(CITIES)
    values.write_text("value\n" + "New York\nLima\nLima\n" * 200)
    assert run(["simulate", str(survey), "--values", str(values), "--out", str(out), "--seed", "1"]) == 0
    capsys.readouterr()
    return str(out)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    return str(line)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["quer"], "No such command 'quer'; the nearest: query (see"),
        (["show", "age.toml"], "No such command 'show'; the nearest: survey show"),
        (["add", "age.toml"], "No such command 'add'; the nearest: survey add, key add"),
        (["survey", "lst"], "No such command 'lst'; the nearest: list"),
        (["simulate", "a.toml", "--value", "b"], "No such option '--value'; the nearest: --values (see"),
        (["query", "--snapsot", "b", "point", "1"], "No such option '--snapsot'; the nearest: --snapshot (see"),
    ],
)
def test_the_nearest_is_named(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert says in refused(capsys, *words)


def test_an_option_like_no_other_suggests_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert "the nearest" not in refused(capsys, "simulate", "a.toml", "--zzz", "b")
    assert "--out" not in refused(capsys, "plan", "a.toml", "--column", "b")


def test_a_question_like_no_other_is_answered_with_three_that_this_survey_answers(
    snapshot: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, "query", "--snapshot", snapshot, "topp", "3")
    assert "top K" in line
    assert line.count(";") == 3
    assert len(line) < 160
    for form in ("range", "quantile", "marginal", "mean"):
        assert form not in line, "categories have no order"


def test_without_a_question_those_that_this_survey_answers_are_named(
    snapshot: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, "query", "--snapshot", snapshot)
    assert "one that this survey answers: " in line
    assert "top K" in line
    for form in ("range", "quantile", "marginal", "mean"):
        assert form not in line, "categories have no order"


def test_a_question_may_be_one_line(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for words in (["top", "2"], ["top 2"]):
        assert run(["query", "--snapshot", snapshot, *words]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert run(["query", "--snapshot", snapshot, 'point "New York"']) == 0


def test_a_label_of_two_words_needs_no_quotes(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", "--snapshot", snapshot, "point", "New", "York"]) == 0
    assert capsys.readouterr().out.startswith("point New York: 0.")
    assert "quote a label with spaces" in refused(capsys, "query", "--snapshot", snapshot, "point", "New", "Lima")


def test_a_question_without_its_survey_says_where_the_name_goes(hearsay: Hearsay, tmp_path: Path) -> None:
    (tmp_path / "cities.toml").write_text(CITIES)
    code, _, err = hearsay("query", "top", "3")
    assert (code, "hearsay query NAME top 3" in err) == (2, True)
    assert hearsay("survey", "add", str(tmp_path / "cities.toml"))[0] == 0
    assert "name the survey before the question: hearsay query cities top 3" in hearsay("query", "top", "3")[2]
    assert "hearsay query cities top 3" in hearsay("query", "top 3")[2]
    for words in ("query citys top 3", "status citys", "produce citys --devices 3", "survey show citys",
                  "survey close citys", "survey delete citys --yes", "survey skip citys",
                  "survey rejects citys", "survey windows citys",
                  "survey shards citys 2", "survey next-round citys", "snapshot citys --out out",
                  "key add phone --survey citys"):  # fmt: skip
        assert "survey 'citys' is not registered; the nearest: cities" in hearsay(*words.split())[2], words


def test_without_a_server_a_file_of_that_name_is_named(
    snapshot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    nobody = ("--redis-url", "redis://127.0.0.1:1")
    for words in (["survey", "show", "cities"], ["survey", "show", "./cities"]):
        line = refused(capsys, *words, *nobody)
        assert "cannot be reached" in line
        assert line.endswith("; did you mean " + words[-1] + ".toml?")
    assert "did you mean" not in refused(capsys, "survey", "show", "towns", *nobody)
    assert refused(capsys, "query", "snapshot", "top", "3", *nobody).endswith("; did you mean --snapshot snapshot?")
    assert "did you mean" not in refused(capsys, "query", "cities", "top", "3", *nobody)


def test_a_name_that_no_file_can_have_hides_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["survey", "show", 300 * "a"], ["query", 300 * "a", "top", "3"]):
        assert "cannot be reached" in refused(capsys, *words, "--redis-url", "redis://127.0.0.1:1")


def test_a_file_is_named_also_where_the_server_has_no_such_survey(
    hearsay: Hearsay, tmp_path: Path, snapshot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hearsay("survey", "show", "cities")[2].rstrip().endswith("; did you mean cities.toml?")
    assert hearsay("query", "snapshot", "top", "3")[2].rstrip().endswith("; did you mean --snapshot snapshot?")


@pytest.mark.parametrize("group", ["survey", "key", "experiment"])
def test_a_group_alone_shows_its_help(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([group]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: hearsay {group}")


@pytest.mark.parametrize("words", [[], ["survey"], ["survey", "add"], ["query"], ["experiment", "counts"]])
def test_h_is_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "-h"]) == 0
    assert capsys.readouterr().out.startswith(" ".join(["Usage: hearsay", *words]))


def test_version_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["version"]) == 0
    said = capsys.readouterr().out
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == said


def test_a_snapshot_goes_into_a_directory_of_its_own(
    snapshot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["simulate", "cities.toml", "--values", "cities.csv", "--out"]
    assert "directory of its own" in refused(capsys, *words, ".")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert "directory of its own" in refused(capsys, *words, "mine")
    for out in ("new", "new", snapshot):
        assert run([*words, out]) == 0


@pytest.mark.parametrize(
    ("words", "offered"),
    [("hearsay ", "survey"), ("hearsay su", "survey"), ("hearsay survey ", "add"), ("hearsay survey sh", "show"),
     ("hearsay experiment ", "ranges"), ("hearsay query --po", "--postprocess"), ("hearsay survye a", None)],
)  # fmt: skip
def test_a_shell_completes(
    words: str, offered: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_HEARSAY_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    with pytest.raises(SystemExit) as ended:
        run([])
    out, err = capsys.readouterr()
    assert (ended.value.code, err) == (0, "")
    assert offered is None or f"plain,{offered}" in out.splitlines()
