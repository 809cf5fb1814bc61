"""The surveys in ops/surveys: each can be shown in words, and each keeps its promise under a small attack."""

import json
from pathlib import Path

import pytest

from hearsay.ops import cli
from hearsay.ops.demo.scene import SURVEYS

EXAMPLES = sorted(SURVEYS.glob("*.toml"))
LONG_AUDITS = {"page-load", "app-use"}  # two minutes: all bits of a hierarchy over 512 cells are compared; 16 s
AUDITED = [pytest.param(path, marks=pytest.mark.slow if path.stem in LONG_AUDITS else ()) for path in EXAMPLES]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_is_promised_is_shown(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["survey", "show", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    words = shown["guarantee"]["words"]
    assert "epsilon" in words or "times likelier" in words
    assert all(stderr > 0 for kinds in shown["predicted_stderr"].values() for stderr in kinds.values())


@pytest.mark.parametrize("path", AUDITED, ids=lambda path: path.stem)
def test_a_small_audit_holds(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["audit", str(path), "--draws", "1000", "--seed", "1", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["holds"] is True
    assert found["pairs"]


def test_checks_and_measurements_are_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n  {name} " in listed for name in ("audit", "bench", "experiment"))
    assert cli.run(["audit", "--help"]) == 0
    assert "MECHANISM|SURVEY.toml" in capsys.readouterr().out
