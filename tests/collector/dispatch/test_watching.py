"""Shards that sleep: asked seldom, written to every ten minutes, and time still counts."""

import pytest
import redis

from hearsay.collector.dispatch import watching
from hearsay.collector.dispatch.watching import Watching
from hearsay.collector.heartbeats import Heartbeat
from hearsay.collector.store.registry import Registry
from hearsay.collector.writer import Writer
from tests.pipeline import buckets, cut_all, fold, singles


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_shard_that_sleeps_is_written_to_every_ten_minutes(client: redis.Redis, prefix: str) -> None:
    shard, clock = buckets(client, prefix, 4).shards[0], Clock()
    watched = Watching(clock)
    assert watched.to_look_at([shard], every=False) == [shard]
    watched.looked(shard, shard.look())
    assert watched.trim_step_s(shard) == 5.0  # nobody knows what went by before
    clock.now += watching.ASLEEP_AFTER_S + 0.1
    assert watched.awake(shard.node, [shard]) == []
    assert watched.to_look_at([shard], every=False) == []
    assert watched.trim_step_s(shard) is None
    clock.now += watching.LOOK_S
    assert watched.to_look_at([shard], every=False) == [shard]
    clock.now += watching.TRIM_S
    step_s = watched.trim_step_s(shard)
    assert step_s is not None
    assert step_s == pytest.approx(5.0 + watching.ASLEEP_AFTER_S + 0.1 + watching.LOOK_S + watching.TRIM_S)


@pytest.mark.parametrize(("retain", "look_s"), [("20s", 10.0), ("30d", watching.LOOK_S)])
def test_time_counts_at_every_look_where_windows_are_deleted_by_it(
    client: redis.Redis, prefix: str, retain: str, look_s: float
) -> None:
    shard, clock = buckets(client, prefix, 4, window={"every": "15s", "retain": retain}).shards[0], Clock()
    watched = Watching(clock)
    watched.looked(shard, shard.look())
    assert watched.trim_step_s(shard) == 5.0
    for _ in range(3):
        clock.now += look_s - 0.1
        assert watched.to_look_at([shard], every=False) == []
        clock.now += 0.2
        assert watched.to_look_at([shard], every=False) == [shard]
        watched.looked(shard, shard.look())
        assert watched.trim_step_s(shard) == pytest.approx(5.0 + look_s + 0.1)


def test_the_time_of_a_long_sleep_counts(client: redis.Redis, prefix: str) -> None:
    shard = buckets(client, prefix, 4).shards[0]
    shard.trim()
    before = shard.look().observed_ms
    client.hincrby(shard.keys.meta, "observed_at", -600_000)  # ten minutes went by
    shard.node.run(*shard.trim_call(605.0))
    assert 600_000 <= shard.look().observed_ms - before <= 605_000
    client.hincrby(shard.keys.meta, "observed_at", -86_400_000)  # the clock jumped by a day
    shard.node.run(*shard.trim_call(5.0))
    assert shard.look().observed_ms - before <= 611_000


def test_a_report_wakes_its_shard(client: redis.Redis, prefix: str) -> None:
    shard, clock = buckets(client, prefix, 4).shards[0], Clock()
    watched = Watching(clock)
    assert watched.awake(shard.node, [shard]) == [shard]
    clock.now += watching.ASLEEP_AFTER_S + 0.1
    assert watched.awake(shard.node, [shard]) == []
    Writer(shard).publish(singles(shard, [1]), 1)
    assert watched.awake(shard.node, [shard]) == []  # it was asked a moment ago
    clock.now += watching.PROBE_S
    assert watched.awake(shard.node, [shard]) == [shard]
    (found,) = cut_all(shard)
    watched.looked(shard, shard.look())  # a range is out
    clock.now += watching.ASLEEP_AFTER_S - 0.1
    assert watched.to_look_at([shard], every=False) == [shard]
    assert fold(shard, found) == "ok"


def test_marks_are_found_without_looking_through_all_keys(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    Heartbeat(registry, "worker", "one").beat()
    registry.complaints.complain("estimator", "buckets", "no space left")
    nodes = registry.servers.nodes()
    before = [int(node.client.info("commandstats").get("cmdstat_scan", {}).get("calls", 0)) for node in nodes]
    assert [mark.process for mark in registry.heartbeats.marks()] == ["one"]
    assert [complaint.words for complaint in registry.complaints.all()] == ["no space left"]
    after = [int(node.client.info("commandstats").get("cmdstat_scan", {}).get("calls", 0)) for node in nodes]
    assert after == before
