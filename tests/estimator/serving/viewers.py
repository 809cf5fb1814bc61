"""`python -m tests.estimator.serving.viewers`: what people who look cost the estimator.

50 surveys of five kinds with 20 windows of the past each, reports flowing into five of them. Printed: how long the
overview takes, what ten viewers add to the estimator's processor time in SECONDS=60, the longest time between two
snapshots without and with them, and what 512 streams, one of which takes nothing, do to others.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.server.processes import Pipeline

HOUR_MS = 3_600_000
ONE = 1_738_328_400_000  # 2025-01-31 13:00 UTC
REPORTS = 300  # of a window
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "line": ("haar", {"kind": "ordinal", "size": 256}),
    "labels": ("hrr", {"kind": "categorical", "size": 16}),
    "attributes": ("inp-ht", {"kind": "attributes", "names": ["a", "b", "c", "d"], "order": 2}),
    "pairs": ("privkv", {"kind": "key-value", "keys": 8}),
    "count": ("gm", {"kind": "count", "max": 8}),
}
VIEWERS, STREAMS = 10, 512
AS_THE_PAGE = {"Cache-Control": "max-age=2"}
RATE = 200.0  # reports a second into each survey that is looked at


@dataclass
class Seen:
    """What was measured."""

    surveys: int
    windows: int
    overview_p95_ms: float
    idle_share: float  # of a core that the estimator takes without viewers
    viewers_share: float  # and what ten viewers of the overview add
    pages_share: float  # what ten viewers add of whom five look at a survey each, which changes with every pass
    longest_gap_s: float  # between two snapshots of a survey, without viewers
    longest_gap_viewed_s: float
    longest_gap_streams_s: float  # with 512 streams
    overview_streams_ms: float  # the slowest of 20 with 512 streams, one of which takes nothing


def measure(directory: Path, surveys: int, windows: int, seconds: float, streams: int = STREAMS) -> Seen:
    """Fill a pipeline, and look."""
    with Pipeline(directory, estimator=True, workers=1) as pipeline:
        registry = pipeline.registry()
        filled = [_filled(registry, number, windows) for number in range(surveys)]
        _wait_until_settled(pipeline, surveys, windows)
        looked_at = [each.survey.name for each in filled[: len(KINDS)]]
        with _produced(pipeline, looked_at, 8 * seconds + 240):
            time.sleep(5)
            overview = _overview(pipeline, 20)
            idle, gap = _while(pipeline, registry, looked_at[0], seconds)
            with _viewers(pipeline, [None] * VIEWERS):
                viewed, gap_viewed = _while(pipeline, registry, looked_at[0], seconds)
            with _viewers(pipeline, [*looked_at, *[None] * (VIEWERS - len(looked_at))]):
                pages, gap_pages = _while(pipeline, registry, looked_at[0], seconds)
            with _viewers(pipeline, [], streams):
                slowest = max(_overview(pipeline, 20))
                _, gap_streams = _while(pipeline, registry, looked_at[0], min(seconds, 20))
        return Seen(
            surveys, windows, 1_000 * float(np.quantile(overview, 0.95)), idle, viewed - idle, pages - idle, gap,
            max(gap_viewed, gap_pages), gap_streams, 1_000 * slowest,
        )  # fmt: skip


def _filled(registry: Registry, number: int, windows: int) -> Registered:
    kind = list(KINDS)[number % len(KINDS)]
    mechanism, domain = KINDS[kind]
    name = f"{kind}-{number:02}"
    registered = registry.add(
        parse({"name": name, "mechanism": mechanism, "epsilon": 1.0, "domain": domain, "window": {"every": "1h"}})
    )
    built, shard = registered.survey.mechanism, registered.shards[0]
    people = built.domain.simulated(built.domain.shapes()[0], REPORTS, np.random.default_rng(number))
    frame = codec(built).encode_frame(built.perturb(people, seeded(number)))
    for window in range(windows):
        shard.node.do("XADD", shard.keys.stream, f"{ONE + window * HOUR_MS}-*", "f", frame)
    return registered


def _wait_until_settled(pipeline: Pipeline, surveys: int, windows: int) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        rows = httpx.get(f"{pipeline.address}/api/overview", timeout=60).json()["surveys"]
        if len(rows) == surveys and all(row["reports"] == windows * REPORTS and row["headline"] for row in rows):
            return
        time.sleep(1)
    raise AssertionError("the surveys were not folded in time")


@contextmanager
def _produced(pipeline: Pipeline, names: list[str], seconds: float) -> Iterator[None]:
    environment = {**os.environ, "HEARSAY_DATA_DIR": str(pipeline.directory), "HEARSAY_REDIS_URL": pipeline.server.url}
    devices = f"--devices={int(RATE * seconds)}"
    with (pipeline.directory / "produce.log").open("ab") as log:
        running = [
            subprocess.Popen(
                [sys.executable, "-P", "-m", "hearsay", "produce", name, devices, f"--rate={RATE}", "--frame=50"],
                env=environment, stdout=log, stderr=log,
            )
            for name in names
        ]  # fmt: skip
    try:
        yield
    finally:
        for each in running:
            each.terminate()
            each.wait(30)


def _overview(pipeline: Pipeline, count: int) -> list[float]:
    """Seconds of each of so many requests, each late enough that the document is made for it."""
    taken = []
    with httpx.Client(base_url=pipeline.address, timeout=60) as http:
        for _ in range(count):
            time.sleep(1.05)
            began = time.monotonic()
            assert http.get("/api/overview").status_code == 200
            taken.append(time.monotonic() - began)
    return taken


def _while(pipeline: Pipeline, registry: Registry, name: str, seconds: float) -> tuple[float, float]:
    """The share of a core that the estimator takes, and the longest time between two snapshots of a survey."""
    shard = registry.get(name).shards[0]
    began, spent = time.monotonic(), _processor_s(pipeline)
    versions, changed, longest = None, began, 0.0
    while time.monotonic() - began < seconds:
        window = registry.get(name).look().windows[-1].name
        version = shard.snapshot_version(window)
        if version != versions:
            longest, changed, versions = max(longest, time.monotonic() - changed), time.monotonic(), version
        time.sleep(0.1)
    return (_processor_s(pipeline) - spent) / (time.monotonic() - began), longest


def _processor_s(pipeline: Pipeline) -> float:
    fields = Path(f"/proc/{pipeline.pid('estimate')}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _viewers(pipeline: Pipeline, looking_at: list[str | None], streams: int = 0) -> Iterator[None]:
    """Viewers of the overview (None) or of a survey, which ask anew when it changes; and streams, one of them slow."""
    stop = threading.Event()
    threads = [threading.Thread(target=_view, args=(pipeline.address, name, stop)) for name in looking_at]
    for each in threads:
        each.start()
    lines = [_stream(pipeline) for _ in range(streams)]
    reader = threading.Thread(target=_read_all, args=(lines[1:], stop))
    reader.start()
    try:
        time.sleep(1)
        yield
    finally:
        stop.set()
        for each in (*threads, reader):
            each.join(30)
        for line in lines:
            line.close()


def _stream(pipeline: Pipeline) -> socket.socket:
    line = socket.create_connection(("127.0.0.1", pipeline.port), timeout=30)
    line.sendall(f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{pipeline.port}\r\n\r\n".encode())
    assert line.recv(15) == b"HTTP/1.1 200 OK"
    return line


def _read_all(lines: list[socket.socket], stop: threading.Event) -> None:
    for line in lines:
        line.setblocking(False)
    while not stop.wait(0.5):
        for line in lines:
            with suppress(BlockingIOError, OSError):
                line.recv(1 << 20)


def _view(address: str, name: str | None, stop: threading.Event) -> None:
    with httpx.Client(base_url=address, timeout=60, headers={"Accept-Encoding": "gzip"}) as http:
        views = [] if name is None else http.get(f"/api/surveys/{name}").json()["views"]
        questions = [view[each] for view in views for each in ("query", "also") if each in view]
        with http.stream("GET", "/api/events") as response:
            for line in response.iter_lines():
                if stop.is_set():
                    return
                if line.startswith("data:") and name is not None and f'"name": "{name}", "window"' in line[:200]:
                    for question in questions:
                        http.get(f"/api/surveys/{name}/query", params={"q": question}, headers=AS_THE_PAGE)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        seen = measure(Path(folder), 50, 20, float(os.environ.get("SECONDS", "60")))
    print(json.dumps({name: round(value, 4) for name, value in asdict(seen).items()}, indent=1))
