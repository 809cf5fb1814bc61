"""Mistakes in surveys under metric privacy: one line that names the field, exit code 2."""

from pathlib import Path

import pytest

from hearsay.ops import cli

MATRIX = """
name = "metric"
mechanism = "matrix"
epsilon = 1.0
[domain]
kind = "ordinal"
size = 3
[options]
"""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("metric = [[0, 1, 5], [1, 0, 1], [5, 1, 0]]", "from value 0 to 2 it is 5, but 2 by way of 1"),
        ("metric = [[0, 1, 2], [3, 0, 1], [2, 1, 0]]", "the distance from value 0 to 1 is 1, but 3 the other way"),
        ("metric = [[1, 1, 2], [1, 0, 1], [2, 1, 0]]", "the distance of a value to itself is not 0"),
        ("metric = [[0, 0, 1], [0, 0, 1], [1, 1, 0]]", "values 0 and 1 differ, but their distance is 0"),
        ("metric = [[0, -1, 2], [-1, 0, 1], [2, 1, 0]]", "options.metric must be a metric: a distance is negative"),
        ("metric = [[0, 1], [1, 0]]", "options.metric.rows must be 3 x 3"),
        ('metric = "taxi"', "options.metric must be one of"),
        ('metric = "missing.csv"', "options.metric: missing.csv: No such file or directory"),
        ("strategy = [[1, 0, 0], [0, 1, 0]]", "options.strategy must determine the workload: its row 3 is not in"),
        ("strategy = [[1, 1, 1]]", "options.strategy must have a row that tells values apart"),
        (
            "strategy = [[1, 0, 0]]\nworkload = [[1, 0, 0], [0, 1, 0]]",
            "its row 2 is not in the strategy's row space, which has dimension 1 of 3",
        ),
        ("workload = [[1, 0]]", "options.workload must have rows of 3 numbers, one per cell"),
        ("workload = [[0, 0, 0]]", "options.workload[1] must be a list of numbers"),
        ('workload = [[1, 0, "x"]]', "options.workload[1] must be a list of numbers"),
        ('workload = "some"', "options.workload must be cells, ranges or a list"),
        ('strategy = "identity"\nscales = [4.0, 0, 4.0]', "options.scales[2] must be > 0: the row tells values apart"),
        (
            'strategy = "identity"\nscales = [1.0, 1.0, 1.0]',
            "options.scales must keep epsilon times the metric: values",
        ),
        ('strategy = "identity"\nscales = [4.0]', "options.scales must have 3 entries, got 1"),
    ],
)
def test_matrix(
    options: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.toml").write_text(MATRIX + options)
    assert cli.run(["survey", "show", "bad.toml"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("hearsay: survey file bad.toml: ")
    assert message in line


@pytest.mark.parametrize(
    ("domain", "options", "message"),
    [
        ("axes = [{ size = 3 }]\n", 'weights = "public"', "options.weights needs a last axis of numbers"),
        ("sizes = [3, 2]", 'weights = "secret"', "options.weights must be one of none, public, private"),
        ("sizes = [3, 2]", 'weights = "public"\nanchored = false', "options.weights goes with anchored = true"),
        ("sizes = [3, 2]", "dummy = true", "options.dummy goes with anchored = false"),
        ("sizes = [3, 2]", "p = 0.5", "options.p must be a number in 1"),
        ("sizes = [500, 500, 500]", "", "domain needs 125000000 observations, 954 MiB of state for each window"),
    ],
)
def test_metric_l1(
    domain: str,
    options: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    head = 'name = "metric"\nmechanism = "metric-l1"\nepsilon = 1.0\n[domain]\nkind = "grid"\n'
    Path("bad.toml").write_text(f"{head}{domain}\n[options]\n{options}\n")
    assert cli.run(["survey", "show", "bad.toml"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
