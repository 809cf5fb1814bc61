"""Surveys, windows, viewers and streams in numbers: the short form of `viewers`."""

from pathlib import Path

import pytest

from tests.estimator.serving.viewers import measure


@pytest.mark.slow
def test_viewers_cost_little_and_delay_nothing(tmp_path: Path) -> None:
    seen = measure(tmp_path, 50, 20, 15)
    assert seen.overview_p95_ms < 1_000  # 200 on a machine that does nothing else
    assert seen.viewers_share < 0.15  # 0.05 over a minute
    assert seen.pages_share < 0.15
    for gap in (seen.longest_gap_viewed_s, seen.longest_gap_streams_s):
        assert gap < seen.longest_gap_s + 3
    assert seen.overview_streams_ms < 3_000
