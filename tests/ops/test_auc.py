"""`hearsay query auc` on the example survey: a table, JSON, and one line where it cannot be answered."""

import json
from pathlib import Path

import numpy as np
import pytest

from hearsay.ops import cli
from hearsay.ops.demo.scene import SURVEYS
from tests.mechanisms.queries.test_auc import labelled, true_area


@pytest.fixture
def snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    cells = labelled(5_000, 32)
    rows = [f"{(cell + 0.5) / 32},{'paid' if label else 'default'}" for label, cell in cells]
    (tmp_path / "values.csv").write_text("score,label\n" + "\n".join(rows) + "\n")
    survey = SURVEYS / "risk-score.toml"
    words = ["simulate", str(survey), "--values", str(tmp_path / "values.csv"), "--out", str(tmp_path / "s")]
    assert cli.run([*words, "--seed", "2"]) == 0
    capsys.readouterr()
    return tmp_path / "s"


def test_the_area_is_within_its_error(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["query", "--snapshot", str(snapshot), "auc", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert abs(found["value"] - true_area(labelled(5_000, 32))) < 5 * found["stderr"] < 1
    np.testing.assert_allclose(
        [found["low"], found["high"]], found["value"] + 1.96 * found["stderr"] * np.array([-1, 1])
    )
    assert json.loads((snapshot / "snapshot.json").read_text())["answers"][0] == found
    assert cli.run(["query", "--snapshot", str(snapshot), "auc"]) == 0
    assert "auc" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "says"), [("auc 1", "takes no argument"), ("auc --count", "count does not apply")])
def test_refusals_are_one_line(snapshot: Path, capsys: pytest.CaptureFixture[str], words: str, says: str) -> None:
    assert cli.run(["query", "--snapshot", str(snapshot), *words.split()]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
