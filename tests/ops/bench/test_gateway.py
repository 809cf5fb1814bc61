"""The bench of the gateway, at a small size: it measures what it says."""

from pathlib import Path

import pytest

from hearsay.ops.bench import gateway
from hearsay.ops.commands.bench import BENCHES

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor time in /proc")


def test_every_question_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("REQUESTS", 1_500), ("CONNECTIONS", 64), ("TURNS", 1), ("IDS", 40_000)):
        monkeypatch.setattr(gateway, name, value)
    rows = list(gateway.rows())
    assert [row.unit for row in rows] == ["requests/s of a core", "requests/s of a core", "us", "bytes"]
    for row in rows[:2]:
        assert row.ratio is not None
        assert 0.2 < row.ratio < 5.0  # a busy machine; the targets are asked of the bench itself
    assert 20 < rows[3].value < gateway.ID_BYTES + 20  # few ids: the hash's table is not full


def test_it_is_a_part_of_the_bench() -> None:
    assert BENCHES["gateway"] == gateway.__name__
