"""What clients cannot do: take all connections, all memory, or the time of those who ask whether the process lives."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from hearsay.collector.http import server
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.estimator.readings import Readings
from hearsay.estimator.serving import answers
from hearsay.estimator.snapshots import loading
from tests.estimator.running import estimator
from tests.estimator.surveys import colours, deliver


@pytest.fixture
def running(registry: Registry, tmp_path: Path) -> Iterator[httpx.Client]:
    deliver(registry.add(colours()), 300)
    with estimator(registry, tmp_path) as http:
        yield http


def open_connections(http: httpx.Client, count: int, stack: ExitStack, text: bytes = b"GET / HTTP/1.1\r\n") -> None:
    """Half a request each."""
    for _ in range(count):
        connection = stack.enter_context(socket.create_connection((http.base_url.host, http.base_url.port or 0)))
        connection.sendall(text)


def test_half_open_connections_do_not_stop_the_rest(
    running: httpx.Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Fewer connections are held than there are files; those that bring nothing are closed."""
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 40)
    monkeypatch.setattr(server, "REQUEST_S", 0.3)
    with ExitStack() as stack:
        open_connections(running, 1_100, stack)
        time.sleep(1.0)
        assert running.get("/healthz").status_code == 200
        assert loading.load(tmp_path / "colours" / "all").metadata["reports"] == 300
    assert running.get("/api/surveys").status_code == 200


def test_connections_beyond_the_limit_make_room(running: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle ones, and those whose request does not end, are closed; whoever comes is served."""
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 5)
    with ExitStack() as stack:
        open_connections(running, 30, stack)
        assert answered(running)
        open_connections(running, 30, stack, b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n")
        assert answered(running)


def test_a_head_without_end_is_cut_off(running: httpx.Client) -> None:
    with socket.create_connection((running.base_url.host, running.base_url.port or 0)) as endless:
        endless.settimeout(5.0)
        endless.sendall(b"GET /healthz HTTP/1.1\r\n")
        with suppress(ConnectionError):
            for _ in range(1_000):
                endless.sendall(b"X-More: " + b"x" * 1_000 + b"\r\n")
            assert endless.recv(1) == b""
    assert answered(running)


def answered(http: httpx.Client) -> bool:
    """Whether a new connection is served."""
    with socket.create_connection((http.base_url.host, http.base_url.port or 0)) as connection:
        connection.settimeout(5.0)
        try:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n")
            return connection.recv(1_000).startswith(b"HTTP/1.1 200")
        except ConnectionError:
            return False


def test_a_client_that_takes_nothing_is_let_go(running: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "REQUEST_S", 0.2)
    with socket.create_connection((running.base_url.host, running.base_url.port or 0)) as slow:
        slow.settimeout(10.0)
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: [::1]\r\n")  # and never the rest
        assert slow.recv(1_000) == b""


def test_whether_it_lives_is_answered_while_everything_else_waits(
    running: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty threads wait for one large estimate: the event loop answers."""
    gate, inside = threading.Event(), threading.Semaphore(0)

    def stuck(self: Readings, *words: object) -> object:
        inside.release()
        gate.wait(20)
        raise RuntimeError("let go")

    monkeypatch.setattr(Readings, "live", stuck)
    askers = [
        threading.Thread(target=lambda: httpx.get(f"{running.base_url}/api/surveys/colours/query?q=cdf", timeout=30))
        for _ in range(40)
    ]
    for asker in askers:
        asker.start()
    try:
        for _ in askers:
            assert inside.acquire(timeout=10)
        started = time.monotonic()
        assert running.get("/healthz").status_code == 200
        assert time.monotonic() - started < 2.0
    finally:
        gate.set()
        for asker in askers:
            asker.join()


def test_no_query_goes_past_the_limit_of_answers(
    registry: Registry, running: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {"name": "wide", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 1_000}}
    deliver(registry.add(parse(table)), 500)
    monkeypatch.setattr(answers, "ANSWERS_LIMIT", 100)
    for question in ("top 101", "top 999999999", "frequencies"):
        refused = running.get("/api/surveys/wide/query", params={"q": question})
        assert refused.status_code == 400
        assert "at most 100 are given here" in refused.json()["error"]
    assert len(running.get("/api/surveys/wide/query", params={"q": "top 100"}).json()["answers"]) == 100


def test_a_body_that_breaks_after_the_answer_leaves_no_traceback(
    running: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer does not wait for the body; what is wrong with that has no answer any more."""
    for body in (b"GET /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\n", b"\x00" * 10, b"zz\r\nhello"):
        with socket.create_connection((running.base_url.host, running.base_url.port or 0)) as connection:
            connection.settimeout(5.0)
            connection.sendall(b"POST /healthz HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n")
            assert connection.recv(1_000).startswith(b"HTTP/1.1 405")
            connection.sendall(body)
            connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                while connection.recv(1_000):
                    pass
    assert [record for record in caplog.records if record.exc_info] == []
    assert running.get("/healthz").status_code == 200


def test_a_body_that_breaks_before_the_answer_leaves_no_traceback(
    running: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The request that is being worked on has no one to answer any more."""
    gate, inside = threading.Event(), threading.Event()
    real = Readings.live

    def waiting(self: Readings, *words: Any) -> Any:
        inside.set()
        gate.wait(20)
        return real(self, *words)

    monkeypatch.setattr(Readings, "live", waiting)
    with socket.create_connection((running.base_url.host, running.base_url.port or 0)) as connection:
        connection.settimeout(5.0)
        head = b"GET /api/surveys/colours/query?q=frequencies HTTP/1.1\r\nHost: [::1]\r\n"
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        assert inside.wait(10)
        connection.sendall(b"zz\r\nhello")
        with suppress(ConnectionError):
            assert connection.recv(1_000) == b""
    gate.set()
    assert running.get("/api/surveys/colours/query", params={"q": "frequencies"}).status_code == 200
    assert [record for record in caplog.records if record.exc_info or record.levelname == "ERROR"] == []
