"""The page beside 200,000 reports a second, past the 70 s after which requests are cut: `endurance` in short."""

from pathlib import Path

import pytest

from tests.browser.chromium import program
from tests.browser.endurance import watch

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(program() is None, reason="no Chromium on this machine: install Debian's chromium"),
]


def test_updates_go_on_and_nothing_grows(tmp_path: Path) -> None:
    seen = watch(tmp_path, 2.6, 200_000)  # 78 s before the restart, and 78 s after it
    assert seen.reports > 0
    assert seen.updates > 40
    assert seen.longest_pause_s < 20
    assert seen.back_after_s < 5
    assert seen.heap_grew_mb < 10
    assert seen.removed == []
    assert seen.update_ms < 30
    assert seen.eleventh_tab_s < 20
    assert seen.errors == []
