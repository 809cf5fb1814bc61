"""What each script does and refuses."""

import threading
import time

import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.errors import CollectorError, SurveyClosed, UnknownSurvey
from hearsay.collector.health.troubles import troubles
from hearsay.collector.queue import enqueue
from hearsay.collector.store.connect import connect
from hearsay.collector.store.keys import surveys
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.survey.windows import Whole
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import EmbeddedServer
from tests.identity import survey_table
from tests.pipeline import buckets, cut_all, fold, fold_all, frame, queue_of, singles, state_of, watched


def test_a_young_range_waits_until_it_is_full_or_old(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(3)), 3)
    assert store.cut(age_ms=60_000) == "young"
    assert isinstance(store.cut(age_ms=0), Range)
    assert store.cut(age_ms=0) == "empty"


@pytest.mark.parametrize(("name", "value"), [("RANGE_SINGLES", 4), ("RANGE_BYTES", 4)])
def test_a_full_range_is_cut_at_once(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    monkeypatch.setattr(limits, name, value)
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(9)), 9)
    sizes = []
    while isinstance(found := store.cut(age_ms=60_000), Range):
        sizes.append(found.entries)
    assert sizes == [4, 4]


def test_frames_fill_a_range_by_their_number(client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RANGE_FRAMES", 3)
    store = buckets(client, prefix, 100).shards[0]
    writer = Writer(store)
    for start in range(0, 100, 20):
        writer.publish(frame(store, range(start, start + 20)), 20)
    assert [found.entries for found in cut_all(store)] == [3, 2]


def test_ranges_never_cross_a_window(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 1_000, window={"every": "1s"}).shards[0]
    writer = Writer(store)
    deadline, value = time.monotonic() + 2.3, 0
    while time.monotonic() < deadline:
        writer.publish(singles(store, range(value, value + 5)), 5)
        value += 5
        time.sleep(0.05)
    windows = set()
    for found in cut_all(store):
        window = found.window(store.survey.windows)
        start, end = window.start_ms, window.end_ms
        assert start is not None
        assert end is not None
        assert all(start <= int(name.split(b"-")[0]) < end for name, _ in store.entries(found))
        assert fold(store, found) == "ok"
        windows.add(window)
    assert len(windows) >= 2
    assert store.status().windows == tuple(window.name for window in sorted(windows))
    total = sum(state_of(store, window.name)["hist"] for window in windows)
    assert (total[:value] == 1).all()
    assert store.is_final(min(windows))


def test_a_window_is_not_final_while_something_is_missing(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10, window={"every": "1s"}).shards[0]
    Writer(store).publish(singles(store, range(3)), 3)
    (found,) = cut_all(store)
    window = found.window(store.survey.windows)
    time.sleep(1.1)
    assert not store.is_final(window)
    fold(store, found)
    assert store.is_final(window)


@pytest.mark.parametrize("limit", ["DELTAS_LIMIT", "DELTA_BYTES_LIMIT"])
def test_cut_refuses_while_too_many_deltas_wait(
    limit: str, client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, limit, 1)
    store = buckets(client, prefix, 10).shards[0]
    writer = Writer(store)
    writer.publish(singles(store, [1]), 1)
    fold_all(store)
    writer.publish(singles(store, [2]), 1)
    assert store.cut(age_ms=0) == "deltas"


def test_back_pressure_makes_writers_wait_and_loses_nothing(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BACKLOG_ENTRIES", 20)
    store = buckets(client, prefix, 200).shards[0]
    causes: list[str] = []
    writer = Writer(store, on_wait=causes.append)

    def drain() -> None:
        while not (state_of(store)["hist"] == 1).all():
            fold_all(store)
            store.trim()
            time.sleep(0.01)

    drainer = threading.Thread(target=drain)
    drainer.start()
    for start in range(0, 200, 10):
        writer.publish(singles(store, range(start, start + 10)), 10)
    drainer.join(timeout=30)
    assert set(causes) == {"backlog"}
    assert (state_of(store)["hist"] == 1).all()


def test_trim_spares_what_is_outstanding(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    writer = Writer(store)
    writer.publish(singles(store, [0, 1]), 2)
    (first,) = cut_all(store)
    writer.publish(singles(store, [2, 3]), 2)
    (second,) = cut_all(store)
    writer.publish(singles(store, [4]), 1)
    assert fold(store, second) == "ok"
    assert store.trim() == 0
    assert fold(store, first) == "ok"
    assert store.trim() == 4
    assert client.xlen(store.keys.stream) == 1
    fold_all(store)
    assert (state_of(store)["hist"][:5] == 1).all()


def test_a_range_whose_entries_are_missing_is_not_folded(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(5)), 5)
    (found,) = cut_all(store)
    client.xdel(store.keys.stream, found.first)
    with pytest.raises(CollectorError, match="must have 5 entries, got 4"):
        fold(store, found)
    assert (state_of(store)["hist"] == 0).all()


def test_overdue_ranges_get_five_attempts_and_block_nothing(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    writer = Writer(store)
    writer.publish(singles(store, [0, 1]), 2)
    (stuck,) = cut_all(store)
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix, lease_s=0.0))
    attempts = []
    for _ in range(10):
        time.sleep(0.002)
        dispatcher.reconcile(store)
        attempts += [job.rsplit("-", 1)[1] for job in dispatcher.queue.job_ids]
        dispatcher.queue.empty()  # a worker took it and died
    assert attempts == ["2", "3", "4", "5"]
    aside = store.range(stuck.seq)
    assert aside is not None
    assert aside.quarantined
    assert store.status().quarantined == 1
    writer.publish(singles(store, [2]), 1)
    fold_all(store)
    store.trim()
    assert state_of(store)["hist"][2] == 1
    assert store.reissue(aside, 0.0, retry=True) == ("reissued", 1)
    assert fold(store, stuck) == "ok"
    assert (state_of(store)["hist"][:3] == 1).all()


def test_a_busy_survey_does_not_starve_the_others(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RANGE_SINGLES", 1)
    monkeypatch.setattr(limits, "QUEUE_SHORT", 4)
    registry = Registry(client, prefix)
    stores = [registry.add(parse(survey_table("identity", 50, name=name))).shards[0] for name in ("aaa", "zzz")]
    for store in stores:
        Writer(store).publish(singles(store, range(40)), 40)
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix))
    for _ in range(4):
        dispatcher.dispatch()
        dispatcher.queue.empty()
    assert all(store.ranges() for store in stores)


