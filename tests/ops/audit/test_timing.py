"""The table of times."""

import json

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.ops.audit.timing import _compared, timing
from hearsay.ops.cli import run


def test_the_times_of_a_mechanism_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "grr", "--timing", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["mechanism"] for row in rows} == {"grr (1)", "grr (2)", "grr (3)"}
    assert all(row["microseconds"] > 0 and row["meaning"] for row in rows)


def test_a_difference_is_noticed() -> None:
    medians = np.array([[100.0, 110.0], [101.0, 111.5], [100.0, 110.5]])
    assert _compared(medians, [0, 1], (0, 1)).words.startswith("differs")
    assert _compared(np.array([[100.0, 100.1], [100.1, 100.0]]), [0, 1], (0, 1)).words == "the same"
    assert timing(build({"mechanism": "privkv", "epsilon": 1.0, "domain": {"kind": "key-value", "keys": 3}}))
