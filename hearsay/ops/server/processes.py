"""The Procfile's processes, run by honcho on free ports and in a fresh directory."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

from hearsay.ops.config import Settings, environment
from hearsay.ops.errors import OperationError
from hearsay.ops.server.embedded import free_port

ROOT = Path(__file__).resolve().parents[3]
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 15.0  # honcho itself kills what is left after five seconds


class Processes:
    """Server, collector, workers and estimator; a context manager that stops them all."""

    def __init__(self, directory: Path, prefix: str) -> None:
        self.directory = directory
        self.log = directory / "pipeline.log"
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            **environment(redis_port=free_port(), port=free_port(), data_dir=directory, prefix=prefix, queue=prefix),
            "PYTHONUNBUFFERED": "1",
        }
        self.settings = Settings.resolve({}, self.environment)
        self._honcho: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where the estimator serves its API."""
        return f"http://{self.settings.host}:{self.settings.port}"

    def __enter__(self) -> Self:
        with self.log.open("wb") as log:
            self._honcho = subprocess.Popen(
                [sys.executable, "-m", "honcho", "--env", os.devnull, "start", "--no-colour"],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,  # an interrupt at the terminal is ours to pass on
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            self.check()
            try:
                with urllib.request.urlopen(f"{self.address}/readyz", timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise OperationError(f"the pipeline did not start within {START_TIMEOUT_S:g} s; its log: {self.log}")

    def check(self) -> None:
        """Raise where the processes have ended by themselves."""
        if self._honcho is not None and self._honcho.poll() is not None:
            raise OperationError(f"the pipeline stopped with exit code {self._honcho.returncode}; its log: {self.log}")

    def _stop(self) -> None:
        if self._honcho is None or self._honcho.poll() is not None:
            return
        self._honcho.terminate()
        try:
            self._honcho.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._honcho.pid, signal.SIGKILL)
            self._honcho.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
