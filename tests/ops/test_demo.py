"""The demo's truth is the truth, its surveys exist, and the demo itself runs (slow tier)."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import redis

from hearsay.collector.survey.survey import load
from hearsay.mechanisms.catalogue import parse_domain as parse
from hearsay.mechanisms.estimates.cells import ExactCells
from hearsay.mechanisms.questions import answer, parse_text
from hearsay.ops.demo.play import play
from hearsay.ops.demo.scene import SURVEYS, acts
from hearsay.ops.server.embedded import EmbeddedServer


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
    players = acts()
    assert len(players) >= 3
    assert len({act.survey.mechanism.ID for act in players}) >= 10
    assert len({act.survey.name for act in players}) == len(players)
    assert all(truth.value is not None for act in players for truth in act.truth())


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
    assert "intervals hold the truth" in done.stdout


def test_the_demo_takes_a_server_of_the_users_own(
    tmp_path: Path, server: EmbeddedServer, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the embedded one is started, and nothing is left behind."""
    plain = [act for act in acts() if act.survey.mechanism.rounds == 1]  # a round waits for all of its people
    small = [replace(act, people=act.people[:20_000], questions=act.questions[:1]) for act in plain]
    monkeypatch.setattr("hearsay.ops.demo.play.acts", lambda: small)
    monkeypatch.setattr("hearsay.ops.demo.scene.SECONDS", 1.0)
    client.set("mine", "untouched")
    play(tmp_path, server.url)
    rows = json.loads((tmp_path / "summary.json").read_text())
    assert [act.survey.name for act in small] == list(dict.fromkeys(row["survey"] for row in rows))
    assert not (tmp_path / "redis").exists()
    left = list(client.scan_iter())
    assert [key for key in left if not key.startswith((b"rq:", b"demo-"))] == [b"mine"]
    assert [key for key in left if b"{" in key] == []
