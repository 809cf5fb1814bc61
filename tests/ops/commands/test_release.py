"""`hearsay release`, and what `survey show` says of counts."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hearsay.mechanisms.counts.closed_forms import em
from hearsay.mechanisms.counts.promise import ratio_of
from hearsay.ops import cli


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    assert cli.run(["release", *words]) == code
    seen = capsys.readouterr()
    return seen.out, seen.err


def test_one_count(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "3", "--max", "8", "--epsilon", "0.5")
    lines = out.splitlines()
    assert lines[0].startswith("released: ")
    assert 0 <= int(lines[0].split()[1]) <= 8
    assert lines[1] == "mechanism gm: the best of all under L0, symmetric and row monotone"
    assert "no release is more than e^0.5 times likelier" in lines[2]
    assert lines[3] == "properties: RH RM WH S; could be derived from gm"
    assert "mean absolute error 1.38" in lines[4]
    assert lines[5].startswith("warning: for input 1, 7 some wrong output is likelier than the truth")


def test_a_file_of_counts_as_json_never_the_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "groups.csv"
    truth = [8] * 2_000
    file.write_text("group,count\n" + "".join(f"{n},{count}\n" for n, count in enumerate(truth)))
    out, err = run(capsys, "--values", str(file), "--max", "8", "--epsilon", "0.7", "--mechanism", "em", "--json")
    rows = json.loads(out)
    assert [set(row) for row in rows] == [{"count"}] * 2_000
    seen = np.bincount([row["count"] for row in rows], minlength=9)
    expected = em(8, ratio_of(0.7)).astype(float)[:, 8] * 2_000
    assert stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), 8) > 1e-7
    assert "properties: RH RM CH CM F WH S" in " ".join(err.split())


def test_every_release_is_drawn_afresh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "groups.csv"
    file.write_text("count\n" + "4\n" * 200)
    words = ("--values", str(file), "--max", "8", "--epsilon", "0.5", "--json")
    assert run(capsys, *words)[0] != run(capsys, *words)[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--option", "properties=F"), "mechanism em: the best fair mechanism"),
        (("--option", "properties=CM,S"), "mechanism wm: the best column monotone mechanism"),
        (("--option", "properties=WH"), "mechanism lp: the best weakly honest mechanism"),
        (("--option", 'properties=["RM"]'), "mechanism gm: the best of all"),
        (("--option", "objective=L1"), "mechanism lp: best for the objective"),
        (("--mechanism", "lp", "--option", "objective=L0,1", "--option", "properties=WH"), "L0,1 0."),
        (("--mechanism", "lp", "--option", "local=true"), "likelier under one of any two counts than"),
        (("--mechanism", "lp", "--option", "within=2"), "likelier under one of two counts up to 2 apart"),
        (("--mechanism", "lp", "--option", "weights=9,1,1,1,1,1,1"), "mechanism lp"),
        (("--option", "workload=mean,at-least:4*2", "--option", "objective=L2"), "workload "),
        (("--mechanism", "em", "--option", "tie=l1"), "properties: RH RM CH CM F WH S"),
        (("--mechanism", "um"), "wrong 85.7%"),
    ],
    ids=str,
)
def test_mechanisms_and_options(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "2", "--max", "6", "--epsilon", "0.2", *words)
    assert said in out


@pytest.mark.parametrize("objective", ["L1", "L2"])
def test_pathologies_are_warned_about(objective: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("2", "--max", "4", "--epsilon", "0.1", "--mechanism", "lp", "--option", f"objective={objective}")
    assert "warning: never reports 0-1, 3-4: ask for property WH" in run(capsys, *words)[0]
    assert "warning" not in run(capsys, *words, "--option", "properties=CH")[0]


def test_the_heat_map(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("2", "--max", "4", "--epsilon", "0.5", "--mechanism", "em")
    out, _ = run(capsys, *words, "--show")
    assert "output (down) for input (across)" in out
    assert sum("█" in line for line in out.splitlines()) >= 5
    out, err = run(capsys, *words, "--show", "--json")
    json.loads(out)
    assert "output (down)" in " ".join(err.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("9", "--max", "8", "--epsilon", "1"), "count must be an integer in 0..8"),
        (("\u0663", "--max", "8", "--epsilon", "1"), "count must be an integer in 0..8"),
        (("--max", "8", "--epsilon", "1"), "give one COUNT, or --values FILE"),
        (("3", "--max", "201", "--epsilon", "1"), "201 is not in the range 1<=x<=200"),
        (("3", "--max", "8", "--epsilon", "0"), "is not in the range 0<x<=50"),
        (("3", "--max", "8", "--epsilon", "1", "--option", "tie"), "--option must be K=V, got 'tie'"),
        (("3", "--max", "8", "--epsilon", "1", "--mechanism", "gm", "--option", "tie=l1"), "unknown key 'tie'"),
        (("3", "--max", "8", "--epsilon", "1", "--option", "properties=QQ"), "options.properties must hold RH"),
        (("3", "--max", "8", "--epsilon", "1", "--option", "weights=1,2"), "options.weights must have 9 numbers"),
        (("30", "--max", "200", "--epsilon", "0.2", "--mechanism", "wm", "--seconds", "0.01"), "was not solved in its"),
    ],
    ids=str,
)
def test_bad_input_is_one_line(words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, *words, code=2)
    assert out == ""
    assert message in " ".join(err.split())


def test_a_bad_cell_is_named_by_line_and_column_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "groups.csv"
    file.write_text("group,count\n1,3\n2,777\n")
    _, err = run(capsys, "--values", str(file), "--max", "8", "--epsilon", "1", code=2)
    assert "line 3, column 2: count must be an integer in 0..8" in err
    assert "777" not in err
    file.write_text("value\n3\n")
    _, err = run(capsys, "--values", str(file), "--max", "8", "--epsilon", "1", code=2)
    assert "has no column 'count'; found: value. Use --column value." in err


def test_survey_show_has_properties_warnings_and_a_heat_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "visits.toml"
    file.write_text(
        'name = "visits"\nmechanism = "lp"\nepsilon = 0.1\n[domain]\nkind = "count"\nmax = 4\n'
        '[options]\nobjective = "L2"\n'
    )
    assert cli.run(["survey", "show", str(file)]) == 0
    out = capsys.readouterr().out
    assert "Properties: RH RM S." in out
    assert "2 ██████████ 1.000" in out
    assert "0 ·········· 0.000" in out
    assert "Warning: never reports 0-1, 3-4" in out
    assert "No standard error can be told beforehand: what is reported leaves values open." in out
    assert "what to expect" not in out
    assert cli.run(["survey", "show", str(file), "--json"]) == 0
    description = json.loads(capsys.readouterr().out)
    assert description["properties"] == ["RH", "RM", "S"]
    assert len(description["heat_map"]) == 7
    assert "matrix" in description["definition"]["options"]
