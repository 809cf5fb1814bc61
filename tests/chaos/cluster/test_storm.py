"""A minute of everything that can go wrong on a cluster; `make chaos CLUSTER=1` runs it for longer."""

import time
from pathlib import Path

import pytest

from tests.chaos.cluster.storm import run

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds worker processes in /proc")


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_in_a_storm_on_a_cluster(tmp_path: Path) -> None:
    assert run(1.0, int(time.time()), tmp_path) == 0
