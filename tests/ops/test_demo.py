"""The demo's truth is the truth, its surveys exist, and the demo itself runs (slow tier)."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import redis
from scipy.stats import binom

from hearsay.collector.survey.survey import load
from hearsay.mechanisms.catalogue import parse_domain as parse
from hearsay.mechanisms.estimates.cells import ExactCells
from hearsay.mechanisms.questions import answer, parse_text
from hearsay.ops.demo.play import play
from hearsay.ops.demo.scene import SURVEYS, demo_surveys
from hearsay.ops.demo.screen import COLUMNS, comparison, most_by_chance, table, verdict
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.ops.terminal.layout import layout


@pytest.mark.parametrize("path", sorted(SURVEYS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_example_survey_can_be_loaded(path: Path) -> None:
    assert load(path).name == path.stem


def test_truth_on_a_line() -> None:
    truth = ExactCells.of(parse({"kind": "ordinal", "size": 4}), np.array([0, 1, 1, 3]))
    assert [a.value for a in answer(parse_text("frequencies"), truth)] == [0.25, 0.5, 0.0, 0.25]
    assert answer(parse_text("range 1 2"), truth)[0].value == 0.5
    assert [a.value for a in answer(parse_text("quantile 0.5 0.9"), truth)] == [1, 3]


def test_truth_on_a_grid() -> None:
    truth = ExactCells.of(parse({"kind": "grid", "sizes": [2, 3]}), np.array([[0, 0], [0, 2], [1, 1], [1, 2]]))
    assert answer(parse_text("range 0:1 2:2"), truth)[0].value == 0.5
    assert answer(parse_text("point 1 1"), truth)[0].value == 0.25


def test_the_demo_shows_several_kinds() -> None:
    demos = demo_surveys()
    assert len(demos) >= 3
    assert len({demo.survey.mechanism.ID for demo in demos}) >= 10
    assert len({demo.survey.name for demo in demos}) == len(demos)
    assert all(truth.value is not None for demo in demos for truth in demo.truth())


@pytest.mark.slow
def test_the_demo_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hearsay", "demo"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "var" / "demo" / "summary.json").read_text())
    assert not any(row["gross"] for row in rows)
    assert "Misses are expected: about 1 in 20, here " in done.stdout


def test_no_answer_of_the_demo_follows_from_others() -> None:
    (habits,) = [demo for demo in demo_surveys() if demo.survey.name == "daily-habits"]
    cells = [dict(each.cell or {}) for each in habits.truth()]
    assert len(cells) == 5 + 3, "of six shares of a table five, and of each age's two one"
    assert {cell["smokes"] for cell in cells if "smokes" in cell} == {"no"}


def row(truth: float, low: float, high: float) -> dict[str, Any]:
    found = {"survey": "s", "query": "point a", "truth": truth, "estimate": (low + high) / 2, "low": low, "high": high}
    return {**found, "holds": low <= truth <= high}


def test_a_miss_is_shown_with_the_digits_that_tell_why() -> None:
    (shown,) = table([row(0.36899, 0.36902, 0.41)])
    assert shown[2:] == ["0.36899", "0.38951", "0.36902", "0.41000", "no"]
    (held,) = table([row(0.38, 0.36902, 0.41)])
    assert held[2] == "0.380"


@pytest.mark.parametrize("intervals", [1, 10, 40, 200])
def test_the_band_of_chance_is_the_binomial_one(intervals: int) -> None:
    most = most_by_chance(intervals)
    assert binom.sf(most, intervals, 0.05) <= 0.001 < binom.sf(most - 1, intervals, 0.05)


def test_the_demo_says_whether_chance_explains_its_misses() -> None:
    rows = [row(0.5, 0.4, 0.6)] * 37 + [row(0.7, 0.4, 0.6)] * 3
    assert verdict(rows) == "Misses are expected: about 1 in 20, here 3 of 40; chance alone gives 0 to 7."
    assert verdict([row(0.7, 0.4, 0.6)] * 9 + rows[:31]).endswith("that chance alone gives: something is wrong.")


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_the_final_table_fits_every_terminal(width: int) -> None:
    rows = []
    for demo in demo_surveys():
        answers = [replace(each, stderr=0.01 * (each.value or 1), band=None, interval=None) for each in demo.truth()]
        rows += comparison(demo, answers)
    laid = layout(COLUMNS, table(rows), width)
    assert max(map(len, laid.lines)) <= width
    assert laid.lines[0].startswith("survey "), "a table, not blocks"


def test_the_demo_takes_a_server_of_the_users_own(
    tmp_path: Path, server: EmbeddedServer, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the embedded one is started, and nothing is left behind."""
    # Without rounds: a round waits for all of its people.
    plain = [demo for demo in demo_surveys() if demo.survey.mechanism.rounds == 1]
    small = [replace(demo, people=demo.people[:20_000], questions=demo.questions[:1]) for demo in plain]
    monkeypatch.setattr("hearsay.ops.demo.play.demo_surveys", lambda: small)
    monkeypatch.setattr("hearsay.ops.demo.scene.SECONDS", 1.0)
    client.set("mine", "untouched")
    play(tmp_path, server.url)
    rows = json.loads((tmp_path / "summary.json").read_text())
    assert [demo.survey.name for demo in small] == list(dict.fromkeys(row["survey"] for row in rows))
    assert not (tmp_path / "redis").exists()
    left = list(client.scan_iter())
    assert [key for key in left if not key.startswith(b"rq:")] == [b"mine"]
