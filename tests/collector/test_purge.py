"""Forgetting a window leaves nothing of it behind."""

import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.writer import Writer
from tests.pipeline import buckets, fold_all, singles


@pytest.mark.parametrize("merged", [False, True], ids=["deltas", "chunks"])
@pytest.mark.parametrize("part_bytes", [limits.PART_BYTES, 16], ids=["whole", "parts"])
def test_a_purged_window_leaves_no_key(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch, merged: bool, part_bytes: int
) -> None:
    monkeypatch.setattr(limits, "PART_BYTES", part_bytes)
    store = buckets(client, prefix, 50).shards[0]
    Writer(store).publish(singles(store, range(50)), 50)
    fold_all(store)
    if merged:
        assert store.compact(store.read("all"))
    reading = store.read("all")
    assert reading.folded == 50
    store.purge_window("all")
    store.trim()
    base = store.keys.base.encode()
    left = {
        base + name for name in (b"stream", b"cursor", b"writers", b"meta", b"published")
    }  # what belongs to no window
    assert set(client.keys(f"{prefix}:{{buckets*")) == left
    assert client.xlen(store.keys.stream) == 0
    assert (store.status().delta_bytes, store.status().windows) == (0, ())


def test_purging_touches_nobody_elses_keys(client: redis.Redis, prefix: str) -> None:
    """An accumulator's version or number of cells may be the name of a key."""
    store = buckets(client, prefix, 50).shards[0]
    Writer(store).publish(singles(store, range(50)), 50)
    fold_all(store)
    assert store.compact(store.read("all"))
    foreign = [
        value
        for name, value in client.hgetall(store.keys.accumulator("all")).items()
        if not name.startswith(b"chunk:") and value
    ]
    assert b"50" in foreign
    for name in foreign:
        client.set(name, "not ours")
    store.purge_window("all")
    assert [client.get(key) for key in foreign] == [b"not ours"] * len(foreign)
