"""What surveys in which nothing happens cost: `python -m tests.idle [SURVEYS [LINK_MS]]`, over the real processes.

Registered are so many surveys; after they have come to rest, commands and log of the server and processor time of all
processes are measured over some seconds. Then a few reports are published and waited for, and /readyz, a scrape and
`status` are timed. With LINK_MS every round trip to the server takes so much longer. Beside each figure stands its
bound for 1,000 surveys; over a link it is twice that.
"""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import httpx
import redis

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.ops.server.processes import Pipeline
from hearsay.ops.server.waiting import folded
from hearsay.producer.device import Device
from tests.measures.slow_link import slow_link

REST_S, OVER_S, TRIES = 15.0, 20.0, 5


class Idle(NamedTuple):
    """What was measured; times in seconds, the worst of some tries."""

    commands_per_s: float
    processor: float  # of one core, all processes and the server together
    log_bytes_per_s: float
    commit_s: float
    readyz_s: float
    scrape_s: float
    status_s: float


LIMITS = Idle(5_000.0, 0.10, 1_000.0, 0.5, 0.1, 1.0, 1.5)  # with 1,000 surveys
OVER_A_LINK = 2.0  # times as much


def measure(surveys: int, directory: Path, link_s: float = 0.0) -> Idle:
    """A pipeline of its own, with so many surveys and nothing to do."""
    with ExitStack() as stack:
        server = stack.enter_context(EmbeddedServer(directory / "server"))
        url = server.url
        if link_s:
            assert server.port is not None
            url = url.replace(f":{server.port}/", f":{stack.enter_context(slow_link(server.port, link_s))}/")
        pipeline = stack.enter_context(Pipeline(directory, estimator=True, workers=2, redis_url=url))
        registry = pipeline.registry()
        added = [add(registry, number) for number in range(surveys)]
        time.sleep(REST_S + surveys / 200)
        client = stack.enter_context(redis.Redis.from_url(server.url))
        before, spent, started = client.info(), sum(processor_s(pipeline, server).values()), time.monotonic()
        time.sleep(OVER_S)
        after, elapsed = client.info(), time.monotonic() - started
        spent = sum(processor_s(pipeline, server).values()) - spent
        commit_s = max(_commit(added[number * surveys // TRIES]) for number in range(TRIES))
        with httpx.Client(base_url=pipeline.address, timeout=60) as http:
            readyz_s, scrape_s = _time(http, "/readyz"), _time(http, "/metrics")
        status_s = _status(pipeline)
    return Idle(
        (after["total_commands_processed"] - before["total_commands_processed"]) / elapsed,
        spent / elapsed,
        (after["aof_current_size"] - before["aof_current_size"]) / elapsed,
        commit_s,
        readyz_s,
        scrape_s,
        status_s,
    )


def _status(pipeline: Pipeline) -> float:
    """How long `hearsay status` takes, the worst of some tries but for the first, which compiles its modules."""
    status = [sys.executable, "-P", "-m", "hearsay", "status"]
    environment = {**pipeline._environment, "PYTHONPYCACHEPREFIX": str(pipeline.directory / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    took = []
    for _ in range(TRIES):
        started = time.monotonic()
        subprocess.run(status, env=environment, check=True, capture_output=True)
        took.append(time.monotonic() - started)
    return max(took[1:])


def add(registry: Registry, number: int) -> Registered:
    domain = {"kind": "categorical", "size": 8}
    return registry.add(parse({"name": f"idle-{number}", "mechanism": "hrr", "epsilon": 1.0, "domain": domain}))


def _commit(registered: Registered) -> float:
    """How long a report takes from its publication to its commit."""
    writer, done = Writer(registered.shards[0]), folded(registered)
    report = Device(registered.survey).report(3)
    started = time.monotonic()
    writer.publish([(b"r", report)], 1)
    while folded(registered) == done:
        time.sleep(0.005)
    return time.monotonic() - started


def _time(http: httpx.Client, path: str) -> float:
    took = []
    for _ in range(TRIES):
        started = time.monotonic()
        assert http.get(path).status_code == 200, path
        took.append(time.monotonic() - started)
    return max(took)


def processor_s(pipeline: Pipeline, server: EmbeddedServer) -> dict[str, float]:
    """Processor time of the server, and of each command's process with its children."""
    stats = {int(path.name): _stat(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
    used = {}
    roots = {name: process.pid for name, process in pipeline._processes.items()} | {"server": server.pid}
    for command, pid in roots.items():
        family = {pid}
        while more := {child for child, stat in stats.items() if stat and stat[0] in family and child not in family}:
            family |= more
        used[command] = sum(stat[1] for child, stat in stats.items() if stat and child in family)
    return used


def _stat(path: Path) -> tuple[int, float] | None:
    """A process's parent, and its processor time."""
    try:
        fields = (path / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    surveys = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    link_s = float(sys.argv[2]) / 1_000 if len(sys.argv) > 2 else 0.0
    with tempfile.TemporaryDirectory() as folder:
        seen = measure(surveys, Path(folder) / "idle", link_s)
    for name, value, limit in zip(Idle._fields, seen, LIMITS, strict=True):
        print(f"{name:16} {value:10.3f}   at most {limit * (OVER_A_LINK if link_s else 1.0):g}")


if __name__ == "__main__":
    main()
