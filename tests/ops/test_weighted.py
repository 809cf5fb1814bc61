"""Weighted ranges from the survey file to the answer: unbiased, the same everywhere, and without a private weight."""

import json
from pathlib import Path

import numpy as np
import pytest

from hearsay.collector.survey.survey import Survey, parse
from hearsay.estimator.snapshots import files as snapshot
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.questions import answer, parse_text
from hearsay.ops import cli
from hearsay.ops.simulate.simulation import simulate

AXES = [{"name": "age", "size": 6}, {"name": "spent", "low": 10.0, "high": 50.0, "bins": 8}]
SURVEY = """
name = "spending"
mechanism = "metric-l1"
epsilon = 1.5
[domain]
kind = "grid"
axes = [{{ name = "age", size = 6 }}, {{ name = "spent", low = 10.0, high = 50.0, bins = 8 }}]
[options]
weights = "{weights}"
"""


def survey(weights: str, axes: list[dict] = AXES) -> Survey:
    domain = {"kind": "grid", "axes": axes}
    return parse({"name": "spending", "mechanism": "metric-l1", "epsilon": 1.5, "domain": domain,
                  "options": {"weights": weights}})  # fmt: skip


def people(count: int) -> np.ndarray:
    """Cells of age and weight, which rise together."""
    age = np.random.default_rng(1).integers(0, 6, count)
    return np.stack([age, np.minimum(age + np.arange(count) % 3, 7)], axis=1)


@pytest.mark.parametrize("weights", ["public", "private"])
def test_the_whole_path_is_unbiased_and_knows_its_error(weights: str) -> None:
    cells, asked, runs = people(1_500), survey(weights), 150
    middle = 12.5 + 5 * cells[:, 1]
    truth = (middle * ((cells[:, 0] >= 1) & (cells[:, 0] <= 3))).mean()
    found = [
        answer(parse_text("weighted 1 3"), simulate(asked, cells, seeded(run)).estimate)[0]  # type: ignore[arg-type]
        for run in range(runs)
    ]
    values, stderrs = (np.array([getattr(each, name) for each in found]) for name in ("value", "stderr"))
    assert abs(values.mean() - truth) < 5 * values.std() / np.sqrt(runs)
    ratio = np.sqrt((stderrs**2).mean()) / values.std()
    assert 0.75 < ratio < 1.35  # private: never too small, up to what nobody sees of the weights


@pytest.mark.parametrize("weights", ["public", "private"])
def test_from_the_command_line(weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY.format(weights=weights))
    rows = people(4_000)
    lines = [f"{12.5 + 5 * weight},{age}" for age, weight in rows.tolist()]
    (tmp_path / "values.csv").write_text("spent,age\n" + "\n".join(lines) + "\n")
    out = str(tmp_path / "s")
    words = ["simulate", str(tmp_path / "survey.toml"), "--values", str(tmp_path / "values.csv"), "--out", out]
    assert cli.run([*words, "--seed", "7"]) == 0
    capsys.readouterr()

    def ask(*words: str) -> dict:
        assert cli.run(["query", "--snapshot", out, "--json", *words]) == 0
        return json.loads(capsys.readouterr().out)

    truth = ((12.5 + 5 * rows[:, 1]) * (rows[:, 0] >= 3)).mean()
    (mean,) = ask("weighted", "3", "5")
    assert abs(mean["value"] - truth) < 6 * mean["stderr"]
    (total,) = ask("weighted", "3", "5", "--count")
    assert total["value"] == pytest.approx(4_000 * mean["value"])
    assert len(ask("frequencies")) == 6, "shares are about the other axes"
    assert abs(ask("range", "3", "5")[0]["value"] - (rows[:, 0] >= 3).mean()) < 0.1
    assert ask("point", "2")[0]["item"] == 2
    metadata = json.loads((tmp_path / "s" / "snapshot.json").read_text())
    assert metadata["simultaneous"]["cells"] == 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["weighted", "3"], "query weighted needs two ends, as in `weighted A B`, got 1"),
        (["weighted", "4", "2"], "age range must not be reversed, got 4 above 2; swap the two ends"),
        (["weighted", "2:3", "10:20"], "age must be an integer in 0..5, got 2:3"),
        (["weighted", "2", "3", "--postprocess", "clip"], "postprocess clip applies to"),
        (["weighted"], "query weighted needs an argument"),
    ],
)
def test_what_is_refused(words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot.write(tmp_path / "s", simulate(survey("public"), people(100), seeded(1)))
    assert cli.run(["query", "--snapshot", str(tmp_path / "s"), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_survey_without_weights_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ({"weights": "none"}, {}):
        plain = parse({"name": "plain", "mechanism": "metric-l1" if options else "haar", "epsilon": 1.0,
                       "domain": {"kind": "ordinal", "size": 8}, "options": options})  # fmt: skip
        snapshot.write(tmp_path / "s", simulate(plain, np.arange(100) % 8, seeded(1)))
        assert cli.run(["query", "--snapshot", str(tmp_path / "s"), "weighted", "2", "5"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line == (
            "hearsay: the survey's mechanism cannot answer weighted, which needs weights (options.weights public or "
            "private); on domains of kind ordinal use metric-l1"
        )


def test_a_weight_outside_its_range_is_refused_without_showing_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY.format(weights="private"))
    (tmp_path / "values.csv").write_text("age,spent\n2,20\n3,77.25\n")
    words = ["simulate", str(tmp_path / "survey.toml"), "--values", str(tmp_path / "values.csv"), "--out"]
    assert cli.run([*words, str(tmp_path / "s")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "line 3, column 2: spent must be" in line
    assert "77" not in line


def test_a_private_weight_reaches_neither_the_wire_nor_the_snapshot() -> None:
    """All that is ever sent is the values' signs and one bit, which is both 0 and 1 under every weight."""
    private = survey("private")
    assert private.mechanism.layout.single.scalars == ()
    assert private.mechanism.layout.single.vector.length == 5 + 1
    for weight in range(8):
        reports = private.mechanism.perturb(np.tile([[2, weight]], (500, 1)), seeded(weight))
        assert set((reports["bits"][:, 0] >> 5).tolist()) == {0, 1}
    content = simulate(private, people(500), seeded(1))
    assert {name: array.shape for name, array in content.arrays().items()} == {
        "state/observation": (6, 2), "estimate": (6,), "stderr": (6,),
    }  # fmt: skip
