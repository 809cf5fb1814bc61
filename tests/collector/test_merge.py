"""MERGE's guards, each needed: without it one of these is wrong."""

import numpy as np
import pytest
import redis

from hearsay.collector.limits import CHUNK_CELLS
from hearsay.collector.store.node import Call
from hearsay.collector.store.shard import Shard
from hearsay.collector.writer import Writer
from tests.pipeline import Tail, buckets, fold_all, singles, state_of


def deltas(store: Shard, *values: int) -> None:
    """A delta for each value."""
    for value in values:
        Writer(store).publish(singles(store, [value]), 1)
        fold_all(store)


def test_a_version_number_that_is_used_again_is_no_fence(client: redis.Redis, prefix: str) -> None:
    """Two estimators pause, a third merges, the server loses that merge: the first makes another one of its number."""
    store = buckets(client, prefix, 4).shards[0]
    deltas(store, 0)
    first = store.read("all")
    deltas(store, 1)
    third = store.read("all")
    deltas(store, 2)
    before = Tail(client)
    assert store.compact(third)
    second = store.read("all")  # 0 and 1 in the accumulator, 2 beside it
    before.lose()
    assert store.compact(first)
    assert not store.compact(second)
    assert state_of(store)["hist"].tolist() == [1, 1, 1, 0]
    assert store.compact(store.read("all"))
    assert state_of(store)["hist"].tolist() == [1, 1, 1, 0]


def test_a_merge_that_another_overtook_changes_nothing(client: redis.Redis, prefix: str) -> None:
    """The delta that it names is still there; only the fence tells."""
    store = buckets(client, prefix, 4).shards[0]
    deltas(store, 0)
    early = store.read("all")
    deltas(store, 1)
    late = store.read("all")
    assert store.compact(early)
    late.deltas = {name: blob for name, blob in late.deltas.items() if not name.startswith("all:1:")}
    assert not store.compact(late)
    assert state_of(store)["hist"].tolist() == [1, 1, 0, 0]


def test_a_refused_merge_leaves_no_chunk(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 4).shards[0]
    deltas(store, 0)
    early = store.read("all")
    deltas(store, 1)
    late = store.read("all")
    assert store.compact(early)
    assert not store.compact(late)
    named = {value for field, value in client.hgetall(store.keys.accumulator("all")).items() if b"chunk:" in field}
    assert len(named) == 1
    assert set(client.keys(f"{prefix}:{{buckets.*:chunk:*")) == named


def test_a_merge_without_deltas_packs_the_accumulator(client: redis.Redis, prefix: str) -> None:
    """Nothing is taken from the bytes of the deltas: '-0' is no number for the server."""
    store = buckets(client, prefix, 4).shards[0]
    deltas(store, 0)
    assert store.compact(store.read("all"))
    fields = client.hgetall(store.keys.accumulator("all"))
    number, chunk = next((field[6:], key) for field, key in fields.items() if field.startswith(b"chunk:"))
    again = f"{chunk.decode()}again"
    client.copy(chunk.decode(), again)
    keys = [store.keys.accumulator("all"), store.keys.deltas, store.keys.meta, again]
    words = [fields[b"fence"], "another", fields[b"layout"], fields[b"cells"], "0", fields[b"reports"], 1, number]
    assert store.node.run("merge", keys, words) == b"ok"
    assert state_of(store)["hist"].tolist() == [1, 0, 0, 0]


def test_a_merge_of_deltas_that_a_server_lost_changes_nothing(client: redis.Redis, prefix: str) -> None:
    """The fence is that of before; only the missing delta tells."""
    store = buckets(client, prefix, 4).shards[0]
    deltas(store, 0)
    before = Tail(client)
    deltas(store, 1)
    reading = store.read("all")
    before.lose()
    assert not store.compact(reading)
    deltas(store, 1)  # the writer sends it again
    assert state_of(store)["hist"].tolist() == [1, 1, 0, 0]


def test_a_merge_whose_chunks_ran_out_changes_nothing(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = buckets(client, prefix, 4).shards[0]
    deltas(store, 0)
    reading = store.read("all")
    many = store.node.many

    def losing(calls: list[Call]) -> list[object]:
        *stages, merge = calls
        many(stages)
        client.delete(*[key for key in merge.keys if ":chunk:" in key])
        return many([merge])

    monkeypatch.setattr(store.node, "many", losing)
    assert not store.compact(reading)
    assert state_of(store)["hist"].tolist() == [1, 0, 0, 0]


def test_a_merge_of_a_deleted_survey_leaves_nothing(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 4).shards[0]
    deltas(store, 0)
    reading = store.read("all")
    client.delete(store.keys.meta)
    assert not store.compact(reading)
    assert not client.exists(store.keys.accumulator("all"))


def test_what_a_merge_replaces_goes_away(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 4).shards[0]
    for value in range(3):
        deltas(store, value)
        assert store.compact(store.read("all"))
    assert len(client.keys(f"{store.keys.base}chunk:*")) == 1
    assert all(client.ttl(key) == -1 for key in client.keys(f"{store.keys.base}chunk:*"))
    assert (store.status().deltas, store.status().delta_bytes) == (0, 0)
    np.testing.assert_array_equal(state_of(store)["hist"], [1, 1, 1, 0])


def test_a_merge_that_is_repeated_after_a_lost_reply_takes_no_chunk_away(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once it answers what the first one did; after another merge it is refused, and what that one kept stays."""
    store = buckets(client, prefix, 2 * CHUNK_CELLS).shards[0]
    deltas(store, 0, CHUNK_CELLS)
    sent: list[Call] = []
    many = store.node.many

    def twice(calls: list[Call]) -> list[object]:
        sent[:] = calls
        many(calls)
        return many(calls[-1:])  # as a client does that repeats what it got no answer to

    monkeypatch.setattr(store.node, "many", twice)
    assert store.compact(store.read("all"))
    monkeypatch.undo()
    assert np.flatnonzero(state_of(store)["hist"]).tolist() == [0, CHUNK_CELLS]
    deltas(store, 1)
    assert store.compact(store.read("all"))  # the second chunk is still that of the first merge
    assert many(sent[-1:]) == [b"stale"]
    assert np.flatnonzero(state_of(store)["hist"]).tolist() == [0, 1, CHUNK_CELLS]
    assert len(client.keys("*:chunk:*")) == 2
