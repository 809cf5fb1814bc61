"""`--values` as commands take it: progress and rows on stderr, `--column`, `--clamp`, and counts such as 1e6."""

import gzip
import json
from pathlib import Path

import click
import pytest

from hearsay.ops import cli
from hearsay.ops.terminal import values_file
from hearsay.ops.terminal.options import CountRange

SURVEY = """
name = "ages"
mechanism = "haar"
epsilon = 1.0
[domain]
kind = "ordinal"
size = 100
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ages.toml").write_text(SURVEY)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.run(list(words))
    seen = capsys.readouterr()
    return code, seen.out, seen.err


def test_rows_are_counted_on_stderr_and_stdout_has_only_data(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "people.csv.gz").write_bytes(gzip.compress(b"value\n" + b"50\n" * 2_000))
    words = ("simulate", "ages.toml", "--values", "people.csv.gz", "--ask", "range 0 49", "--json")
    assert run(capsys, *words)[2] == ""  # quickly read, and nobody at a terminal
    monkeypatch.setattr(values_file, "QUICK_S", 0.0)
    code, out, err = run(capsys, *words)
    assert code == 0
    assert err == "people.csv.gz: 2,000 rows\n"
    assert len(json.loads(out)) == 1


def test_release_and_plan_take_a_column(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "groups.csv").write_text("group,members\n1,3\n2,99\n")
    words = ("release", "--values", "groups.csv", "--max", "8", "--epsilon", "1", "--json", "--column", "members")
    code, out, err = run(capsys, *words, "--clamp")
    assert code == 0
    assert len(json.loads(out)) == 2
    assert "groups.csv: 2 rows, 1 value clamped" in err
    code, _, err = run(capsys, *words)
    assert code == 2
    assert "line 3, column 2" in err
    with (folder / "groups.csv").open("a") as file:
        file.write("3,\n4,x\n5\n")
    code, out, err = run(capsys, *words, "--clamp", "--skip-bad")
    assert (code, len(json.loads(out))) == (0, 2)
    causes = (
        "1 with fewer cells than the header, which has 2 (line 6); "
        "2 in column 2: count must be an integer in 0..8 (lines 4, 5)"
    )
    assert f"groups.csv: 2 rows, 1 value clamped, 3 bad rows left out: {causes}\n" in err
    planned = ("plan", "ages.toml", "--query", "range 0 9", "--users", "1e5", "--epsilon", "1", "--mechanism", "haar")
    assert run(capsys, *planned, "--values", "groups.csv", "--column", "members", "--skip-bad", "--json")[0] == 0


@pytest.mark.parametrize("words", [("--column", "age"), ("--clamp",), ("--skip-bad",)])
def test_column_and_clamp_need_a_file(folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    simulated = ("simulate", "ages.toml", "--distribution", "zipf", "--devices", "10", "--ask", "range 0 9")
    code, _, err = run(capsys, *simulated, *words)
    assert code == 2
    assert "--column, --clamp and --skip-bad go with --values" in err


@pytest.mark.parametrize(
    ("text", "count"), [("1e6", 1_000_000), ("2.5E3", 2_500), ("1000", 1_000), ("10e-1", 1), ("40,000", 40_000)]
)
def test_counts_may_be_written_with_an_exponent(text: str, count: int) -> None:
    assert CountRange(1).convert(text, None, None) == count


@pytest.mark.parametrize("text", ["1.5e0", "1e-1", "1e99", "e6", "-1e3", "nan", "1e", "1e999999999"])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        CountRange(1).convert(text, None, None)
