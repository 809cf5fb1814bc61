"""A device's value is in the memory of its own process only, and in no file.

The pipeline runs as real processes, and a device of its own reports two marked values through the gateway. Then the
whole memory of server, gateway, collector, workers and estimator is searched for them, and all files that they wrote.
"""

import os
import secrets
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from tests.chaos.processes import ROOT, Pipeline, children

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="reads the memory of processes in /proc"),
]
SURVEYS = (
    {"name": "words", "mechanism": "prefixes", "epsilon": 2.0, "domain": {"kind": "text", "length": 24}},
    {"name": "wages", "mechanism": "mean", "epsilon": 1.0, "domain": {"kind": "number", "low": 0, "high": 10_000}},
)
# The device gets its values on stdin, submits them and waits to be looked at.
DEVICE = """
import sys
from hearsay import Device
word, number = sys.stdin.readline().split()
outcomes = [Device(f"{sys.argv[1]}/v1/surveys/{name}", ledger=f"{sys.argv[2]}/{name}.db").submit(value)
            for name, value in (("words", word), ("wages", float(number)))]
print(*outcomes, flush=True)
sys.stdin.readline()
"""
BLOCK = 1 << 24


def memory(pid: int) -> Iterator[bytes]:
    """All that a process may read of its memory, in blocks that overlap."""
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb", buffering=0) as content:
        for line in maps:
            span, rights, *_, name = [*line.split(maxsplit=5), ""][:7]
            if "r" not in rights or name.startswith("[v"):
                continue
            first, last = (int(end, 16) for end in span.split("-"))
            for start in range(first, last, BLOCK):
                try:
                    content.seek(start)
                    yield content.read(min(BLOCK + 64, last - start))
                except OSError:  # a page that is gone, or that nobody may read
                    continue


def has(pid: int, mark: bytes) -> bool:
    return any(mark in block for block in memory(pid))


def test_a_marked_value_is_in_no_other_process_and_in_no_file(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / "valkey")
    server.start()
    pipeline, port, metrics = Pipeline(server, tmp_path), free_port(), free_port()
    pipeline.plugins = ""
    device: subprocess.Popen[str] | None = None
    try:
        registry = Registry(connect(server.url))
        for table in SURVEYS:
            registry.add(parse(table))
        pipeline.start_services(metrics)
        pipeline.start("gateway", "gateway", "--port", str(port), "--hold-s", "0", "--log-level", "debug")
        _wait_for(f"http://127.0.0.1:{port}/v1/surveys/words")
        word, number = secrets.token_hex(10), 1_000 + secrets.randbelow(10**9) / 2**17
        device = subprocess.Popen(
            [sys.executable, "-c", DEVICE, f"http://127.0.0.1:{port}", str(tmp_path)],
            **{"cwd": ROOT, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True},
        )
        assert device.stdin is not None
        assert device.stdout is not None
        device.stdin.write(f"{word} {number!r}\n")
        device.stdin.flush()
        assert device.stdout.readline() == "sent sent\n"
        for name in ("words", "wages"):
            pipeline.wait_until_drained(name, 60)
        time.sleep(2.0)  # the estimator takes them up
        shown = b"".join(_wait_for(f"http://127.0.0.1:{metrics}/{path}") for path in ("metrics", "api/overview"))
        marks = [word.encode(), repr(number).encode(), struct.pack("<d", number), struct.pack(">d", number)]
        others = {role: process.pid for role, process in pipeline.processes.items()}
        others |= {f"worker {pid}": pid for pid in children(pipeline.processes["workers"].pid)}
        others["server"] = server.pid or 0
        assert len(others) >= 7
        assert has(device.pid, marks[0]), "the search finds the value where it is"
        assert [role for role, pid in others.items() for mark in marks if has(pid, mark)] == []
        assert not any(mark in shown for mark in marks)
    finally:
        if device is not None:
            device.kill()
            device.communicate()
        pipeline.stop()
        server.stop()
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert any(b"XADD" in content for content in files.values()), "the server's log was looked at"
    assert {"words.db", "wages.db", "gateway.log", "snapshot.json"} <= {path.name for path in files}
    assert [path for path, content in files.items() for mark in marks if mark in content] == []


def _wait_for(url: str) -> bytes:
    deadline = time.monotonic() + 60
    while True:
        try:
            with urlopen(url, timeout=10) as answer:
                return bytes(answer.read())
        except OSError:
            assert time.monotonic() < deadline, f"{url} does not answer"
            time.sleep(0.1)


def test_the_search_reads_memory() -> None:
    mark = os.urandom(16)
    assert has(os.getpid(), mark)
