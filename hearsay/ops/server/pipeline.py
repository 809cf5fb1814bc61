"""The whole pipeline as child processes on an embedded server: for bench and tests."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from hearsay.collector.heartbeats import roles
from hearsay.collector.store.connect import connect
from hearsay.collector.store.counters import counters_of
from hearsay.collector.store.reading import read
from hearsay.collector.store.registry import Registered, Registry
from hearsay.ops.config import ENVIRONMENT_PREFIX, environment
from hearsay.ops.server.embedded import EmbeddedServer, free_port

START_TIMEOUT_S, STOP_TIMEOUT_S = 60.0, 10.0


class Pipeline:
    """Server, collector, workers and, if asked for, the estimator; a context manager."""

    def __init__(self, directory: Path, *, workers: int = 2, estimator: bool = False, period_s: float = 1.0) -> None:
        self.directory = directory
        self.server = EmbeddedServer(directory / "redis")
        self.port = free_port()
        self._commands = [["collect"], ["work", "--workers", str(workers)]]
        self._expected = {"collector": 1, "worker": workers, "estimator": int(estimator)}
        if estimator:
            self._commands.append(["estimate", "--port", str(self.port), "--period-s", str(period_s)])
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def snapshots(self) -> Path:
        return self.directory / "snapshots"

    def registry(self) -> Registry:
        """A registry with a connection of its own."""
        return Registry(connect(self.server.url))

    def __enter__(self) -> Self:
        self.server.start()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
        told = inherited | environment(redis_url=self.server.url, data_dir=self.directory)
        for words in self._commands:
            with (self.directory / f"{words[0]}.log").open("ab") as log:
                self._processes.append(
                    subprocess.Popen([sys.executable, "-m", "hearsay", *words], env=told, stdout=log, stderr=log)
                )
        try:
            self._wait_for_heartbeats()
        except BaseException:
            self._stop()
            raise
        return self

    def _wait_for_heartbeats(self) -> None:
        """Every process says when it is ready: importing numpy and connecting take a while."""
        deadline = time.monotonic() + START_TIMEOUT_S
        registry = self.registry()
        for role, count in self._expected.items():
            while roles(registry)[role] < count:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"no {role} came up within {START_TIMEOUT_S:g} s; logs: {self.directory}")
                time.sleep(0.05)
        registry.disconnect()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.server.stop()


def folded(registered: Registered) -> int:
    """How many reports of a survey the workers have committed, all windows and shards."""
    pairs = [(store, window) for store in registered.stores for window in registered.windows]
    return sum(counters_of(store, window.name).get("folded", 0) for store, window in pairs)


def wait_until_folded(registered: Registered, reports: int, timeout_s: float = 60.0) -> None:
    """Wait for the workers; TimeoutError says how far they came."""
    deadline = time.monotonic() + timeout_s
    while (done := folded(registered)) < reports:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{done} of {reports} reports folded after {timeout_s:g} s")
        time.sleep(0.01)


def total_reports(registered: Registered) -> int:
    """The reports in the states themselves, read and added up as an estimator does."""
    mechanism = registered.survey.mechanism
    return sum(
        mechanism.reports(read(store, window.name).state)
        for store in registered.stores
        for window in registered.windows
    )
