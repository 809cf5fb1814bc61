"""Surveys that sleep are asked whether anything was published, and nothing else."""

import redis

from hearsay.collector.store.registry import Registry
from hearsay.collector.writer import Writer
from hearsay.estimator import attention
from hearsay.estimator.attention import Attention
from tests.pipeline import buckets, fold_all, singles


def test_a_survey_that_sleeps_is_asked_one_thing(client: redis.Redis, prefix: str) -> None:
    registered, now = buckets(client, prefix, 4), [1_000.0]
    shard, watched = registered.shards[0], Attention(lambda: now[0])
    assert watched.due([registered]) == [registered]
    watched.looked(registered.look(), busy=False)
    now[0] += attention.ASLEEP_AFTER_S + 0.1
    assert watched.due([registered]) == []  # asked, and nothing is new
    Writer(shard).publish(singles(shard, [1]), 1)
    assert watched.due([registered]) == []  # it was asked a moment ago
    now[0] += attention.PROBE_S
    assert watched.due([registered]) == [registered]
    watched.looked(registered.look(), busy=False)  # it waits to be folded
    now[0] += attention.ASLEEP_AFTER_S - 0.1
    assert watched.due([registered]) == [registered]
    fold_all(shard)
    watched.looked(registered.look(), busy=True)
    now[0] += attention.ASLEEP_AFTER_S + 0.1
    assert watched.due([registered]) == []
    now[0] += attention.LOOK_S
    assert watched.due([registered]) == [registered]


def test_a_survey_whose_windows_are_soon_deleted_is_looked_at_sooner(client: redis.Redis, prefix: str) -> None:
    registered, now = buckets(client, prefix, 4, window={"every": "1d", "retain": "40s"}), [1_000.0]
    watched = Attention(lambda: now[0])
    watched.due([registered])
    watched.looked(registered.look(), busy=False)
    now[0] += 19.0
    assert watched.due([registered]) == []
    now[0] += 1.0
    assert watched.due([registered]) == [registered]


def test_what_was_seen_stays_known_until_the_survey_is_deleted(client: redis.Redis, prefix: str) -> None:
    registered = buckets(client, prefix, 4)
    watched = Attention()
    watched.due([registered])
    watched.looked(registered.look(), busy=False)
    watched.lost("buckets", TimeoutError())
    assert list(watched.looks) == list(watched.failed) == ["buckets"]
    Registry(client, prefix).delete("buckets")
    watched.forget_all_but([])
    assert not watched.looks
    assert not watched.failed


def test_a_survey_that_sleeps_is_looked_at_when_writers_are_refused_for_memory(
    client: redis.Redis, prefix: str
) -> None:
    """Nothing is published then, and the metrics would say for a minute that nobody waits."""
    registered, now = buckets(client, prefix, 4), [1_000.0]
    shard, watched = registered.shards[0], Attention(lambda: now[0])
    watched.due([registered])
    watched.looked(registered.look(), busy=False)
    now[0] += attention.ASLEEP_AFTER_S + 0.1
    assert watched.due([registered]) == []
    client.hset(shard.keys.published, "memory_at", shard.now_ms())  # as PUBLISH notes it
    now[0] += attention.PROBE_S
    assert watched.due([registered]) == [registered]
    seen = registered.look()
    assert seen.shards[0].pressure == "memory"
    watched.looked(seen, busy=False)
    now[0] += attention.ASLEEP_AFTER_S - 0.1
    assert watched.due([registered]) == [registered]  # writers wait: it stays awake
