"""A queue's server that is away is named wherever somebody looks, and the data's server is not blamed for it."""

import threading
from pathlib import Path

import pytest
import redis

from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.errors import ServerError
from hearsay.collector.health.troubles import troubles
from hearsay.collector.heartbeats import alive
from hearsay.collector.queue import QueueAway, fold_queue, waiting_count
from hearsay.collector.store.connect import connect_queue
from hearsay.collector.store.registry import Registry
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from tests.cluster import until
from tests.pipeline import buckets, fold_all, singles


def test_the_collector_names_it_and_goes_on_when_it_is_back(
    client: redis.Redis, prefix: str, own_server: EmbeddedServer, caplog: pytest.LogCaptureFixture
) -> None:
    (shard,) = buckets(client, prefix, 20).shards
    registry, stop = Registry(client, prefix), threading.Event()
    collector = Dispatcher(client, connect_queue(own_server.url), CollectorSettings(prefix))
    own_server.kill()
    thread = threading.Thread(target=collector.run, args=(stop,))
    thread.start()

    def about_the_queue() -> list[str]:
        return [each.words for each in troubles(registry) if each.code == "collector"]

    try:
        Writer(shard).publish(singles(shard, range(10)), 10)
        until(lambda: bool(about_the_queue()))
        (words,) = about_the_queue()
        assert f"the queue's server at 127.0.0.1:{own_server.port} does not answer" in words
        assert "HEARSAY_QUEUE_URL" in words
        until(lambda: "collector" in {process.role for process in alive(registry)})  # it is not to blame
        assert shard.look().status.backlog_entries == 10
        own_server.start()
        until(lambda: not about_the_queue())
        until(lambda: shard.look().status.outstanding == 1)
    finally:
        stop.set()
        thread.join()
    messages = [record.getMessage() for record in caplog.records if "server" in record.getMessage()]
    assert [message.partition(":")[0] for message in messages] == ["the queue's server at 127.0.0.1"]
    assert f"{own_server.port}" in messages[0]
    fold_all(shard)


def test_a_server_of_the_data_is_named_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with EmbeddedServer(tmp_path) as server, redis.Redis.from_url(server.url) as client:
        collector, stop = Dispatcher(client, connect_queue(server.url)), threading.Event()
        server.stop()
        thread = threading.Thread(target=collector.run, args=(stop,))
        thread.start()
        try:
            until(lambda: bool(caplog.records))
        finally:
            stop.set()
            thread.join()
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == f"the Redis server at 127.0.0.1:{server.port}/0 cannot be reached; trying again (ConnectionError)"


def test_a_refused_login_is_told_apart(own_server: EmbeddedServer) -> None:
    queue = redis.Redis(port=int(str(own_server.port)), password="open-sesame")
    with pytest.raises(QueueAway, match=f":{own_server.port} refuses the user name or password") as caught:
        waiting_count(fold_queue(queue))
    assert "open-sesame" not in str(caught.value)


def test_the_setting_of_the_queue_is_the_one_to_change() -> None:
    port = free_port()
    with pytest.raises(ServerError, match="HEARSAY_QUEUE_URL") as caught:
        connect_queue(f"redis://:open-sesame@127.0.0.1:{port}/0")
    assert str(caught.value).startswith(f"the queue's Redis server at 127.0.0.1:{port} cannot be reached")
    assert "HEARSAY_REDIS_URL" not in str(caught.value)
    assert "open-sesame" not in str(caught.value)
    assert caught.value.what == "queue-url"
