"""`hearsay simulate --mode`: three ways to collect, one answer."""

import json
from pathlib import Path

import pytest

from hearsay.mechanisms.metric.collector_modes import MODES
from hearsay.ops import cli

SURVEY = """
name = "places"
mechanism = "{mechanism}"
epsilon = 1.0
[domain]
kind = "grid"
axes = [{{ name = "east", size = 4 }}, {{ name = "north", size = 3 }}]
"""
WEIGHTS = '[options]\nweights = "public"\n'


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("places.toml").write_text(SURVEY.format(mechanism="metric-l1"))
    Path("values.csv").write_text("north,east\n" + "0,1\n2,3\n1,1\n2,0\n" * 500)


@pytest.mark.usefixtures("files")
def test_all_modes_give_the_same_answer(capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for mode in MODES:
        words = ["simulate", "places.toml", "--values", "values.csv", "--seed", "1", "--json"]
        assert cli.run([*words, "--mode", mode, "--ask", "range 0:1 0:1"]) == 0
        found[mode] = json.loads(capsys.readouterr().out)
    values = [each["answers"][0]["value"] for each in found.values()]
    assert values == pytest.approx([values[0]] * 3)
    assert abs(values[0] - 0.5) < 6 * found["prefix-sums"]["answers"][0]["stderr"]
    kept = {mode: each["kept_bytes"] for mode, each in found.items()}
    assert kept == {"prefix-sums": 8 * 12, "single-frequencies": 8 * 12, "on-the-fly": 2_000}
    assert found["single-frequencies"]["answers"][0]["stderr"] is None
    fly, sums = (found[mode]["answers"][0]["stderr"] for mode in ("on-the-fly", "prefix-sums"))
    assert fly == pytest.approx(sums, rel=0.2)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("survey", "options", "message"),
    [
        (SURVEY.format(mechanism="metric-l1"), "--mode on-the-fly", "--mode goes with one --ask"),
        (SURVEY.format(mechanism="metric-l1"), "--mode on-the-fly --truth", "--mode goes with one --ask"),
        (SURVEY.format(mechanism="metric-l1"), "--mode on-the-fly --ask cdf", "--ask must be a range or a prefix"),
        (SURVEY.format(mechanism="olh"), "--mode on-the-fly --ask cdf", "without weights, got olh"),
        (SURVEY.format(mechanism="metric-l1") + WEIGHTS, "--mode on-the-fly --ask cdf", "got metric-l1 with weights"),
    ],
)
def test_what_is_refused(survey: str, options: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("places.toml").write_text(survey)
    assert cli.run(["simulate", "places.toml", "--values", "values.csv", *options.split()]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
