"""States that somebody damaged on the server: said in one line, and nothing else stops for them."""

import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.errors import StateError
from hearsay.collector.store.state import Delta
from hearsay.collector.writer import Writer
from tests.pipeline import buckets, fold_all, queue_of, singles, state_of


def test_a_damaged_delta_stops_nothing_but_its_own_window(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(limits, "DELTAS_LIMIT", 2)
    stores = [buckets(client, prefix, 4, name=name).shards[0] for name in ("damaged", "whole")]
    for store in stores:
        Writer(store).publish(singles(store, [1]), 1)
        fold_all(store)
    (name,) = client.hkeys(stores[0].keys.deltas)
    client.hset(stores[0].keys.deltas, name, b"\xc1")
    Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix)).chores()
    assert [store.status().deltas for store in stores] == [1, 0]
    assert "window all of damaged is not merged: delta of 1 bytes is damaged" in caplog.text
    assert state_of(stores[1])["hist"].tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("chunk", [b"", b"\0" * 31, b"\0" * 40])
def test_a_damaged_chunk_is_said_to_be_one(client: redis.Redis, prefix: str, chunk: bytes) -> None:
    store = buckets(client, prefix, 4).shards[0]
    Writer(store).publish(singles(store, [1]), 1)
    fold_all(store)
    assert store.compact(store.read("all"))
    (name,) = client.keys(f"{store.keys.base}chunk:*")
    client.set(name, chunk)
    with pytest.raises(StateError, match=f"must have 32 bytes, got {len(chunk)}"):
        store.read("all")


@pytest.mark.parametrize("blob", [b"parts ", b"parts many a", b"parts \xff"])
def test_a_list_of_parts_that_is_none_is_said_to_be_none(blob: bytes) -> None:
    with pytest.raises(StateError, match=f"delta of {len(blob)} bytes is damaged"):
        Delta.parse(blob)
