"""Disks that are full: under the server's log, where nothing more is taken, and under the snapshots, where rounds and
merges go on. Both are said loudly and are over when there is room.

A file size limit of the process stands for the full disk: it fails like one, needs no root, and can be lifted.
"""

import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from hearsay.collector.health.troubles import troubles
from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.estimator.snapshots import loading
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from tests.chaos.processes import Pipeline
from tests.identity import known_to_this_process, survey_table
from tests.pipeline import singles, state_of
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["known_to_this_process", "two_rounds_known"]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prlimit")
REPORTS = 3_000


def until(happened: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@contextmanager
def full_disk(pid: int, room: int = 0) -> Iterator[None]:
    """No file of the process grows beyond so many bytes."""
    unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (room, unlimited[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """It gets an error for a file that is too large, as from a full disk, and no signal: Python ignores that too."""
    popen, running = subprocess.Popen, EmbeddedServer(tmp_path / "server")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "hearsay.ops.server.embedded.subprocess.Popen",
            lambda *words, **more: popen(*words, **more, restore_signals=False),
        )
        running.start()
    yield running
    running.stop()


def readyz(port: int) -> tuple[int, str]:
    with suppress(httpx.TransportError):
        found = httpx.get(f"http://127.0.0.1:{port}/readyz")
        return found.status_code, found.text
    return 0, ""


@pytest.mark.slow
def test_a_server_that_cannot_write_its_log(server: EmbeddedServer, tmp_path: Path) -> None:
    registry = Registry(connect(server.url))
    store, port = registry.add(parse(survey_table("identity", REPORTS))).shards[0], free_port()
    waits: list[str] = []
    writer = Writer(store, on_wait=waits.append)
    pipeline = Pipeline(server, tmp_path)
    producer = threading.Thread(
        target=lambda: [
            writer.publish(singles(store, range(first, first + 100)), 100)
            for first in range(REPORTS // 2, REPORTS, 100)
        ]
    )
    try:
        pipeline.start_services(port)
        writer.publish(singles(store, range(REPORTS // 2)), REPORTS // 2)
        until(lambda: readyz(port)[0] == 200)
        assert server.pid is not None
        with full_disk(server.pid):
            producer.start()
            until(lambda: "disk" in waits and not registry.node.condition().writes)
            (words,) = [trouble.words for trouble in troubles(registry) if trouble.code == "disk"]
            assert words.startswith("server: it cannot write to its disk")
            until(lambda: readyz(port)[0] == 503 and "cannot write to its disk" in readyz(port)[1])
        producer.join(60)
        until(lambda: store.status().waiting_entries == 0 and int(state_of(store)["hist"].sum()) == REPORTS)
        until(lambda: readyz(port)[0] == 200)
        assert all(process.poll() is None for process in pipeline.processes.values())
    finally:
        pipeline.stop()
    assert (state_of(store)["hist"] == 1).all()
    server.restart()  # and its log can be read
    assert (state_of(store)["hist"] == 1).all()


@pytest.mark.slow
def test_a_full_disk_under_the_snapshots(server: EmbeddedServer, tmp_path: Path) -> None:
    """Answers are read live, the round is closed and the next one opened; the last snapshot stays, and nothing piles
    up beside it."""
    registry = Registry(connect(server.url))
    store = registry.add(parse(survey_table("identity", REPORTS))).shards[0]
    turns = registry.add(parse(rounds_table(8, reports=100)))
    pipeline, port = Pipeline(server, tmp_path), free_port()
    pipeline.plugins += ",tests.rounds"
    root = tmp_path / "var" / "snapshots"
    try:
        pipeline.start_services(port)
        writer = Writer(store)
        writer.publish(singles(store, range(1_000)), 1_000)
        until(lambda: (root / "buckets" / "all").exists() and loading.load(root / "buckets" / "all").reports == 1_000)
        with full_disk(pipeline.processes["estimator"].pid):
            writer.publish(singles(store, range(1_000, REPORTS)), REPORTS - 1_000)
            Writer(turns.shards[0]).publish([(b"r", b"\x91\x05")] * 100, 100, 1)
            until(lambda: turns.shards[0].rounds().number == 2)
            until(lambda: {found.about for found in registry.complaints.all()} >= {"buckets"})
            (words,) = [found.words for found in registry.complaints.all() if found.about == "buckets"]
            assert "snapshot cannot be written to" in words
            until(lambda: readyz(port)[0] == 503 and "snapshot cannot be written to" in readyz(port)[1])
            time.sleep(2.0)  # a few passes more
            assert loading.load(root / "buckets" / "all").reports == 1_000
            assert len(list((root / "buckets" / ".generations").glob("all.*"))) <= 2
        until(lambda: loading.load(root / "buckets" / "all").reports == REPORTS)
        until(lambda: registry.complaints.all() == ())
    finally:
        pipeline.stop()
    assert (state_of(store)["hist"] == 1).all()