def test_a_survey_that_cannot_be_read_stops_no_other(
    client: redis.Redis, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = buckets(client, prefix, 10).shards[0]
    client.hset(surveys(prefix), "a-stranger", b'{"shards": 1, "survey": {"mechanism": "of-tomorrow"}}')
    Writer(store).publish(singles(store, range(3)), 3)
    time.sleep(limits.CUT_AGE_MS / 1_000)
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix))
    for _ in range(2):
        dispatcher.dispatch()
        dispatcher.chores()
    assert len(store.ranges()) == 1
    assert [record.getMessage()[:31] for record in caplog.records] == ["survey a-stranger cannot be rea"]


def test_a_range_that_waits_in_the_queue_is_not_overdue(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, [0]), 1)
    (found,) = cut_all(store)
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix, lease_s=0.0))
    enqueue(dispatcher.queue, store, found)
    time.sleep(0.01)
    assert dispatcher.reconcile(store) == 0
    assert store.range(found.seq) == found


def test_a_leased_range_is_left_alone(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, [0]), 1)
    (found,) = cut_all(store)
    assert store.reissue(found, 60.0)[0] == "leased"
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix, lease_s=60.0))
    assert dispatcher.reconcile(store) == 0


def test_skipped_entries_are_counted_and_bounded(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    writer = Writer(store)
    writer.publish(singles(store, [0, 1]), 2)
    (found,) = cut_all(store)
    writer.publish(singles(store, [2, 3, 4]), 3)
    assert store.skip_range(found) == 2
    assert store.skip_backlog("all") == 3
    assert store.skip_backlog("all") == 0
    writer.publish(singles(store, [5]), 1)
    fold_all(store)
    assert state_of(store)["hist"].tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert store.read("all").rejected["skipped"].entries == 5
    boundaries = client.lrange(store.keys.skipped, 0, -1)
    assert [entry.split()[2] for entry in boundaries] == [b"2", b"3"]
    assert store.status().backlog_entries == 0


def test_a_closed_survey_still_folds_what_it_took(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    store = buckets(client, prefix, 10).shards[0]
    writer = Writer(store)
    writer.publish(singles(store, [0]), 1)
    registry.close("buckets")
    assert registry.get("buckets").look().closed
    with pytest.raises(SurveyClosed, match="closed"):
        Writer(store).publish(singles(store, [1]), 1)
    assert not store.is_final(Whole().named("all"))
    fold_all(store)
    assert store.is_final(Whole().named("all"))
    assert state_of(store)["hist"].sum() == 1


def test_a_deleted_survey_leaves_nothing_and_refuses_writers(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    store = buckets(client, prefix, 10).shards[0]
    writer = Writer(store)
    writer.publish(singles(store, [0]), 1)
    fold_all(store)
    registry.delete("buckets")
    assert client.keys(f"{prefix}:{{buckets*") == []
    with pytest.raises(UnknownSurvey, match="buckets"):
        writer.publish(singles(store, [1]), 1)


def test_silent_writers_are_forgotten(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, [0]), 1)
    left = Writer(store)
    left.publish(singles(store, [1]), 1)
    left.close()
    watched(client, store, limits.LEFT_WRITER_S - 1)
    store.trim()
    assert client.hlen(store.keys.writers) == 2
    watched(client, store, 2)
    store.trim()
    assert client.hlen(store.keys.writers) == 1  # the one that said so
    watched(client, store, limits.DEDUP_WINDOW_S)
    store.trim()
    assert client.hlen(store.keys.writers) == 0


def test_cutting_reads_no_more_than_a_range_holds(own_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RANGE_BYTES", 4 * limits.MIB)
    client = connect(own_server.url)
    store = buckets(client, "hs", 10).shards[0]
    store.publish("w", 1, [(b"f", b"narrow")], 1)
    for number in range(2, 34):
        store.publish("w", number, [(b"f", bytes(2 * limits.MIB))], 1)
    assert [found.entries for found in cut_all(store)] == [2, *[2] * 15, 1]
    memory = client.info("memory")
    assert memory["used_memory_peak"] - memory["used_memory"] < 32 * limits.MIB  # all that waited was twice as much


def test_writers_pause_before_the_memory_is_full_though_no_collector_says_so(own_server: EmbeddedServer) -> None:
    client = connect(own_server.url)
    store = buckets(client, "hs", 10).shards[0]
    limit = int(client.info("memory")["used_memory"]) + 64 * limits.MIB
    client.config_set("maxmemory", limit)
    number = 1
    while (answer := store.publish("w", number, [(b"f", bytes(limits.MIB))], 1)).status == "ok":
        number += 1
    assert (answer.status, answer.cause) == ("pressure", "memory")
    assert int(client.info("memory")["used_memory"]) < 0.7 * limit
    assert store.status().pressure == "memory"
    client.hincrby(store.keys.published, "memory_at", -limits.REFUSED_FOR_S * 1_000)
    assert store.status().pressure is None
    fold_all(store)  # what was taken in can still be folded
    store.trim()
    assert store.publish("w", number, [(b"f", b"more")], 1).status == "ok"


def test_writers_that_wait_for_memory_which_is_free_between_their_calls(own_server: EmbeddedServer) -> None:
    """A batch counts as used memory while it is published, and no longer when somebody asks."""
    client = connect(own_server.url)
    store = buckets(client, "hs", 10).shards[0]
    client.config_set("maxmemory", int(client.info("memory")["used_memory"]) + 5 * limits.MIB // 2)
    assert store.publish("w", 1, [(b"f", bytes(limits.MIB))], 1).cause == "memory"
    store.node.disconnect()  # its buffer still has the batch
    assert not store.node.condition().short
    assert store.status().pressure == "memory"
    assert [trouble.words for trouble in troubles(Registry(client)) if trouble.code == "pressure"] == [
        "survey buckets: writers are asked to wait because of memory"
    ]


def test_trimming_forgets_no_writer_that_lives(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 4).shards[0]
    Writer(store).publish(singles(store, [0]), 1)
    store.trim()
    assert client.hlen(store.keys.writers) == 1
