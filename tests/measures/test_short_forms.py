"""The measurements of this folder in short, over the real processes."""

from pathlib import Path

import pytest

from hearsay.collector.store.durability import LEVELS, MEMORY
from tests.idle import LIMITS, measure
from tests.measures import slow_surveys
from tests.measures.durable import AT_LEAST, rates, with_replica

pytestmark = pytest.mark.slow


def test_slow_surveys_have_a_short_backlog(tmp_path: Path) -> None:
    seen = slow_surveys.measure(100, 8.0, tmp_path)  # also: all that was published is counted once
    assert seen.oldest_s <= slow_surveys.OLDEST_S, seen


def test_disk_and_replica_have_half_the_rate_of_memory(tmp_path: Path) -> None:
    with with_replica(tmp_path) as client:
        found = rates(client, 4.0, turns=2)
    assert min(found[level] for level in LEVELS) >= AT_LEAST * found[MEMORY], found


@pytest.mark.parametrize("link_s", [0.0, 0.0014], ids=["near", "slow link"])
def test_idle_surveys_ask_and_write_little(tmp_path: Path, link_s: float) -> None:
    seen = measure(50, tmp_path, link_s)
    assert seen.commands_per_s <= LIMITS.commands_per_s, seen
    assert seen.log_bytes_per_s <= LIMITS.log_bytes_per_s, seen
    assert seen.processor <= LIMITS.processor, seen
