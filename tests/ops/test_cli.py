"""Every command has help and documentation, and every ending has its exit code."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hearsay.ops import cli
from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.pages import docs
from hearsay.ops.terminal.lazy import LazyGroup
from hearsay.ops.terminal.options import NumberRange

ALL = list(docs.commands(cli.cli, docs.root_context()))


@pytest.mark.parametrize(("path", "command"), [(path, command) for path, command, _ in ALL])
def test_every_command_and_option_has_help(path: str, command: click.Command) -> None:
    assert command.help, f"{path} has no help"
    assert command.help.splitlines()[0].endswith("."), f"the help of {path} must start with a sentence"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.opts[0]} has no help"


def test_summaries_are_the_first_lines_of_the_help() -> None:
    """The root's help shows summaries without loading the commands: they must not drift apart."""
    assert isinstance(cli.cli, LazyGroup)
    for name in cli.cli.list_commands(docs.root_context()):
        command = cli.cli.get_command(docs.root_context(), name)
        assert command is not None
        assert command.help is not None
        assert " ".join(command.help.split("\n\n")[0].split()) == cli.cli.summary(name), name


@pytest.mark.parametrize("name", docs.PAGES)
def test_reference_pages_are_in_step(name: str) -> None:
    written = (docs.DOCS / name).read_text(encoding="utf-8")
    assert written == docs.PAGES[name](), f"docs/{name} is out of step: run `make docs`"


def test_help_is_quick_because_nothing_heavy_is_imported() -> None:
    program = (
        "import sys; from hearsay.ops.cli import run; code = run(['--help']);"
        "heavy = {'numpy', 'scipy', 'redis', 'rich', 'pydantic'} & set(sys.modules); sys.exit(code or len(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "simulate" in done.stdout


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([]) == 0
    assert "Usage: hearsay" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("hearsay 0.")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["--nonsense"],
        ["survey", "nonsense"],
        ["simulate"],
        ["simulate", "a.toml", "--values"],
        ["simulate", "a.toml", "--values", "b.csv", "--out", "c", "--seed", "minus"],
        ["status", "--interval", "-1"],
        ["status", "--interval", "nan"],
        ["produce", "a", "--devices", "1", "--rate", "nan"],
        ["produce", "a", "--devices", "1", "--rate", "inf"],
        ["produce", "a", "--devices", "1", "--rate", "1e-300"],
        ["release", "3", "--max", "4", "--epsilon", "nan"],
        ["release", "3", "--max", "4", "--epsilon", "1", "--seconds", "nan"],
        ["audit", "grr", "--confidence", "nan"],
        ["experiment", "nonsense"],
    ],
)
def test_usage_errors_are_one_line_and_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith("hearsay: ")
    assert "--help`" in captured.err
    assert len(captured.err) < 200, "a line, not the whole help in one"


def test_the_help_of_a_number_without_bounds_names_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plan", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "None" not in shown
    assert "[x>0]" in shown  # of --budget


@pytest.mark.parametrize(("path", "command"), [(path, command) for path, command, _ in ALL])
def test_no_command_takes_nan_for_a_number(path: str, command: click.Command) -> None:
    for parameter in command.params:
        kind = parameter.type
        assert kind is not click.FLOAT, f"{path} {parameter.name}"
        assert not isinstance(kind, click.FloatRange) or isinstance(kind, NumberRange), f"{path} {parameter.name}"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OperationError("two\nlines"), 2, "hearsay: two lines"),
        (FileNotFoundError(2, "No such file or directory", "x.csv"), 2, "hearsay: x.csv: No such file or directory"),
        (CheckFailed("2 of 3 intervals hold"), 1, "hearsay: 2 of 3 intervals hold"),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
    ],
)
def test_endings(
    error: BaseException, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hearsay.ops.operate.overview.overview", _raising(error))
    monkeypatch.setattr("hearsay.ops.commands.status.overview", _raising(error))
    monkeypatch.setattr("hearsay.ops.commands.status.open_registry", lambda settings: None)
    assert cli.run(["status"]) == code
    assert capsys.readouterr().err.strip() == message


def test_a_bug_is_logged_and_three(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("hearsay.ops.commands.status.open_registry", _raising(ZeroDivisionError("oops")))
    assert cli.run(["status"]) == 3
    log, line = capsys.readouterr().err.splitlines()
    assert "ZeroDivisionError: oops" in json.loads(log)["traceback"]
    assert line.startswith("hearsay: a bug in hearsay: ZeroDivisionError")


def test_json_is_the_only_thing_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey, values = tmp_path / "s.toml", tmp_path / "v.csv"
    survey.write_text('name = "n"\nmechanism = "hrr"\nepsilon = 1\n[domain]\nkind = "categorical"\nsize = 4\n')
    values.write_text("value\n" + "1\n" * 500)
    words = ["simulate", str(survey), "--values", str(values), "--out", str(tmp_path / "out"), "--seed", "1", "--json"]
    assert cli.run(words) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["reports"], first["window"]) == (500, "all")
    assert cli.run(words) == 0
    assert json.loads(capsys.readouterr().out)["answers"] == first["answers"], "the same seed, the same answers"


def _raising(error: BaseException) -> object:
    def function(*arguments: object, **keywords: object) -> None:
        raise error

    return function
