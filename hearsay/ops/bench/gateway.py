"""The gateway: processor time of a request against a Starlette echo of the same body, and what an id costs the server.

Both servers run in turns, each in a process of its own with the same HTTP parser and event loop; requests are prepared
beforehand and sent by another process over keep-alive connections. What is compared is the processor time of the
serving process, which travels better than rates.
"""

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgpack
import numpy as np

from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.bench.load import send
from hearsay.ops.bench.row import Row
from hearsay.ops.config import environment
from hearsay.ops.errors import OperationError
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from hearsay.producer.request_id import new_request_id

SURVEY = {"name": "bench", "mechanism": "hrr", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 1_024}}
REQUESTS, CONNECTIONS, TURNS = 20_000, 256, 3
TARGET = 5_000.0
LEAST = {1: 0.6, 100: 0.55}  # of the echo's speed, by reports in a request
IDS, IDS_AT_ONCE = 400_000, 4_000
ID_US, ID_BYTES = 3.0, 50.0
START_S = 30.0


def rows() -> Iterator[Row]:
    """Single reports, hundreds, and ids."""
    with tempfile.TemporaryDirectory() as directory, EmbeddedServer(Path(directory)) as server:
        client = connect(server.url)
        Registry(client).add(parse(SURVEY))
        for reports, least in LEAST.items():
            ours, echo = _in_turns(server.url, reports)
            yield Row(
                f"gateway, {reports} report{'s' if reports > 1 else ''} a request, one process",
                1e6 / ours,
                "requests/s of a core",
                TARGET,
                ceiling=1e6 / echo,
                ceiling_name="a Starlette echo of the same body",
                ratio_target=least,
                note=f"{ours:.0f} us of processor time against {echo:.0f}; {reports * 1e6 / ours:,.0f} reports/s",
            )
        microseconds, size = _ids(Registry(client), int(client.info("server")["process_id"]))
        yield Row("an id in PUBLISH, processor time of the server", microseconds, "us", ID_US, at_most=True)
        yield Row("an id in PUBLISH, memory of the server", size, "bytes", ID_BYTES, at_most=True)
        client.close()


def prepared(reports: int, count: int) -> list[bytes]:
    """So many requests, each with an id of its own."""
    mechanism = parse(SURVEY).mechanism
    cells = np.random.default_rng(1).integers(0, 1_024, reports * min(count, 1_000))
    singles = codec(mechanism).encode_singles(mechanism.perturb(cells, seeded(1)))
    bodies = [msgpack.packb(singles[start : start + reports]) for start in range(0, len(singles), reports)]
    head = (
        "POST /v1/surveys/bench/reports HTTP/1.1\r\nHost: a\r\nContent-Type: application/vnd.hearsay.v1+msgpack\r\n"
        "Idempotency-Key: {}\r\nContent-Length: {}\r\n\r\n"
    )
    chosen = (bodies[number % len(bodies)] for number in range(count))
    return [head.format(new_request_id(), len(body)).encode() + body for body in chosen]


def _in_turns(url: str, reports: int) -> tuple[float, float]:
    """The least microseconds of a request, ours and the echo's."""
    ours, echo = [], []
    for _ in range(TURNS):
        echo.append(_cost(["hearsay.ops.bench.echo"], {}, reports))
        settings = environment(redis_url=url, gateway_hold_s=0)
        ours.append(_cost(["hearsay", "gateway", "--port"], settings, reports))
    return min(ours), min(echo)


def _cost(module: list[str], settings: dict[str, str], reports: int) -> float:
    """Microseconds of the serving process for a request."""
    port = free_port()
    command = [sys.executable, "-m", *module, str(port)]
    serving = subprocess.Popen(command, env={**os.environ, **settings}, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        _answered(port, reports, 500)  # until it is warm
        before = processor_s(serving.pid)
        _answered(port, reports, REQUESTS)
        return (processor_s(serving.pid) - before) / REQUESTS * 1e6
    finally:
        serving.terminate()
        serving.wait(10)


def _wait_for(port: int) -> None:
    """Until somebody listens."""
    deadline = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise OperationError("the server to be measured did not start") from None
            time.sleep(0.1)


def _answered(port: int, reports: int, count: int) -> None:
    statuses = send(prepared(reports, count), "127.0.0.1", port, CONNECTIONS)
    if statuses != {"202": count}:
        raise OperationError(what="every request", expected="answered with 202", got=str(statuses))


def _ids(registry: Registry, server: int) -> tuple[float, float]:
    """Microseconds and bytes of the server for an id, beyond what the same batches cost without."""
    costs = []
    for name, with_ids in (("without", False), ("with", True)):
        shard = registry.add(parse({**SURVEY, "name": name})).shards[0]
        hour = int(time.time()) // 3_600
        batches = [secrets.token_bytes(12 * IDS_AT_ONCE) for _ in range(IDS // IDS_AT_ONCE)]
        memory, processor = registry.node.memory()["used_memory"], processor_s(server)
        for number, batch in enumerate(batches):
            answer = shard.publish("bench", number + 1, [(b"f", b"x")], 1, ids={hour: batch} if with_ids else {})
            if answer.status != "ok":
                raise OperationError(what="PUBLISH", must="answer ok", got=answer.status)
        costs.append((processor_s(server) - processor, registry.node.memory()["used_memory"] - memory))
    (plain_s, plain), (with_s, with_bytes) = costs
    return (with_s - plain_s) / IDS * 1e6, (with_bytes - plain) / IDS


def processor_s(pid: int) -> float:
    """The processor time that a process has used, its threads included."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        raise OperationError("processor time of another process is only known where there is /proc") from None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
