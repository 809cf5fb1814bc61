"""`hearsay experiment poisoning`: answers move, and no further than stated."""

from pathlib import Path

import pytest

from hearsay.ops.cli import run
from hearsay.ops.experiments.poisoning import liars
from hearsay.ops.experiments.poisoning.command import poisoning


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liars, "CANDIDATES", 300)
    monkeypatch.setattr(liars, "TABLES", {name: liars.TABLES[name] for name in ("grr", "hrr", "haar", "mean, duchi")})


def test_no_answer_moves_further_than_stated(tmp_path: Path) -> None:
    assert run(["experiment", "poisoning", "--users", "2000", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"poisoning.csv", "poisoning.png"}


def test_a_bound_that_is_too_small_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liars, "moved_by", lambda survey, liars, users: {"point": 0.01, "raised_norms": 1.0})
    monkeypatch.setattr(liars, "TABLES", {"grr": liars.TABLES["grr"]})
    assert "grr, point: moved" in poisoning(2_000, 100, 1).failures[0]
