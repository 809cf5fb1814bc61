"""The pipeline as real processes that are killed at random moments."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import redis

from hearsay.collector.store.connect import open_servers
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.shard import Shard
from hearsay.collector.store.status import Status
from hearsay.estimator.readings import live
from hearsay.mechanisms import State
from hearsay.ops.server.embedded import EmbeddedServer

ROOT = Path(__file__).parents[2]
LEASE_S = 2.0


@dataclass
class Pipeline:
    """Server, collector, two workers and estimator; each comes back after it was killed."""

    server: EmbeddedServer
    directory: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    kills: list[str] = field(default_factory=list)
    registry: Registry | None = None
    plugins: str = "tests.identity"

    @property
    def url(self) -> str:
        """Where the reports are."""
        return self.server.url

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "HEARSAY_REDIS_URL": self.url,
            "HEARSAY_DATA_DIR": str(self.directory / "var"),
            "HEARSAY_PLUGINS": self.plugins,
            "HEARSAY_LEASE_S": str(LEASE_S),
            "HEARSAY_WORKERS": "2",
            "HEARSAY_PERIOD_S": "0.5",
            "HEARSAY_LOG_LEVEL": "error",
        }

    def command(self, *words: str) -> list[str]:
        return [str(Path(sys.executable).with_name("hearsay")), *words]

    def start(self, role: str, *words: str) -> None:
        with (self.directory / f"{role}.log").open("ab") as log:
            self.processes[role] = subprocess.Popen(
                self.command(*words), cwd=ROOT, env=self.environment(), stdout=log, stderr=log
            )

    def start_services(self, port: int) -> None:
        self.services = {
            "collector": ("collect",),
            "workers": ("work",),
            "estimator": ("estimate", "--port", str(port)),
        }
        for role, words in self.services.items():
            self.start(role, *words)

    def kill_something(self, choice: random.Random) -> None:
        """kill -9 a worker, the collector, the estimator or the server, and start it again (workers by supervisor)."""
        role = choice.choice(["worker", "worker", "worker", "collector", "collector", "estimator", "server"])
        if role == "server":
            self.server.kill()
            time.sleep(choice.random() * 0.3)
            self.server.start()
        elif role == "worker":
            workers = children(self.processes["workers"].pid)
            if not workers:
                return
            try:
                os.kill(choice.choice(workers), signal.SIGKILL)
            except ProcessLookupError:
                return  # it was being replaced just now
        else:
            self.processes[role].kill()
            self.processes[role].wait()
            self.start(role, *self.services[role])
        self.kills.append(role)

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def wait_until_drained(self, name: str, seconds: float) -> None:
        """Until every published entry is committed, in every shard."""
        deadline, seen = time.monotonic() + seconds, list[Status]()
        while not seen or any(each.backlog_entries or each.outstanding for each in seen):
            assert time.monotonic() < deadline, f"not drained: {seen}"
            time.sleep(0.1)
            with suppress(redis.exceptions.RedisError):
                seen = [shard.status() for shard in self.registered(name).shards]

    def wait_for_writers(self, name: str, count: int) -> None:
        """Until so many producers have published something."""
        store = self.store(name)
        deadline = time.monotonic() + 60
        while store.node.do("HLEN", store.keys.writers) < count:
            assert time.monotonic() < deadline, "the producers did not start"
            time.sleep(0.05)

    def state(self, name: str) -> State:
        return dict(live(self.registered(name)).state)

    def store(self, name: str) -> Shard:
        return self.registered(name).shards[0]

    def registered(self, name: str) -> Registered:
        if self.registry is None:
            self.registry = Registry(open_servers(self.url))
        return self.registry.get(name)


def children(pid: int) -> list[int]:
    """Processes that a process started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def write_values(path: Path, start: int, stop: int) -> None:
    """A CSV in which every value occurs once, in random order."""
    values = np.random.default_rng(start).permutation(np.arange(start, stop))
    path.write_text("value\n" + "\n".join(map(str, values.tolist())) + "\n")
