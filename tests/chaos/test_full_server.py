"""A server that others have filled: what was taken in is folded all the same, everybody says why the rest waits, and
when there is memory again all goes on by itself."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from hearsay.collector import limits
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.health.troubles import troubles
from hearsay.collector.store.client import Client
from hearsay.collector.store.connect import connect
from hearsay.collector.store.keys import PREFIX, QUEUE, queue_name
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from hearsay.workers.job import IDLE_S
from tests.chaos.processes import Pipeline
from tests.identity import known_to_this_process
from tests.pipeline import buckets, cut_all, frame, singles, state_of

__all__ = ["known_to_this_process"]

REPORTS = 6_000


def fill(client: Client) -> None:
    """Somebody else's keys, until nothing more goes in."""
    client.config_set("maxmemory", int(client.info("memory")["used_memory"]) + 8 * limits.MIB)
    number, size = 0, limits.MIB
    while size >= 64:
        try:
            client.set(f"foreign:{number}", b"x" * size)
            number += 1
        except redis.exceptions.OutOfMemoryError:
            size //= 4


def empty(client: Client) -> None:
    client.delete(*client.scan_iter(match="foreign:*"))


def until(happened: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@pytest.fixture
def client(own_server: EmbeddedServer) -> Iterator[Client]:
    connected = connect(own_server.url)
    yield connected
    connected.close()


@pytest.fixture
def registered(client: Client) -> Registered:
    found = buckets(client, PREFIX, REPORTS)
    store = found.shards[0]
    Writer(store).publish(frame(store, range(REPORTS // 3)), REPORTS // 3)
    Writer(store).publish(singles(store, range(REPORTS // 3, 2 * REPORTS // 3)), REPORTS // 3)
    return found


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="real processes")
def test_a_server_that_others_filled(
    own_server: EmbeddedServer, client: Client, registered: Registered, tmp_path: Path
) -> None:
    store, port = registered.shards[0], free_port()
    fill(client)
    pipeline = Pipeline(own_server, tmp_path)
    waits: list[str] = []
    late = Writer(store, on_wait=waits.append)
    producer = threading.Thread(
        target=lambda: late.publish(singles(store, range(2 * REPORTS // 3, REPORTS)), REPORTS // 3)
    )
    try:
        pipeline.start_services(port)
        producer.start()
        until(lambda: store.status().waiting_entries == 0)  # no job was ever enqueued
        assert int(state_of(store)["hist"].sum()) == 2 * REPORTS // 3
        assert set(waits) == {"memory"}
        words = [trouble.words for trouble in troubles(Registry(client)) if trouble.code == "memory"]
        assert len(words) == 1
        assert words[0].startswith("server: memory is full, ")

        def says_so() -> bool:
            try:
                ready = httpx.get(f"http://127.0.0.1:{port}/readyz")
                metrics = httpx.get(f"http://127.0.0.1:{port}/metrics").text
            except httpx.TransportError:
                return False  # it is starting
            said = 'hearsay_standing_still{kind="memory"} 1.0' in metrics
            return ready.status_code == 503 and "memory is full" in ready.text and said

        until(says_so)
        empty(client)
        producer.join(60)
        until(lambda: store.status().waiting_entries == 0 and int(state_of(store)["hist"].sum()) == REPORTS)
        until(lambda: httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200)
    finally:
        pipeline.stop()
    assert (state_of(store)["hist"] == 1).all()
    assert store.status().quarantines == 0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="real processes")
def test_workers_that_were_idle_when_others_filled_the_server(
    own_server: EmbeddedServer, client: Client, registered: Registered, tmp_path: Path
) -> None:
    """They wait for a job that nobody can enqueue, and write nothing meanwhile: they must look up soon."""
    store, pipeline = registered.shards[0], Pipeline(own_server, tmp_path)
    try:
        pipeline.start("workers", "work")
        until(lambda: client.scard(f"rq:workers:{queue_name(QUEUE, PREFIX)}") == 2)
        time.sleep(1.0)  # from here on both wait
        fill(client)
        pipeline.start("collector", "collect")
        until(lambda: store.status().waiting_entries == 0, 5 * IDLE_S)
    finally:
        pipeline.stop()
    assert int(state_of(store)["hist"].sum()) == 2 * REPORTS // 3


def test_a_full_queue_uses_up_no_attempts(client: Client, registered: Registered) -> None:
    """Ranges that nobody could be told of are not to blame: they are enqueued when there is memory again."""
    store, dispatcher = registered.shards[0], Dispatcher(client, client, CollectorSettings(lease_s=0.0))
    queue = Queue(queue_name(QUEUE, PREFIX), connection=client, serializer=JSONSerializer)
    out = cut_all(store)
    Writer(store).publish(singles(store, range(2 * REPORTS // 3, REPORTS)), REPORTS // 3)
    fill(client)
    for _ in range(3 * limits.ATTEMPTS):
        dispatcher.chores()
        dispatcher.dispatch()
    assert [(found.attempt, found.quarantined) for found in store.ranges()][: len(out)] == [(1, False)] * len(out)
    assert queue.count == 0
    assert [found.words for found in Registry(client).complaints.all()] == [
        "no jobs can be enqueued: the queue's server is full"
    ]
    empty(client)
    dispatcher.chores()
    assert queue.count >= len(out)


def test_memory_that_is_short_is_named_before_it_is_full(client: Client, registered: Registered) -> None:
    used = int(client.info("memory")["used_memory"])
    client.config_set("maxmemory", int(used / 0.7))
    (found,) = [trouble for trouble in troubles(Registry(client)) if trouble.code == "memory"]
    assert "writers wait above 60%" in found.words
    assert not found.holds_up
    assert np.isclose(float(found.words.split("(")[1].split("%")[0]), 70, atol=3)
