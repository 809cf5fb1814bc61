"""The protocol under anything that can happen, in any order: thousands of sequences against the real scripts."""

import pytest
import redis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.clock import turn_clocks
from tests.collector.protocol import Protocol


@pytest.mark.parametrize(
    "sequences", [100, pytest.param(2_000, marks=pytest.mark.slow)], ids=["a hundred", "two thousand"]
)
def test_every_report_counts_once_whatever_happens(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch, sequences: int
) -> None:
    clock = turn_clocks(monkeypatch, client)
    monkeypatch.setattr("hearsay.collector.writer.FIRST_PAUSE_S", 0.0)
    run_state_machine_as_test(
        lambda: Protocol(client, prefix, clock),
        settings=settings(
            max_examples=sequences,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
