"""The law: accumulator plus deltas equal a single fold of every accepted entry, whatever is repeated or lost."""

import threading
import time

import numpy as np
import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registry
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.workers.context import Context, set_current
from hearsay.workers.fold import fold_entries
from tests.pipeline import Tail, buckets, cut_all, fold, fold_all, frame, singles, state_of, watched


def test_a_repeated_publish_is_stored_once(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    first = store.publish("w", 1, singles(store, [0, 1]), 2)
    again = store.publish("w", 1, singles(store, [0, 1]), 2)
    assert (first.status, again.status) == ("ok", "duplicate")
    assert store.publish("w", 3, singles(store, [4]), 1).status == "gap"
    fold_all(store)
    np.testing.assert_array_equal(state_of(store)["hist"][:5], [1, 1, 0, 0, 0])


def test_two_interleaved_writers_lose_nothing(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 4_000).shards[0]
    writers = [Writer(store), Writer(store)]

    def work(number: int) -> None:
        for start in range(number * 2_000, (number + 1) * 2_000, 50):
            writers[number].publish(singles(store, range(start, start + 50)), 50)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fold_all(store)
    assert (state_of(store)["hist"] == 1).all()


def test_a_writer_with_a_clock_ahead_harms_nobody(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 20).shards[0]
    ahead = Writer(store, clock=lambda: time.monotonic() + 3_600)
    ahead.publish(singles(store, range(10)), 10)
    Writer(store).publish(singles(store, range(10, 20)), 10)
    newest = client.xrevrange(store.keys.stream, count=1)[0][0]
    assert abs(int(newest.split(b"-")[0]) - time.time() * 1_000) < 60_000  # the server's own time
    fold_all(store)
    assert (state_of(store)["hist"] == 1).all()


def test_the_same_range_folded_concurrently_commits_once(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 500).shards[0]
    Writer(store).publish(singles(store, range(500)), 500)
    (found,) = cut_all(store)
    barrier, answers = threading.Barrier(3), []

    def deliver() -> None:
        commit = fold_entries(store, found, store.entries(found), False)
        barrier.wait()
        answers.append(store.commit(found, commit))

    threads = [threading.Thread(target=deliver) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["gone", "gone", "ok"]
    assert (state_of(store)["hist"] == 1).all()
    assert store.read("all").folded == 500


def test_a_range_number_that_was_used_before_is_refused(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(5)), 5)
    (found,) = cut_all(store)
    commit = fold_entries(store, found, store.entries(found), False)
    record = client.hget(store.keys.ranges, "1").replace(found.nonce.encode(), b"another")
    client.hset(store.keys.ranges, "1", record)
    assert store.commit(found, commit) == "stale"
    assert (state_of(store)["hist"] == 0).all()


@pytest.mark.parametrize("as_frame", [False, True])
def test_readers_see_whole_commits_while_others_merge(client: redis.Redis, prefix: str, as_frame: bool) -> None:
    store = buckets(client, prefix, 100_000).shards[0]
    done = threading.Event()
    wrong: list[str] = []

    def look() -> None:
        cached = None
        while not done.is_set():
            cached = store.read("all", cached)
            if int(cached.vector.sum()) != cached.folded:
                wrong.append(f"{cached.vector.sum()} of {cached.folded}")
            if np.random.default_rng().random() < 0.3:
                store.compact(cached)

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    writer = Writer(store)
    for start in range(0, 100_000, 1_000):
        values = range(start, start + 1_000)
        writer.publish(frame(store, values) if as_frame else singles(store, values), 1_000)
        fold_all(store)
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert (state_of(store)["hist"] == 1).all()


def test_a_merge_of_an_old_version_changes_nothing(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 100).shards[0]
    writer = Writer(store)
    writer.publish(singles(store, range(50)), 50)
    fold_all(store)
    late, early = store.read("all"), store.read("all")
    assert store.compact(early)
    assert not store.compact(late)
    writer.publish(singles(store, range(50, 100)), 50)
    fold_all(store)
    assert (state_of(store)["hist"] == 1).all()
    assert store.status().deltas == 1


def test_what_was_read_before_a_loss_never_comes_back(client: redis.Redis, prefix: str) -> None:
    """The range number, and even the number of cells, are those of before; only the nonces differ."""
    store = buckets(client, prefix, 100).shards[0]
    Writer(store).publish(singles(store, range(50)), 50)
    fold_all(store)
    before = store.read("all")
    also_before = store.read("all")
    client.flushall()  # as a log whose tail is gone
    store = buckets(client, prefix, 100).shards[0]
    Writer(store).publish(singles(store, range(30, 100)), 70)
    fold_all(store)
    assert not store.compact(also_before)
    after = store.read("all", before)
    assert after.state["hist"].tolist() == [0] * 30 + [1] * 70
    assert store.compact(after)
    assert state_of(store)["hist"].tolist() == [0] * 30 + [1] * 70


def test_large_deltas_travel_in_parts(client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearsay.collector.limits.PART_BYTES", 1_000)
    store = buckets(client, prefix, 5_000).shards[0]
    Writer(store).publish(frame(store, range(5_000)), 5_000)
    (found,) = cut_all(store)
    commit = fold_entries(store, found, store.entries(found), False)
    assert store.commit(found, commit) == "ok"
    parts = client.keys(f"{store.keys.base}part:*")
    assert len(parts) > 3
    assert all(client.ttl(part) == -1 for part in parts)
    reading = store.read("all")
    assert (reading.state["hist"] == 1).all()
    assert store.compact(reading)
    assert client.keys(f"{store.keys.base}part:*") == []
    assert store.status().delta_bytes == 0
    assert (state_of(store)["hist"] == 1).all()


def test_writers_repair_what_a_server_lost(own_server: EmbeddedServer) -> None:
    client = connect(own_server.url)
    store = buckets(client, "hs", 3_000).shards[0]
    writers = [Writer(store), Writer(store)]
    for start in range(0, 2_000, 100):
        writers[start // 100 % 2].publish(singles(store, range(start, start + 100)), 100)
        if start == 900:
            fold_all(store)
    before = client.hget(store.keys.published, "entries_in")
    own_server.kill()
    cut_off_tail(own_server, 12_000)
    own_server.start()
    assert int(client.hget(store.keys.published, "entries_in")) < int(before)
    for writer in writers:
        writer.check()
    for start in range(2_000, 3_000, 100):
        writers[start // 100 % 2].publish(singles(store, range(start, start + 100)), 100)
    fold_all(store)
    assert (state_of(store)["hist"] == 1).all()


def test_a_writer_sends_again_after_a_server_was_away_for_long(client: redis.Redis, prefix: str) -> None:
    """A failover that takes its time: what the new server never had is older than ten seconds when it answers."""
    now = [0.0]
    store = buckets(client, prefix, 4).shards[0]
    writer = Writer(store, clock=lambda: now[0])
    writer.publish(singles(store, [0]), 1)
    tail = Tail(client)
    for value in (1, 2):
        writer.publish(singles(store, [value]), 1)
    tail.lose()
    now[0] += limits.RESEND_WINDOW_S + 5
    writer.publish(singles(store, [3]), 1)
    fold_all(store)
    assert state_of(store)["hist"].tolist() == [1, 1, 1, 1]


def test_a_writer_that_waits_is_not_forgotten(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    store.publish("w", 1, singles(store, [0]), 1)
    watched(client, store, limits.DEDUP_WINDOW_S - 1)
    store.set_pressure("memory")
    assert store.publish("w", 2, singles(store, [1]), 1).status == "pressure"
    watched(client, store, limits.DEDUP_WINDOW_S - 1)
    store.trim()
    store.set_pressure(None)
    assert store.publish("w", 2, singles(store, [1]), 1).status == "ok"


def cut_off_tail(server: EmbeddedServer, octets: int) -> None:
    """What a power failure does to a log that is flushed once a second."""
    (log,) = server.aof_directory.glob("*.incr.aof")
    content = log.read_bytes()
    assert len(content) > 2 * octets
    log.write_bytes(content[:-octets])


def test_a_restarted_server_knows_everything(own_server: EmbeddedServer) -> None:
    client = connect(own_server.url)
    store = buckets(client, "hs", 1_000).shards[0]
    writer = Writer(store)
    writer.publish(singles(store, range(500)), 500)
    (found,) = cut_all(store)
    own_server.restart()
    assert fold(store, found) == "ok"
    writer.publish(singles(store, range(500, 1_000)), 500)
    fold_all(store)
    assert (state_of(store)["hist"] == 1).all()


def test_registered_surveys_of_one_server_do_not_meet(client: redis.Redis, prefix: str) -> None:
    one = buckets(client, prefix, 10, name="one").shards[0]
    two = Registry(client, prefix).add(buckets(client, prefix, 10, name="two").survey).shards[0]
    set_current(Context(client, prefix))
    Writer(one).publish(singles(one, range(10)), 10)
    fold_all(one)
    fold_all(two)
    assert (state_of(one)["hist"] == 1).all()
    assert (state_of(two)["hist"] == 0).all()
