"""What no caller can make a script do: fail half-way, take more than the server allows, or stop it for long."""

import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.writer import Writer
from tests.pipeline import buckets, fold_all, singles, watched


@pytest.mark.parametrize("words", [("one", 1), (1.5, 1), (1, "many"), (1, -1), (-1, 1)])
def test_a_publish_that_is_wrong_appends_nothing(
    client: redis.Redis, prefix: str, words: tuple[object, object]
) -> None:
    store = buckets(client, prefix, 10).shards[0]
    number, reports = words
    with pytest.raises(redis.exceptions.ResponseError, match="PUBLISH needs whole numbers"):
        store.publish("w", number, singles(store, [1]), reports)  # type: ignore[arg-type]
    assert client.xlen(store.keys.stream) == client.llen(store.keys.marks) == client.hlen(store.keys.writers) == 0


def test_limits_are_the_servers_not_the_callers(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BACKLOG_ENTRIES", 3)
    store = buckets(client, prefix, 10).shards[0]
    monkeypatch.setattr(limits, "BACKLOG_ENTRIES", 1_000)  # a caller with limits of its own
    assert store.publish("w", 1, singles(store, range(3)), 3).status == "ok"
    assert store.publish("w", 2, singles(store, [3]), 1).cause == "backlog"


def test_a_million_writers_do_not_stop_the_server(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    for start in range(0, 100_000, 10_000):
        client.hset(store.keys.writers, mapping={f"w{number}": "1 0" for number in range(start, start + 10_000)})
    watched(client, store, limits.DEDUP_WINDOW_S + 1)
    client.config_resetstat()
    store.trim()
    assert client.info("commandstats")["cmdstat_evalsha"]["usec"] < 20_000  # of all 100,000 at once: 140,000
    for _ in range(400):
        store.trim()
    assert client.hlen(store.keys.writers) == 0


def test_purging_a_window_twice_leaves_the_totals_right(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(10)), 10)
    fold_all(store)
    assert store.status().delta_bytes > 0
    for _ in range(2):
        store.purge_window("all")
        assert store.status().delta_bytes == 0
    assert client.hget(store.keys.meta, "gone:folded") == b"10"
    assert not client.hexists(store.keys.meta, "gone:observed_ms")  # a time is no total


def test_totals_of_earlier_versions_are_moved(client: redis.Redis, prefix: str) -> None:
    """Up to 0.2.0 they were in `meta`."""
    store = buckets(client, prefix, 10).shards[0]
    store.publish("w", 1, singles(store, range(5)), 5)
    before = store.status()
    totals = client.hgetall(store.keys.published)
    client.delete(store.keys.published)
    client.hset(store.keys.meta, mapping=totals)
    store.publish("w", 2, singles(store, range(5)), 5)
    assert not isinstance(store.cut(age_ms=0), str)
    seen = store.status()
    assert (seen.published_entries, seen.published_bytes) == (2 * before.published_entries, 2 * before.published_bytes)
    assert seen.backlog_entries == 0
    assert not client.hexists(store.keys.meta, "entries_in")
