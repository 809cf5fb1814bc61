"""Bad input everywhere ends in one clear line and exit code 2, and never shows a person's value."""

import io
import socket
import sys
from pathlib import Path

import pytest
import redis

from hearsay.ops import cli
from hearsay.ops.server.embedded import EmbeddedServer, free_port

GOOD = 'name = "ages"\nmechanism = "hrr"\nepsilon = 1.0\n[domain]\nkind = "ordinal"\nsize = 8\n'


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a good survey and a good file of values, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.toml").write_text(GOOD)
    (tmp_path / "good.csv").write_text("value\n1\n2\n")
    return tmp_path


@pytest.fixture
def live(server: EmbeddedServer, client: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands find the test's server, which is empty."""
    monkeypatch.setenv("HEARSAY_REDIS_URL", server.url)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a command line ends in."""
    code = cli.run(arguments)
    captured = capsys.readouterr()
    assert code == 2, captured
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("hearsay: ")
    return line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "survey file bad.toml is not valid TOML"),
        ("\x00", "is not valid TOML"),
        (GOOD.replace('"ages"', '"Ages!"'), "name must be"),
        (GOOD.replace('name = "ages"\n', ""), "name is missing"),
        (GOOD.replace("1.0", "-1.0"), "epsilon must be > 0"),
        (GOOD.replace("1.0", "inf"), "epsilon must be finite and > 0"),
        (GOOD.replace("hrr", "hrrr"), "mechanism must be one of"),
        (GOOD.replace("ordinal", "orbital"), "domain.kind must be one of"),
        (GOOD.replace("8", "0"), "domain.size must be an integer in"),
        (GOOD + "colour = 3\n", "unknown key 'colour'"),
        (GOOD + "[options]\nwarp = 9\n", "warp"),
        (GOOD + '[window]\nevery = "1w"\n', "window.every must be"),
        (GOOD + "[answers]\nminimum_reports = 0\n", "answers.minimum_reports must be"),
    ],
)
def test_bad_surveys(files: Path, capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    (files / "bad.toml").write_text(text)
    for words in (["survey", "show", "bad.toml"], ["simulate", "bad.toml", "--values", "good.csv", "--out", "out"]):
        assert message in refused(capsys, *words)
    assert not (files / "out").exists()


def test_missing_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "none.toml: No such file" in refused(capsys, "survey", "show", "none.toml")
    words = ("simulate", "good.toml", "--values", "none.csv", "--out", "out")
    assert "none.csv: No such file" in refused(capsys, *words)
    assert "none does not exist" in refused(capsys, "query", "--snapshot", "none", "top", "3")
    assert "is not a snapshot" in refused(capsys, "query", "--snapshot", ".", "top", "3")


@pytest.mark.parametrize("value", ["4711", "-1", "1.5", "secret", "nan", ""])
def test_values_outside_the_domain_are_located_and_not_shown(
    files: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    (files / "bad.csv").write_text(f'value\n1\n"{value}"\n')
    line = refused(capsys, "simulate", "good.toml", "--values", "bad.csv", "--out", "out")
    assert "bad.csv: line 3, column 1: value must be an integer in 0..7" in line
    assert not value or value not in line.replace("line 3, column 1", "")


def test_an_unwritable_place(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "taken").write_text("a file, not a directory")
    words = ("simulate", "good.toml", "--values", "good.csv", "--out", "taken/snapshot")
    assert "snapshot cannot be written to taken/snapshot" in refused(capsys, *words)


@pytest.mark.parametrize(
    "words",
    [
        ["survey", "list"],
        ["survey", "add", "good.toml"],
        ["status"],
        ["query", "ages", "top", "3"],
        ["produce", "ages", "--devices", "3"],
        ["snapshot", "ages", "--out", "out"],
    ],
)
def test_a_server_that_cannot_be_reached(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("HEARSAY_REDIS_URL", f"redis://:hunter2@127.0.0.1:{free_port()}/0")
    line = refused(capsys, *words)
    assert "cannot be reached" in line
    assert "hunter2" not in line


@pytest.mark.usefixtures("live")
@pytest.mark.parametrize(
    "words",
    [
        ["survey", "show", "nobody"],
        ["survey", "close", "nobody"],
        ["survey", "delete", "nobody", "--yes"],
        ["survey", "skip", "nobody"],
        ["query", "nobody", "top", "3"],
        ["produce", "nobody", "--devices", "3"],
        ["snapshot", "nobody", "--out", "out"],
    ],
)
def test_an_unknown_survey(capsys: pytest.CaptureFixture[str], files: Path, words: list[str]) -> None:
    assert "survey 'nobody' is not registered" in refused(capsys, *words)


@pytest.mark.usefixtures("live")
def test_nothing_is_deleted_while_the_queue_is_away(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    assert cli.run(["survey", "add", "good.toml"]) == 0
    capsys.readouterr()
    away = f"redis://127.0.0.1:{free_port()}/0"
    refused(capsys, "survey", "delete", "ages", "--yes", "--queue-url", away)
    assert cli.run(["survey", "delete", "ages", "--yes"]) == 0


@pytest.mark.usefixtures("live")
def test_another_definition_under_the_same_name(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    assert cli.run(["survey", "add", "good.toml"]) == 0
    assert cli.run(["survey", "add", "good.toml"]) == 0
    capsys.readouterr()
    (files / "other.toml").write_text(GOOD.replace("1.0", "2.0"))
    assert "exists with another definition" in refused(capsys, "survey", "add", "other.toml")
    assert "exists with 1 shards" in refused(capsys, "survey", "add", "good.toml", "--shards", "2")


@pytest.mark.usefixtures("live")
def test_adding_a_closed_survey_again_says_that_it_is_closed(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    for words in (["add", "good.toml", "--shards", "2"], ["close", "ages"], ["add", "good.toml"]):
        assert cli.run(["survey", *words]) == 0
    first, _, again = capsys.readouterr().out.splitlines()
    assert again == f"{first}; it is closed and takes no more reports"


@pytest.mark.usefixtures("live")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["query", "ages", "top", "3"], "no reports yet; for simulated ones: hearsay produce ages --devices 10000"),
        (["query", "ages"], "query must be one of"),
        (["query", "ages", "sideways"], "query must be one of"),
        (["query", "ages", "top", "3", "--window", "20250131T130000Z"], "window must be all"),
        (["produce", "ages", "--devices", "0"], "Invalid value for '--devices'"),
        (["produce", "ages"], "--devices is needed"),
        (["produce", "ages", "--devices", "1", "--single", "--frame", "9"], "exclude each other"),
        (["produce", "ages", "--values", "good.csv", "--distribution", "zipf"], "exclude each other"),
        (["produce", "ages", "--devices", "1", "--distribution", "cauchi"], "Invalid value for '--distribution'"),
        (["survey", "skip", "ages", "--range", "7"], "no quarantined range 7"),
        (["survey", "skip", "ages", "--backlog", "--retry"], "--backlog goes with neither"),
    ],
)
def test_questions_and_fleets(capsys: pytest.CaptureFixture[str], files: Path, words: list[str], message: str) -> None:
    assert cli.run(["survey", "add", "good.toml"]) == 0
    capsys.readouterr()
    assert message in refused(capsys, *words)


@pytest.mark.usefixtures("live")
def test_closing_asks_whoever_sits_at_a_terminal(
    capsys: pytest.CaptureFixture[str], files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.run(["survey", "add", "good.toml"]) == 0
    stdin = io.StringIO("n\n")
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert cli.run(["survey", "close", "ages"]) != 0
    assert "Close survey ages for good? It cannot be opened again." in capsys.readouterr().err
    assert cli.run(["produce", "ages", "--devices", "3"]) == 0
    assert cli.run(["survey", "close", "ages", "--yes"]) == 0
    assert "survey ages is closed" in capsys.readouterr().out


@pytest.mark.usefixtures("live")
def test_without_any_standard_input_nobody_is_asked(
    capsys: pytest.CaptureFixture[str], files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.run(["survey", "add", "good.toml"]) == 0
    for words, code, message in (
        (["survey", "delete", "ages"], 2, "there is no terminal to ask: give --yes"),
        (["init", "new.toml", "--kind", "categorical"], 2, "there is no terminal to ask"),
        (["simulate", "good.toml", "--values", "-"], 2, "standard input is empty"),
        (["survey", "close", "ages"], 0, ""),
    ):
        monkeypatch.setattr(sys, "stdin", None)  # Python's own where the descriptor is closed
        capsys.readouterr()
        assert cli.run(words) == code
        assert message in capsys.readouterr().err
        sys.stdin.close()


@pytest.mark.usefixtures("live")
def test_a_closed_survey(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    assert cli.run(["survey", "add", "good.toml"]) == 0
    assert cli.run(["survey", "close", "ages"]) == 0  # nobody at a terminal
    capsys.readouterr()
    assert "survey ages is closed" in refused(capsys, "produce", "ages", "--devices", "3")


def test_a_taken_port(capfd: pytest.CaptureFixture[str], files: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = cli.run(["redis", "--redis-port", str(port)])
    assert code == 2
    words = f"redis-port {port} is already taken: a server may already run there; stop it, or set HEARSAY_REDIS_PORT"
    assert words in capfd.readouterr().err


def test_a_server_that_evicts(capsys: pytest.CaptureFixture[str], own_server: EmbeddedServer, files: Path,
                              monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    with redis.Redis.from_url(own_server.url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
    monkeypatch.setenv("HEARSAY_REDIS_URL", own_server.url)
    assert "must run with maxmemory-policy noeviction" in refused(capsys, "status")


def test_bad_settings(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, files: Path) -> None:
    assert "--redis-port must be an integer in 1..65535" in refused(capsys, "status", "--redis-port", "0")
    monkeypatch.setenv("HEARSAY_REDIS_URL", "http://:hunter2@somewhere")
    line = refused(capsys, "status")
    assert "HEARSAY_REDIS_URL must be a URL that starts with redis://" in line
    assert "hunter2" not in line
