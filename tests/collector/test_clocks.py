"""Clocks that jump forward and back, and partitions longer than anybody waits."""

import time

import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.errors import ReportsLost
from hearsay.collector.heartbeats import Heartbeat
from hearsay.collector.sharing import SILENT_S, Share
from hearsay.collector.store import keys
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.shard import Published, Shard
from hearsay.collector.writer import Writer
from tests.clock import Clock, turn_clocks
from tests.pipeline import buckets, cut_all, fold, fold_all, queue_of, singles, state_of, watched

HOUR_S = 3_600


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, client: redis.Redis) -> Clock:
    return turn_clocks(monkeypatch, client)


def test_a_jump_forward_forgets_no_writer_that_lives(clock: Clock, client: redis.Redis, prefix: str) -> None:
    """A suspended machine, a late time sync: the clock is two days ahead at once."""
    store = buckets(client, prefix, 60).shards[0]
    monotonic = [0.0]
    writers = [Writer(store, clock=lambda: monotonic[0]) for _ in range(2)]
    for start in (0, 10):
        writers[start // 10].publish(singles(store, range(start, start + 10)), 10)
    fold_all(store)
    store.trim()
    monotonic[0] += limits.RESEND_WINDOW_S + 1  # so that they no longer hold what they sent first
    for start in (20, 30):
        writers[start // 10 - 2].publish(singles(store, range(start, start + 10)), 10)
    clock.turn(48 * HOUR_S)
    store.trim()
    store.trim()
    assert client.hlen(store.keys.writers) == len(writers)
    for start in (40, 50):
        writers[start // 10 - 4].publish(singles(store, range(start, start + 10)), 10)
    for writer in writers:
        writer.check()
    fold_all(store)
    assert (state_of(store)["hist"] == 1).all()


def test_a_writer_that_was_silent_for_long_repeats_nothing(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 40).shards[0]
    writer = Writer(store)
    writer.publish(singles(store, range(10)), 10)
    fold_all(store)
    watched(client, store, limits.DEDUP_WINDOW_S + 1)
    store.trim()
    assert client.hlen(store.keys.writers) == 0
    writer.publish(singles(store, range(10, 20)), 10)
    fold_all(store)
    watched(client, store, limits.DEDUP_WINDOW_S + 1)
    store.trim()
    writer.check()
    fold_all(store)
    assert state_of(store)["hist"].tolist() == [1] * 20 + [0] * 20


def test_a_writer_that_only_repeats_is_not_forgotten(client: redis.Redis, prefix: str) -> None:
    """It hears from the server, and so believes that it is remembered."""
    store = buckets(client, prefix, 10).shards[0]
    writer = Writer(store, clock=lambda: 0.0)
    writer.publish(singles(store, range(10)), 10)
    for _ in range(3):
        watched(client, store, 0.6 * limits.DEDUP_WINDOW_S)
        store.trim()
        writer.check()
    fold_all(store)
    assert (state_of(store)["hist"] == 1).all()


class Lossy:
    """A shard whose next reply is lost."""

    def __init__(self, shard: Shard) -> None:
        self._shard, self.lose = shard, False
        self.survey = shard.survey

    def publish(self, *words: object) -> Published:
        answer = self._shard.publish(*words)  # type: ignore[arg-type]
        if self.lose and words[1] != 0:
            self.lose = False
            raise redis.exceptions.ConnectionError("reply lost")
        return answer


@pytest.mark.parametrize("number", [1, 2], ids=["first batch", "later batch"])
@pytest.mark.parametrize(
    ("partition_s", "lost"), [(2 * HOUR_S, False), (limits.DEDUP_WINDOW_S + 1, True)], ids=["two hours", "over a day"]
)
def test_a_batch_on_its_way_through_a_partition_is_never_stored_twice(
    client: redis.Redis, prefix: str, number: int, partition_s: int, lost: bool
) -> None:
    store = buckets(client, prefix, 30).shards[0]
    lossy = Lossy(store)

    def partition(cause: str) -> None:
        fold_all(store)
        watched(client, store, partition_s)
        store.trim()

    writer = Writer(lossy, on_wait=partition)  # type: ignore[arg-type]
    if number == 2:
        writer.publish(singles(store, range(20, 30)), 10)
    lossy.lose = True
    if lost:
        with pytest.raises(ReportsLost):
            writer.publish(singles(store, range(10)), 10)
    else:
        writer.publish(singles(store, range(10)), 10)
    writer.publish(singles(store, range(10, 20)), 10)
    fold_all(store)
    assert state_of(store)["hist"].tolist() == [1] * 20 + [number - 1] * 10


def test_what_waits_when_the_clock_goes_back_is_cut_at_once(clock: Clock, client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 20).shards[0]
    writer = Writer(store)
    clock.turn(HOUR_S)
    writer.publish(singles(store, range(10)), 10)
    clock.turn(-HOUR_S)
    assert isinstance(found := store.cut(), Range)
    assert fold(store, found) == "ok"
    writer.publish(singles(store, range(10, 20)), 10)
    assert store.cut() == "young"  # by the time when it was stored, not by its id, which runs an hour ahead
    assert store.status().backlog_age_s < 60
    fold_all(store)
    assert (state_of(store)["hist"] == 1).all()


def test_reports_after_a_jump_are_in_their_own_window(clock: Clock, client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 60, window={"every": "1h"}).shards[0]
    windows, writer = store.survey.windows, Writer(store)
    before = windows.of(store.now_ms(), None)
    if windows.of(store.now_ms() + 60_000, None) != before:  # pragma: no cover - once an hour
        time.sleep(60)
        before = windows.of(store.now_ms(), None)
    writer.publish(singles(store, range(20)), 20)
    clock.turn(3 * HOUR_S)
    writer.publish(singles(store, range(20, 40)), 20)
    during = windows.of(store.now_ms(), None)
    clock.turn(-3 * HOUR_S)
    writer.publish(singles(store, range(40, 60)), 20)
    found = cut_all(store)
    assert [each.window(windows) for each in found] == [before, during, before]
    clock.turn(3 * HOUR_S)
    assert not store.is_final(before)
    for each in found:
        assert fold(store, each) == "ok"
    assert store.is_final(before)
    assert state_of(store, before.name)["hist"].tolist() == [1] * 20 + [0] * 20 + [1] * 20


def test_a_window_is_not_final_while_later_entries_may_be_of_it(clock: Clock, client: redis.Redis, prefix: str) -> None:
    """After a clock went back, entries of an earlier window stand behind those of a later one."""
    store = buckets(client, prefix, 20, window={"every": "1h"}).shards[0]
    writer, windows = Writer(store), store.survey.windows
    clock.turn(3 * HOUR_S)
    writer.publish(singles(store, range(10)), 10)
    clock.turn(-3 * HOUR_S)
    window = windows.of(store.now_ms(), None)
    writer.publish(singles(store, range(10, 20)), 10)
    clock.turn(2 * HOUR_S)
    assert not store.is_final(window)
    fold_all(store)
    assert store.is_final(window)


def test_leases_end_though_the_clock_went_back(clock: Clock, client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    clock.turn(HOUR_S)
    Writer(store).publish(singles(store, range(10)), 10)
    assert len(cut_all(store)) == 1
    clock.turn(-HOUR_S)  # and the job is lost
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix, lease_s=5.0))
    assert dispatcher.reconcile(store) == 1
    assert dispatcher.reconcile(store) == 0  # the new attempt has a lease by the new clock


def test_a_pressure_mark_from_the_future_is_void(clock: Clock, client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    clock.turn(HOUR_S)
    store.set_pressure("memory")
    assert store.publish("w", 1, singles(store, [0]), 1).status == "pressure"
    clock.turn(-HOUR_S)
    assert store.status().pressure is None
    assert store.publish("w", 1, singles(store, [0]), 1).status == "ok"


def test_a_process_that_died_before_the_clock_went_back_is_replaced(
    clock: Clock, client: redis.Redis, prefix: str
) -> None:
    """Its mark would count until the clock is there again: nobody would cut its shards, or end its rounds."""
    heartbeats = [Heartbeat(Registry(client, prefix), "collector", name) for name in ("alive", "dead")]
    share = Share(heartbeats[0], clock=lambda: 0.0)

    def refresh() -> None:
        share._next = 0.0
        share.refresh()

    for heartbeat in heartbeats:
        heartbeat.beat()
    clock.turn(-HOUR_S)
    refresh()
    assert not share.alone, "one that lives is not forgotten because of a jump"
    clock.turn(SILENT_S + 1)
    refresh()
    assert share.alone
    clock.turn(limits.HEARTBEAT_TTL_S)
    refresh()
    assert client.hkeys(keys.heartbeats(prefix)) == [b"collector:alive"]
