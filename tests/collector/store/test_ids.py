"""Requests' ids in PUBLISH: a request is stored once, whoever repeats it, and hours are forgotten by observed time."""

import time

import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.store.shard import Published, Shard
from tests.clock import turn_clocks
from tests.pipeline import buckets, fold_all, frame, state_of, watched

HOUR = int(time.time()) // 3_600
MORE_THAN_ONE_COMMAND = 4_500  # ids that the script reads and writes in three commands


def identity(number: int, digest: bytes = b"abcd") -> bytes:
    """8 bytes of an id, 4 of the digest."""
    return number.to_bytes(8, "big") + digest


class Gateway:
    """A process that numbers its batches."""

    def __init__(self, store: Shard, name: str = "gateway") -> None:
        self.store, self.name, self.number = store, name, 0
        self.seen_ms = store.publish(name, 0, [], 0).observed_ms

    def send(self, values: list[int], ids: dict[int, bytes]) -> Published:
        entries = frame(self.store, values)
        answer = self.store.publish(self.name, self.number + 1, entries, len(values), None, self.seen_ms, ids)
        self.number += answer.status == "ok"
        return answer


@pytest.fixture
def store(client: redis.Redis, prefix: str) -> Shard:
    return buckets(client, prefix, 20).shards[0]


def test_a_repeat_is_named_and_nothing_is_appended(store: Shard, client: redis.Redis) -> None:
    assert Gateway(store, "one").send([1, 2, 3], {HOUR: identity(1) + identity(2) + identity(3)}).status == "ok"
    other = Gateway(store, "two")
    again = other.send([4, 2, 3], {HOUR: identity(4) + identity(2) + identity(3, b"wxyz")})
    assert (again.status, again.known) == ("known", {1: b"abcd", 2: b"abcd"})
    assert other.send([4], {HOUR: identity(4)}).status == "ok"  # nothing of the refused batch is remembered
    assert client.xlen(store.keys.stream) == 2
    fold_all(store)
    assert state_of(store)["hist"].tolist() == [0, 1, 1, 1, 1] + [0] * 15


def test_positions_count_through_the_hours_and_through_long_batches(store: Shard) -> None:
    gateway = Gateway(store)
    many = b"".join(map(identity, range(MORE_THAN_ONE_COMMAND)))
    assert gateway.send([1], {HOUR - 1: identity(7), HOUR: many}).status == "ok"
    last = MORE_THAN_ONE_COMMAND - 1
    known = gateway.send([2], {HOUR - 1: identity(8) + identity(7), HOUR: identity(last) + identity(10**6)}).known
    assert known == {1: b"abcd", 2: b"abcd"}
    far = b"".join(map(identity, range(10**6, 10**6 + last))) + identity(last)
    assert gateway.send([3], {HOUR: far}).known == {last: b"abcd"}


@pytest.mark.parametrize("what", ["closed", "pressure"])
def test_a_repeat_is_known_whatever_else_would_refuse_it(store: Shard, what: str) -> None:
    gateway = Gateway(store)
    gateway.send([1], {HOUR: identity(1)})
    store.close() if what == "closed" else store.set_pressure("memory")
    assert gateway.send([1], {HOUR: identity(1)}).status == "known"
    assert gateway.send([2], {HOUR: identity(2)}).status == what
    assert gateway.send([2], {HOUR: identity(2)}).status == what  # and it was not remembered


def test_the_same_id_in_another_hour_is_another(store: Shard) -> None:
    gateway = Gateway(store)
    assert gateway.send([1], {HOUR - 1: identity(1)}).status == "ok"
    assert gateway.send([2], {HOUR: identity(1)}).status == "ok"


def test_an_hour_is_forgotten_after_a_day_and_its_ids_are_expired(store: Shard, client: redis.Redis) -> None:
    gateway = Gateway(store)
    gateway.send([1], {HOUR - 1: identity(1)})
    watched(client, store, 0.5 * limits.DEDUP_WINDOW_S)
    gateway.send([2], {HOUR - 2: identity(2)})
    gateway.send([3], {HOUR: identity(3)})
    store.trim()
    assert gateway.send([1], {HOUR - 1: identity(1)}).known == {0: b"abcd"}
    watched(client, store, 0.6 * limits.DEDUP_WINDOW_S)
    store.trim()
    # The hour before goes with it, though it was written later: all ids at or below the floor are expired.
    assert not client.exists(store.keys.ids(HOUR - 1), store.keys.ids(HOUR - 2))
    assert client.hkeys(store.keys.hours) == [str(HOUR).encode(), b"floor"]
    expired = gateway.send([4], {HOUR - 2: identity(2), HOUR - 1: identity(9), HOUR: identity(3) + identity(5)})
    assert (expired.status, expired.known) == ("known", {0: b"", 1: b"", 2: b"abcd"})
    watched(client, store, 0.6 * limits.DEDUP_WINDOW_S)
    store.trim()
    assert gateway.send([3], {HOUR: identity(3)}).known == {0: b""}


def test_every_id_of_an_hour_keeps_it(store: Shard, client: redis.Redis) -> None:
    gateway = Gateway(store)
    for number in range(3):
        gateway.send([number], {HOUR: identity(number)})
        watched(client, store, 0.6 * limits.DEDUP_WINDOW_S)
        store.trim()
    assert gateway.send([0], {HOUR: identity(0)}).known == {0: b"abcd"}


def test_the_floor_never_sinks(store: Shard, client: redis.Redis) -> None:
    gateway = Gateway(store)
    gateway.send([1], {HOUR: identity(1)})
    watched(client, store, 1.1 * limits.DEDUP_WINDOW_S)
    store.trim()
    client.hset(store.keys.hours, HOUR - 5, 0)  # as if somebody had written below the floor
    store.trim()
    assert client.hget(store.keys.hours, "floor") == str(HOUR).encode()


def test_an_id_from_the_future_raises_no_floor(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one id of the year 2100 would expire every other one until then."""
    clock = turn_clocks(monkeypatch, client)
    store = buckets(client, prefix, 20).shards[0]
    gateway = Gateway(store)
    assert gateway.send([1], {HOUR + 40: identity(1)}).status == "ok"
    watched(client, store, 1.1 * limits.DEDUP_WINDOW_S)
    store.trim()
    later = Gateway(store, "later")  # the first one was silent for too long
    assert later.send([2], {HOUR: identity(2)}).status == "ok"
    assert later.send([3], {HOUR + 40: identity(1)}).known == {0: b"abcd"}
    clock.turn(41 * 3_600)
    watched(client, store, 1.1 * limits.DEDUP_WINDOW_S)
    store.trim()
    assert Gateway(store, "last").send([4], {HOUR + 40: identity(1)}).known == {0: b""}


@pytest.mark.parametrize("ids", [{HOUR: b"too short"}, {-1: identity(1)}, {"noon": identity(1)}])
def test_malformed_ids_are_an_error(store: Shard, ids: dict[int, bytes]) -> None:
    with pytest.raises(redis.exceptions.ResponseError, match="PUBLISH needs"):
        Gateway(store).send([1], ids)


def test_an_hour_without_its_key_is_an_error(store: Shard) -> None:
    keys = store.keys
    names = [keys.stream, keys.writers, keys.meta, keys.rounds, keys.marks, keys.hours, keys.published]
    with pytest.raises(redis.exceptions.ResponseError, match="a key for every hour"):
        store.node.run("publish", names, ["writer", 1, 0, 0, "", 1, HOUR, identity(1)])
