"""Services wait for a server that is still starting, and longer for one that reads its files."""

import secrets
import threading
from pathlib import Path

import pytest
import redis

from hearsay.collector.errors import LoginRefused, ServerError, StillLoading
from hearsay.collector.roles import COLLECTOR
from hearsay.ops.config import Settings
from hearsay.ops.server import connection
from hearsay.ops.server.connection import open_queue_patiently, open_registry, open_registry_patiently
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from tests.cluster import until

KEYS = 100
# The server serves clients between so many bytes of its file, and waits after each key for so many microseconds.
SLOWLY = ["--loading-process-events-interval-bytes", "1024", "--key-load-delay", "20000"]


def _is_loading(server: EmbeddedServer) -> bool:
    try:
        with redis.Redis.from_url(server.url) as client:
            return bool(client.info()["loading"])
    except redis.ConnectionError:
        return False


def test_a_server_that_reads_its_files_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with EmbeddedServer(tmp_path) as server, redis.Redis.from_url(server.url) as client:
        client.mset({f"key:{number}": secrets.token_bytes(2_048) for number in range(KEYS)})
        client.bgrewriteaof()
        until(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
        server.stop()
    slow = EmbeddedServer(tmp_path, server.port, SLOWLY)
    starting = threading.Thread(target=slow.start)
    starting.start()
    try:
        until(lambda: _is_loading(slow))
        settings = Settings.resolve({"redis_url": slow.url}, {})
        with pytest.raises(StillLoading, match=rf"127.0.0.1:{slow.port} still loads its files"):
            open_registry(settings)
        monkeypatch.setattr(connection, "PATIENCE_S", 0.2)  # it loads for much longer
        queue = open_queue_patiently(settings, threading.Event(), COLLECTOR)
        assert queue is not None
        assert queue.ping()
        registry = open_registry_patiently(settings, threading.Event(), COLLECTOR)
        assert registry is not None
        assert registry.names() == []
        assert [record.getMessage().count("still loads its files") for record in caplog.records] == [1]
    finally:
        starting.join()
        slow.stop()


def test_a_server_that_ends_between_two_commands_is_waited_for() -> None:
    answers = iter([redis.BusyLoadingError(), redis.ConnectionError(), None])

    def connect() -> str:
        if (error := next(answers)) is not None:
            raise error
        return "connected"

    assert connection._patiently(connect, threading.Event()) == "connected"


def test_a_server_that_does_not_answer_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connection, "PATIENCE_S", 0.5)
    settings = Settings.resolve({"redis_url": f"redis://127.0.0.1:{free_port()}/0"}, {})
    with pytest.raises(ServerError, match="cannot be reached"):
        open_registry_patiently(settings, threading.Event(), COLLECTOR)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("waiting for the server, up to 0.5 s: Redis server at 127.0.0.1:")


@pytest.mark.parametrize("login", ["hearsay-worker:nope@", ""])
def test_a_refused_login_is_not_waited_for(
    server: EmbeddedServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, login: str
) -> None:
    monkeypatch.setattr(connection, "PATIENCE_S", 1.0)  # with a line in the log if it waits
    url = f"redis://{login}127.0.0.1:{server.port}/0"
    settings = Settings.resolve({"redis_url": url, "queue_url": url}, {})
    for open_patiently in (open_registry_patiently, open_queue_patiently):
        with pytest.raises(LoginRefused, match=r"refused the user name or password|asks for a password"):
            open_patiently(settings, threading.Event(), COLLECTOR)
    assert not caplog.records


def test_a_url_of_no_server_is_not_waited_for(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PATIENCE_S", 1.0)  # with a line in the log if it waits
    url = "redis://127.0.0.1:1/0?bogus=1"
    settings = Settings.resolve({"redis_url": url, "queue_url": url}, {})
    for open_patiently in (open_registry_patiently, open_queue_patiently):
        with pytest.raises(ServerError, match="Redis URL must be like"):
            open_patiently(settings, threading.Event(), COLLECTOR)
    assert not caplog.records
