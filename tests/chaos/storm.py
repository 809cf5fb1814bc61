"""`make chaos`: every process doubled, and for minutes on end everything that can go wrong; then reports are counted.

Kills, freezes longer than the lease, a server that loses its last half second, flushed queues, clocks that jump (with
libfaketime, where it is installed) and full memory. Every value is reported once, so that 0 is a loss and 2 a double.
docs/guarantees.md says what may be lost: here nothing, since the producers live until the end.
"""

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import redis

from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from tests.chaos.processes import LEASE_S, Pipeline, children, write_values
from tests.identity import make_known, survey_table

RATE = 2_000  # reports a second, of all producers together
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
LOST_TAIL_S = 0.5


class Storm(Pipeline):
    """The pipeline with two of everything, and the faults that happen to it."""

    def __init__(self, server: EmbeddedServer, directory: Path, seed: int) -> None:
        super().__init__(server, directory)
        self.choice, self.faults = random.Random(seed), Counter[str]()
        self.offset = directory / "clock"

    def start_all(self) -> None:
        self.services = {
            "collector": ("collect",),
            "collector-2": ("collect",),
            "workers": ("work", "--workers", "1"),
            "workers-2": ("work", "--workers", "1"),
            "estimator": ("estimate", "--port", str(free_port())),
            "estimator-2": ("estimate", "--port", str(free_port())),
        }
        for role, words in self.services.items():
            self.start(role, *words)

    def start_server(self) -> None:
        """With a clock that can be turned, where there is one."""
        faked = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(self.offset), "FAKETIME_NO_CACHE": "1",
                 "FAKETIME_DONT_FAKE_MONOTONIC": "1"}  # fmt: skip
        if FAKETIME.exists():
            os.environ.update(faked)
        try:
            self.server.start()
        finally:
            for name in faked:
                os.environ.pop(name, None)

    def kill_process(self) -> str | None:
        role = self.choice.choice(list(self.services))
        if role.startswith("workers"):
            workers = children(self.processes[role].pid)
            with suppress(ProcessLookupError, IndexError):
                os.kill(self.choice.choice(workers), signal.SIGKILL)
            return "kill -9 of a worker"
        self.processes[role].kill()
        self.processes[role].wait()
        self.start(role, *self.services[role])
        return f"kill -9 of {'an estimator' if role.startswith('estimator') else 'a collector'}"

    def kill_server(self) -> str | None:
        self.server.kill()
        time.sleep(self.choice.random() * 0.3)
        self.start_server()
        return "kill -9 of the server"

    def lose_tail(self) -> str | None:
        """The log as it was half a second ago: what a power cut leaves of one that is flushed every second."""
        logs = {log: log.stat().st_size for log in self.server.aof_directory.glob("*.incr.aof")}
        time.sleep(LOST_TAIL_S)
        self.server.kill()
        for log, size in logs.items():
            if log.exists():
                os.truncate(log, min(size, log.stat().st_size))
        self.start_server()
        return "the server loses its last half second"

    def freeze(self) -> str | None:
        """Longer than the lease: others take over, and then it wakes up."""
        role = self.choice.choice(list(self.services))
        victims = children(self.processes[role].pid) if role.startswith("workers") else [self.processes[role].pid]
        for signalled, pause_s in ((signal.SIGSTOP, LEASE_S + 1.0), (signal.SIGCONT, 0.0)):
            for pid in victims:
                with suppress(ProcessLookupError):
                    os.kill(pid, signalled)
            time.sleep(pause_s)
        return "a process frozen for longer than the lease"

    def flush_queue(self) -> str | None:
        with redis.Redis.from_url(self.server.url) as client:
            if keys := client.keys("rq:queue:*") + client.keys("rq:job:*"):
                client.delete(*keys)
        return "the queue flushed"

    def turn_clock(self) -> str | None:
        if not FAKETIME.exists():
            return None
        self.offset.write_text(f"{self.choice.choice([-30 * 3600, -3600, 3600, 40 * 86400]):+d}\n")
        time.sleep(1.0)
        if self.choice.random() < 0.5:
            self.offset.write_text("+0\n")
        return "the server's clock jumps"

    def fill_memory(self) -> str | None:
        with redis.Redis.from_url(self.server.url) as client:
            client.config_set("maxmemory", int(client.info("memory")["used_memory"]) - 1)
            time.sleep(1.5)
            client.config_set("maxmemory", 0)
        return "memory full"

    def strike(self) -> None:
        """One fault."""
        often: list[tuple[Callable[[], str | None], int]] = [
            (self.kill_process, 12), (self.kill_server, 3), (self.lose_tail, 2), (self.freeze, 2),
            (self.flush_queue, 2), (self.turn_clock, 2), (self.fill_memory, 1),
        ]  # fmt: skip
        fault, *_ = self.choice.choices([each for each, _ in often], [weight for _, weight in often])
        with suppress(redis.exceptions.RedisError):  # the fault itself met a server that another one had hit
            if (name := fault()) is not None:
                self.faults[name] += 1


def run(minutes: float, seed: int, directory: Path) -> int:
    """Print a table of faults; 1 where a report was lost or doubled."""
    with pytest.MonkeyPatch.context() as patch:
        make_known(patch)
        reports = int(60 * minutes * RATE)
        survey = parse(survey_table("identity", reports))
        server = EmbeddedServer(directory / "server")
        storm = Storm(server, directory, seed)
        storm.offset.write_text("+0\n")
        storm.start_server()
        Registry(connect(server.url)).add(survey)
        try:
            storm.start_all()
            for number, (start, kind) in enumerate([(0, "--frame=100"), (reports // 2, "--single")]):
                write_values(directory / f"{number}.csv", start, start + reports // 2)
                storm.start(f"producer-{number}", "produce", "buckets", "--values", str(directory / f"{number}.csv"),
                            f"--rate={RATE / 2}", kind)  # fmt: skip
            storm.wait_for_writers("buckets", 2)
            deadline = time.monotonic() + 60 * minutes
            while time.monotonic() < deadline:
                time.sleep(0.2 + storm.choice.random() * 0.5)
                storm.strike()
            codes = [storm.processes.pop(f"producer-{number}").wait(timeout=600) for number in range(2)]
            storm.wait_until_drained("buckets", 300)
            hist = storm.state("buckets")["hist"]
        finally:
            storm.stop()
            server.stop()
    lost, doubled = int((hist == 0).sum()), int((hist > 1).sum())
    print(f"seed {seed}, {reports:,} reports, {'real' if FAKETIME.exists() else 'no'} clock jumps")
    print("| fault | times |\n|---|---|")
    for name, count in sorted(storm.faults.items()):
        print(f"| {name} | {count} |")
    print(f"| **lost** | {lost} |\n| **doubled** | {doubled} |\n| producers that failed | {sum(map(bool, codes))} |")
    return int(lost + doubled + sum(map(bool, codes)) > 0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        sys.exit(
            run(float(os.environ.get("MINUTES", "5")), int(os.environ.get("SEED", str(int(time.time())))), Path(place))
        )
