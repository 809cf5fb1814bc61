"""The estimator with its API under load: queries over HTTP on a large survey while reports flow in.

Frames are perturbed beforehand and published at a steady rate; meanwhile the API is asked at a steady rate, each query
at the moment when it is due, whatever the one before took. `python -m hearsay.ops.bench.queries` prints the rows alone.
"""

import http.client
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.writer import Writer
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.bench.row import Row
from hearsay.ops.server.processes import Pipeline
from hearsay.producer.fleet import frames
from hearsay.producer.populations import Population

SECONDS, WARM_UP_S = 20.0, 4.0
REPORTS_PER_S, QUERIES_PER_S = 1_000_000, 10
DRAWN = 1 << 20  # reports that are drawn; their frames are published again and again
P99_S = 2.0
NAME = "queried"
SURVEY = {"name": NAME, "mechanism": "haar", "epsilon": 1.1, "domain": {"kind": "ordinal", "size": 1 << 20}}


def rows(seconds: float = SECONDS) -> Iterator[Row]:
    """Latency of a query, and what the estimator's process took for all of them and for its passes."""
    with tempfile.TemporaryDirectory() as directory, Pipeline(Path(directory), estimator=True) as pipeline:
        registered = pipeline.registry().add(parse(SURVEY))
        mechanism = registered.survey.mechanism
        cells = Population("zipf", mechanism.domain, np.random.default_rng(1)).take(DRAWN)
        prepared = list(frames(mechanism, codec(mechanism), cells, seeded(1)))
        stop, published = threading.Event(), [0]
        publishing = threading.Thread(target=_publish, args=(Writer(registered.shards[0]), prepared, stop, published))
        publishing.start()
        try:
            time.sleep(WARM_UP_S)
            process, before = _estimator(), published[0]
            used, started = _processor_s(process), time.monotonic()
            latencies = _ask(pipeline.port, seconds)
            elapsed = time.monotonic() - started
            used, peak = _processor_s(process) - used, _peak_mb(process)
            rate = (published[0] - before) / elapsed
        finally:
            stop.set()
            publishing.join()
    note = f"{len(latencies)} queries, {rate / 1e6:.2g} M reports/s, haar 2^20"
    yield Row(
        "query over HTTP while reports flow, p99", _quantile(latencies, 0.99), "s", P99_S, at_most=True, note=note
    )
    yield Row("query over HTTP while reports flow, median", _quantile(latencies, 0.5), "s", P99_S, at_most=True)
    yield Row(
        "processor time of that estimator, passes included", used / len(latencies), "s a query", 0.1, at_most=True
    )
    yield Row("memory of that estimator at its peak", peak, "MB", 1_000.0, at_most=True)


def _publish(writer: Writer, prepared: list[tuple[bytes, int]], stop: threading.Event, published: list[int]) -> None:
    """The same frames again and again, at a steady rate."""
    started, number = time.monotonic(), 0
    while not stop.is_set():
        frame, reports = prepared[number % len(prepared)]
        writer.publish([(b"f", frame)], reports)
        published[0] += reports
        number += 1
        ahead_s = published[0] / REPORTS_PER_S - (time.monotonic() - started)
        if ahead_s > 0:
            stop.wait(ahead_s)


def _ask(port: int, seconds: float) -> list[float]:
    """How long each query took from the moment when it was due."""
    started = time.monotonic()
    due = [started + number / QUERIES_PER_S for number in range(int(seconds * QUERIES_PER_S))]
    ends = np.sort(np.random.default_rng(2).integers(0, 1 << 20, size=(len(due), 2)), axis=1).tolist()

    def query(number: int) -> float:
        low, high = ends[number]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", f"/api/surveys/{NAME}/query?q=range+{low}+{high}")
        response = connection.getresponse()
        response.read()
        connection.close()
        if response.status != http.client.OK:
            raise RuntimeError(f"a query must be answered with 200, got {response.status}")
        return time.monotonic() - due[number]

    with ThreadPoolExecutor(64) as pool:
        waiting = []
        for number, moment in enumerate(due):
            time.sleep(max(moment - time.monotonic(), 0.0))
            waiting.append(pool.submit(query, number))
        return [each.result() for each in waiting]


def _estimator() -> int:
    """The process of the pipeline's estimator: a child of this one."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(path.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            words = path.joinpath("cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it ended meanwhile
        if parent == os.getpid() and b"estimate" in words:
            return int(path.name)
    raise RuntimeError("the pipeline must have an estimator")


def _processor_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_mb(process: int) -> float:
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(peak) / 1024


def _quantile(latencies: list[float], share: float) -> float:
    return float(np.quantile(latencies, share))


if __name__ == "__main__":
    for row in rows():
        print(f"{row.what}: {row.value:.3g} {row.unit}{f' ({row.note})' if row.note else ''}", flush=True)
