"""Streams of viewers: as many as half of the connections, a slow one, and rows of final windows that are kept."""

import socket
import time
from pathlib import Path

import httpx
import pytest

from hearsay.collector.http import server
from hearsay.collector.store.registry import Registered, Registry
from hearsay.estimator.serving import answers
from tests.estimator.running import estimator, wait_until
from tests.estimator.surveys import colours, deliver

HOUR_MS = 3_600_000
ONE = 1_738_328_400_000  # 2025-01-31 13:00 UTC


@pytest.fixture
def hourly(registry: Registry) -> Registered:
    registered = registry.add(colours(window={"every": "1h"}))
    for hour in range(3):
        deliver(registered, 200, seed=hour, at_ms=ONE + hour * HOUR_MS)
    return registered


def follow(http: httpx.Client) -> socket.socket:
    line = socket.create_connection(("127.0.0.1", http.base_url.port or 0), timeout=10)
    line.sendall(f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{http.base_url.port}\r\n\r\n".encode())
    return line


def test_streams_leave_room_for_whoever_only_asks(
    registry: Registry, hourly: Registered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 20)
    with estimator(registry, tmp_path) as http:
        lines = [follow(http) for _ in range(10)]
        assert all(line.recv(64).startswith(b"HTTP/1.1 200") for line in lines)
        refused = http.get("/api/events")
        assert (refused.status_code, refused.json()["code"]) == (503, "busy")
        for _ in range(3):
            with httpx.Client(base_url=http.base_url) as other:
                assert other.get("/metrics").status_code == 200
        lines.pop().close()
        wait_until(lambda: _is_taken(http))
        for line in lines:
            line.close()


def _is_taken(http: httpx.Client) -> bool:
    with http.stream("GET", "/api/events") as response:
        return response.status_code == 200


def test_a_reader_that_takes_nothing_stops_nobody(registry: Registry, hourly: Registered, tmp_path: Path) -> None:
    with estimator(registry, tmp_path, period_s=0.02) as http:
        slow, quick = follow(http), follow(http)
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        taken, deadline = 0, time.monotonic() + 2
        while time.monotonic() < deadline:
            taken += quick.recv(1 << 16).count(b"event: overview")
        assert taken > 5
        assert http.get("/api/surveys/colours/query", params={"q": "point red"}).status_code == 200
        slow.close()
        quick.close()


def test_rows_of_final_windows_are_answered_once(
    registry: Registry, hourly: Registered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    ask = answers._ask
    monkeypatch.setattr(answers, "_ask", lambda *given: (asked.append(given), ask(*given))[1])
    with estimator(registry, tmp_path) as http:
        address = "/api/surveys/colours/series?q=point+red"
        first = http.get(address).json()
        assert [row["status"] for row in first] == ["final"] * 3
        assert len(asked) == 3
        assert http.get(address).json() == first
        assert len(asked) == 3
        other = http.get(f"{address}&count=1").json()
        assert other[0]["answers"][0]["value"] == pytest.approx(200 * first[0]["answers"][0]["value"])
        assert len(asked) == 6
