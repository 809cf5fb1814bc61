"""`hearsay bench peers`: what counts as faster and as no worse, without the libraries themselves."""

import json
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hearsay.ops.bench import peers
from hearsay.ops.bench.libraries import SHARED, Cells, Clock, Run
from hearsay.ops.bench.peers import Comparison, compare
from hearsay.ops.cli import run

GOOD = Comparison("grr", 1024, 0.01, 0.01, "other", 2.0, 200_000, error=1.0, their_error=1.0, of_ceiling=None)


def slow_copy(cells: Cells, size: int, epsilon: float, clock: Clock) -> Run:
    """A library that returns the truth with the noise of a good one, and says that it took a millisecond a report."""
    noise = np.random.default_rng(1).normal(0, np.sqrt(5 / len(cells)), size)
    return Run(len(cells) * 1e-3, 0.0, np.bincount(cells, minlength=size) / len(cells) + noise)


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, True),
        ({"their_s": 0.9}, False),
        ({"their_s": 0.04, "perturb_s": 0.1}, True),
        ({"of_ceiling": 0.6, "their_s": 0.2}, True),
        ({"of_ceiling": 0.4, "their_s": 0.2}, False),
        ({"of_ceiling": 0.6, "their_s": 0.09}, False),
        ({"error": 1.15}, True),
        ({"error": 1.25}, False),
    ],
)
def test_what_holds(changes: dict[str, Any], holds: bool) -> None:
    assert replace(GOOD, **changes).holds is holds


def test_every_shared_mechanism_names_its_libraries() -> None:
    assert set(SHARED) == {"grr", "sue", "oue", "ss", "olh", "hrr", "hr"}
    assert all(SHARED.values())


def test_a_slow_library_gets_fewer_reports_and_its_time_is_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHARED, "oue", {"other": slow_copy})
    (found,) = compare("oue", 64, 20_000, budget_s=1.0)
    assert found.their_reports == 1000
    assert found.their_s == pytest.approx(20.0)
    assert found.of_ceiling is not None
    assert 0.1 < found.error < 3


def test_shares_that_were_cut_and_normalised_meet_ours_treated_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    def perfect(cells: Cells, size: int, epsilon: float, clock: Clock) -> Run:
        return Run(1.0, 0.0, np.bincount(cells, minlength=size) / len(cells))

    monkeypatch.setitem(SHARED, "grr", {"other": perfect})
    (normalised,) = compare("grr", 1024, 5_000, budget_s=1e9)
    monkeypatch.setitem(SHARED, "grr", {"other": slow_copy})
    (raw,) = compare("grr", 1024, 5_000, budget_s=1e9)
    assert normalised.error < 0.1 * raw.error


def test_the_command_prints_one_row_a_library(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "PACKAGES", {})
    monkeypatch.setitem(SHARED, "hrr", {"one": slow_copy, "two": slow_copy})
    assert run(["bench", "peers", "--mechanism", "hrr", "--size", "64", "--reports", "2000", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["library"] for row in rows] == ["one", "two"]
    assert all(row["their s"] == pytest.approx(2.0) for row in rows)


def test_a_missing_library_is_named_with_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pure_ldp", None)
    monkeypatch.setitem(sys.modules, "pure_ldp.frequency_oracles", None)
    assert run(["bench", "peers"]) == 2
    assert "pip install 'hearsay-ldp[peers]'" in capsys.readouterr().err


def test_a_missed_target_fails_only_where_a_check_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PACKAGES", {})
    monkeypatch.setattr(peers, "compare", lambda *arguments: [replace(GOOD, their_s=0.5)])
    arguments = ["bench", "peers", "--mechanism", "grr", "--size", "64"]
    assert run(arguments) == 0
    assert run([*arguments, "--check"]) == 1
