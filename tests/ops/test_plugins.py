"""Row 7: HEARSAY_PLUGINS and --plugins hold for every command that reads a survey, audit and simulate too."""

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from hearsay.collector.survey.toml import dump
from hearsay.ops.cli import run
from tests.identity import survey_table
from tests.plugged import plugged


@pytest.fixture(autouse=True)
def _goes_again() -> Iterator[None]:
    with plugged(""):
        yield


@pytest.fixture
def survey(tmp_path: Path) -> str:
    path = tmp_path / "buckets.toml"
    path.write_text(dump(survey_table("identity", 4)))
    assert tomllib.loads(path.read_text())["mechanism"] == "identity"
    return str(path)


@pytest.fixture
def values(tmp_path: Path) -> str:
    path = tmp_path / "values.csv"
    path.write_text("value\n1\n2\n")
    return str(path)


@pytest.mark.parametrize("by_flag", [True, False], ids=["flag", "environment"])
def test_an_audit_finds_what_a_mechanism_from_outside_leaks(
    by_flag: bool, survey: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["audit", survey, "--draws", "2000", "--seed", "1"]
    assert run(words) == 2
    assert "mechanism must be one of" in capsys.readouterr().err
    if by_flag:
        words += ["--plugins", "tests.identity"]
    else:
        monkeypatch.setenv("HEARSAY_PLUGINS", "tests.identity")
    assert run(words) == 1
    assert "must not leak more than 1, but the reports prove" in capsys.readouterr().err


def test_a_simulation_takes_one(
    survey: str, values: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", survey, "--values", values, "--out", str(tmp_path / "snapshot")]
    assert run(words) == 2
    monkeypatch.setenv("HEARSAY_PLUGINS", "tests.identity")
    assert run(words) == 0
    assert "2 reports, identity" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["show", "audit", "simulate", "query --help"])
def test_a_module_that_is_not_there_is_said_in_one_line(
    command: str, survey: str, values: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEARSAY_PLUGINS", "tests.nowhere")
    words = {
        "show": ["survey", "show", survey],
        "audit": ["audit", "grr"],
        "simulate": ["simulate", survey, "--values", values, "--out", "x"],
        "query --help": ["query", "--help"],
    }[command]
    assert run(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "plugins must name modules that can be imported, got 'tests.nowhere'" in line


def test_a_module_that_is_no_family_is_said_too(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", survey, "--plugins", "json"]) == 2
    assert "modules with DOMAINS, MECHANISMS, QUERIES, CANDIDATES, got 'json'" in capsys.readouterr().err


def test_surveys_are_looked_after_by_flag_alone(
    survey: str, hearsay: Callable[..., tuple[int, str, str]], client: redis.Redis
) -> None:
    plugin = ("--plugins", "tests.identity")
    assert hearsay("survey", "show", survey)[0] == 2
    for words in (
        ("survey", "show", survey),
        ("survey", "add", survey),
        ("survey", "list"),
        ("status", "--interval", "0"),
        ("survey", "rejects", "buckets"),
        ("survey", "skip", "buckets"),
        ("survey", "close", "buckets"),
        ("survey", "delete", "buckets", "--yes"),
    ):
        with plugged(""):
            code, out, complaint = hearsay(*words, *plugin)
        assert code == 0, complaint
        assert "buckets" in out
