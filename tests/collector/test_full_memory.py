"""A server that is really full: what was taken in is still cut, folded, merged and trimmed."""

import threading

import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.errors import ServerError
from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import EmbeddedServer
from tests.identity import survey_table
from tests.pipeline import buckets, cut_all, fold, fold_all, frame, queue_of, singles, state_of


def fill(client: redis.Redis) -> None:
    """From now on the server holds more than it may."""
    client.config_set("maxmemory", int(client.info("memory")["used_memory"]) - 1)


@pytest.mark.parametrize("part_bytes", [limits.PART_BYTES, 1_000], ids=["whole deltas", "deltas in parts"])
def test_a_full_server_drains(own_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, part_bytes: int) -> None:
    monkeypatch.setattr(limits, "PART_BYTES", part_bytes)
    client = connect(own_server.url)
    store = buckets(client, "hs", 5_000).shards[0]
    writer = Writer(store)
    writer.publish(frame(store, range(2_500)), 2_500)
    writer.publish(singles(store, range(2_500, 5_000)), 2_500)
    fill(client)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        client.set("anything", "more")
    store.set_pressure("memory")
    assert store.status().pressure == "memory"
    found = cut_all(store)
    assert {fold(store, each) for each in found} == {"ok"}
    assert store.compact(store.read("all"))
    assert store.trim() > 0
    assert (state_of(store)["hist"] == 1).all()
    assert store.status().stream_entries == 0


def test_a_writer_waits_for_a_full_server_and_loses_nothing(own_server: EmbeddedServer) -> None:
    client = connect(own_server.url)
    store = buckets(client, "hs", 20).shards[0]
    causes: list[str] = []

    def free(cause: str) -> None:
        causes.append(cause)
        client.config_set("maxmemory", 0)

    writer = Writer(store, on_wait=free)
    writer.publish(singles(store, range(10)), 10)
    fill(client)
    writer.publish(singles(store, range(10, 20)), 10)
    assert causes == ["memory"]
    fold_all(store)
    assert (state_of(store)["hist"] == 1).all()


def test_the_chores_go_on_though_the_queue_takes_no_job(
    own_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enqueuing fails on a full server; trimming and merging are what empties it."""
    monkeypatch.setattr(limits, "DELTAS_LIMIT", 2)
    client = connect(own_server.url)
    store = buckets(client, "hs", 20).shards[0]
    Writer(store).publish(singles(store, range(10)), 10)
    fold_all(store)
    Writer(store).publish(singles(store, range(10, 20)), 10)
    fill(client)
    stop = threading.Event()
    dispatcher = Dispatcher(client, queue_of(client))
    thread = threading.Thread(target=dispatcher.run, args=(stop,))
    thread.start()
    try:
        for _ in range(100):
            if store.status().deltas == 0 and store.status().stream_entries == 10:
                break
            stop.wait(0.1)
    finally:
        stop.set()
        thread.join()
    seen = store.status()
    assert (seen.deltas, seen.stream_entries) == (0, 10)


def test_the_collector_merges_where_no_estimator_does(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "DELTAS_LIMIT", 8)
    store = buckets(client, prefix, 40).shards[0]
    writer, dispatcher = Writer(store), Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix))
    for value in range(40):
        writer.publish(singles(store, [value]), 1)
        fold_all(store)
        dispatcher.chores()
        assert store.status().deltas < 8
    assert (state_of(store)["hist"] == 1).all()
    assert store.status().pressure is None


def test_a_survey_that_would_not_fit_is_refused(own_server: EmbeddedServer) -> None:
    client = connect(own_server.url)
    client.config_set("maxmemory", 256 * limits.MIB)
    registry = Registry(client)
    with pytest.raises(ServerError, match=r"survey large needs 320,000,000 bytes .* at most 214,748,364"):
        registry.add(parse(survey_table("identity", 20_000_000, name="large")))
    assert registry.names() == []
    registry.add(parse(survey_table("identity", 10_000_000, name="fits")))
    with pytest.raises(ServerError, match="160,000,000 are planned for others"):
        registry.add(parse(survey_table("identity", 5_000_000, name="one-more")))
    registry.add(parse(survey_table("identity", 10_000_000, name="fits")))  # again: nothing new


def test_dead_letters_are_bounded_in_bytes(client: redis.Redis, prefix: str) -> None:
    from hearsay.workers.context import Context, set_current

    store = buckets(client, prefix, 10).shards[0]
    set_current(Context(client, prefix, keep_payloads=True))
    Writer(store).publish([(b"r", bytes([0xC1]) * 100_000)] * 5, 5)
    fold_all(store)
    letters = client.xrange(store.keys.dead)
    assert [len(fields[b"payload"]) for _, fields in letters] == [limits.DEAD_LETTER_BYTES] * 5
    assert {fields[b"length"] for _, fields in letters} == {b"100000"}
