"""The whole pipeline as child processes in a directory of its own: for demo, bench and tests.

`collector/roles.py` lists the processes; the Procfile has the same ones for a deployment. Here no file is needed, so it
also works from an installed wheel.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hearsay.collector.heartbeats import roles
from hearsay.collector.roles import COLLECTOR, ESTIMATOR, WORKER
from hearsay.collector.store.registry import Registry
from hearsay.ops.config import Settings, environment
from hearsay.ops.errors import OperationError
from hearsay.ops.server.connection import open_registry
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from hearsay.ops.setting import ENVIRONMENT_PREFIX

START_TIMEOUT_S, STOP_TIMEOUT_S = 60.0, 10.0


class Pipeline:
    """Server, collector, workers and, if asked for, the estimator; a context manager that stops them all.

    `settings` are those of `hearsay.ops.config`, by name. Environment variables of the caller count only with
    `outside`, above all HEARSAY_REDIS_URL, whose server then replaces the embedded one. `truth` is handed to the
    estimator's page (`hearsay estimate --truth`).
    """

    def __init__(
        self,
        directory: Path,
        *,
        estimator: bool = False,
        outside: bool = False,
        truth: Path | None = None,
        **settings: Any,
    ) -> None:
        self.directory, self.port, self._truth = directory, free_port(), truth
        self._environment = {
            name: value for name, value in os.environ.items() if outside or not name.startswith(ENVIRONMENT_PREFIX)
        }
        self._set(data_dir=directory, port=self.port, **settings)
        self.server = EmbeddedServer(directory / "redis", extra=["--maxmemory", self.settings.redis_maxmemory])
        self._roles = [COLLECTOR, WORKER, *([ESTIMATOR] if estimator else [])]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def _set(self, **settings: Any) -> None:
        self._environment |= environment(**settings)
        self.settings = Settings.resolve({}, self._environment)

    @property
    def snapshots(self) -> Path:
        return self.settings.snapshots_dir

    @property
    def address(self) -> str:
        """Where the estimator serves its API."""
        return f"http://{self.settings.host}:{self.port}"

    def registry(self) -> Registry:
        """A registry with a connection of its own."""
        return open_registry(self.settings)

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        if not self.settings.own_server:
            self.server.start()
            self._set(redis_port=self.server.port)  # its password is in the data directory
        try:
            for role in self._roles:
                self._start(role.command)
            self._wait_for_heartbeats()
        except BaseException:
            self._stop()
            raise
        return self

    def _start(self, command: str) -> None:
        options = ["--truth", str(self._truth)] if command == ESTIMATOR.command and self._truth is not None else []
        with self._log(command).open("ab") as log:
            self._processes[command] = subprocess.Popen(
                [sys.executable, "-P", "-m", "hearsay", command, *options],  # -P: no modules from the current folder
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,  # an interrupt at the terminal is ours to pass on
            )

    def _log(self, command: str) -> Path:
        return self.directory / f"{command}.log"

    def _wait_for_heartbeats(self) -> None:
        """Wait until every process has sent a heartbeat: importing numpy and connecting take a while."""
        deadline = time.monotonic() + START_TIMEOUT_S
        registry = self.registry()
        for role in self._roles:
            count = 1 if role.count is None else getattr(self.settings, role.count)
            while roles(registry)[role.name] < count:
                self.check()
                if time.monotonic() > deadline:
                    log = self._log(role.command)
                    raise OperationError(f"no {role.name} came up within {START_TIMEOUT_S:g} s; its log: {log}")
                time.sleep(0.05)
        registry.servers.disconnect()

    def pid(self, command: str) -> int:
        """The process that runs a command."""
        return self._processes[command].pid

    def restart(self, command: str) -> None:
        """End a process as a deployment does, and start it again."""
        process = self._processes.pop(command)
        process.terminate()
        process.wait(STOP_TIMEOUT_S)
        self._start(command)

    def check(self) -> None:
        """Raise an error if a process has ended by itself."""
        for command, process in self._processes.items():
            if process.poll() is not None:
                log = self._log(command)
                raise OperationError(f"hearsay {command} ended with exit code {process.returncode}; its log: {log}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        self.server.stop()
