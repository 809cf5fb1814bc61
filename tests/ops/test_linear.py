"""Linear queries from the survey file to the answer: a workload's rows, sums of one's own, and what is left open."""

import json
from pathlib import Path

import numpy as np
import pytest

from hearsay.collector.survey.survey import parse
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.questions import answer, parse_text
from hearsay.ops import cli
from hearsay.ops.simulate.simulation import simulate

HALVES = [[1, 1, 0, 0], [0, 0, 1, 1]]
WORKLOAD = [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, -1.0, -1.0], [2.0, 2.0, 0.5, 0.5]]
SURVEY = """
name = "visits"
mechanism = "matrix"
epsilon = 2.0
[domain]
kind = "ordinal"
size = 4
[options]
metric = "ldp"
strategy = [[1, 1, 0, 0], [0, 0, 1, 1]]
workload = "workload.csv"
"""
CELLS = np.repeat([0, 1, 2, 3], [900, 300, 500, 300])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A directory with the snapshot `s` of a survey whose strategy tells the halves apart only."""
    monkeypatch.chdir(tmp_path)
    Path("visits.toml").write_text(SURVEY)
    Path("workload.csv").write_text("\n".join(",".join(map(str, row)) for row in WORKLOAD))
    Path("values.csv").write_text("value\n" + "\n".join(map(str, CELLS)) + "\n")
    assert cli.run(["simulate", "visits.toml", "--values", "values.csv", "--out", "s", "--seed", "4"]) == 0
    capsys.readouterr()
    return tmp_path


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict]:
    assert cli.run(["query", "--snapshot", "s", "--json", *words]) == 0
    return list(json.loads(capsys.readouterr().out))


def test_the_workload_is_answered_row_by_row(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "linear")
    truth = np.array(WORKLOAD) @ (np.bincount(CELLS) / len(CELLS))
    assert [each["item"] for each in found] == [1, 2, 3]
    for each, true in zip(found, truth, strict=True):
        assert 0 < each["stderr"] < 0.2
        assert abs(each["value"] - true) < 5 * each["stderr"]
    assert json.loads((files / "s" / "snapshot.json").read_text())["answers"] == found, "the snapshot starts with them"
    (own,) = ask(capsys, "linear", "1", "1", "-1", "-1")
    assert own["value"] == pytest.approx(found[1]["value"])
    assert own["stderr"] == pytest.approx(found[1]["stderr"])


def test_what_the_strategy_leaves_open_is_not_made_up(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [each["value"] for each in ask(capsys, "frequencies")] == [None] * 4
    (half,) = ask(capsys, "range", "0", "1")
    assert abs(half["value"] - 0.6) < 5 * half["stderr"]
    for words in ("range 1 2", "cdf", "quantile 0.5", "linear 1 0 0 0"):
        assert cli.run(["query", "--snapshot", "s", *words.split()]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "a sum that the survey's strategy does not determine" in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("linear 1 2", "query linear needs 4 coefficients, one per cell, got 2"),
        ("linear 1 2 3 x", "coefficient must be a number of at most 1e+09 in size, got x"),
        ("linear 1 2 3 nan", "coefficient must be a number of at most 1e+09 in size, got nan"),
        ("linear --postprocess clip", "postprocess clip applies to"),
    ],
)
def test_what_is_refused(files: Path, capsys: pytest.CaptureFixture[str], words: str, message: str) -> None:
    assert cli.run(["query", "--snapshot", "s", *words.split()]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_the_workload_is_unbiased_with_the_stated_error() -> None:
    table = {"mechanism": "matrix", "epsilon": 2.0, "domain": {"kind": "ordinal", "size": 4}}
    options = {"strategy": HALVES, "workload": WORKLOAD, "metric": "ldp"}
    survey = parse({"name": "visits", **table, "options": options})
    assert set(survey.mechanism.predicted_stderr(100)) == {"linear"}
    truth, runs = np.array(WORKLOAD) @ (np.bincount(CELLS) / len(CELLS)), 300
    found = [
        answer(parse_text("linear"), simulate(survey, CELLS, seeded(run)).estimate)  # type: ignore[arg-type]
        for run in range(runs)
    ]
    errors = np.array([[each.value for each in row] for row in found]) - truth
    stderr = np.array([each.stderr for each in found[0]])
    assert (np.abs(errors.mean(axis=0)) < 5 * stderr / np.sqrt(runs)).all()
    np.testing.assert_allclose(errors.std(axis=0) / stderr, 1, atol=0.22)
    predicted = survey.mechanism.predicted_stderr(len(CELLS))["linear"]
    assert predicted == pytest.approx(np.sqrt((stderr**2).mean()))


def test_a_workload_changes_where_the_noise_goes() -> None:
    """With the identity as strategy, a workload about the first cell leaves most noise to the others."""
    table = {"mechanism": "matrix", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 3}}
    rates = parse(
        {"name": "first", **table, "options": {"strategy": "identity", "metric": "ldp", "workload": [[1, 0, 0]]}}
    ).mechanism.rates  # type: ignore[attr-defined]
    assert rates[0] > 5 * rates[1:].max()


def test_surveys_without_a_workload_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("values.csv").write_text("value\n" + "1\n2\n" * 50)
    for mechanism, message in (
        ("matrix", "query linear needs one coefficient per cell: the survey has no workload of its own"),
        (
            "haar",
            "the survey's mechanism cannot answer linear, which needs the error of any sum of cells; a survey of "
            "kind grid or count has it; on domains of kind ordinal use laplace-histogram, matrix, with metric privacy "
            "instead of the usual promise",
        ),
    ):
        table = f'name = "a"\nmechanism = "{mechanism}"\nepsilon = 1.0\n[domain]\nkind = "ordinal"\nsize = 4\n'
        Path("a.toml").write_text(table)
        assert cli.run(["simulate", "a.toml", "--values", "values.csv", "--out", "a"]) == 0
        capsys.readouterr()
        assert cli.run(["query", "--snapshot", "a", "linear"]) == 2
        assert capsys.readouterr().err == f"hearsay: {message}\n"


@pytest.mark.parametrize("mechanism", ["hierarchical", "haar"])
def test_any_sum_of_a_grid_has_its_error(mechanism: str) -> None:
    table = {"name": "a", "mechanism": mechanism, "epsilon": 2.0, "domain": {"kind": "grid", "sizes": [3, 4]}}
    generator = np.random.default_rng(2)
    cells = np.stack([generator.integers(0, 3, 20_000), generator.integers(0, 4, 20_000)], axis=1)
    estimate = simulate(parse(table), cells, seeded(3)).estimate
    coefficients = np.arange(12) - 4.0
    truth = (coefficients.reshape(3, 4)[tuple(cells.T)]).mean()
    (found,) = answer(parse_text("linear " + " ".join(map(str, coefficients))), estimate)
    assert abs(found.value - truth) < 5 * found.stderr < 1.0
    with pytest.raises(QueryError, match="no workload of its own"):
        answer(parse_text("linear"), estimate)
