"""A folder that is like a fresh clone after `make setup`, with ports of its own: where the blocks of a page run."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PORTS = {"HEARSAY_PORT": 8787, "HEARSAY_GATEWAY_PORT": 8788, "HEARSAY_REDIS_PORT": 6399}
READY_S = 60.0
STOP_S = 15.0
OVERVIEW_S = 1.1  # how old what `/api/overview` says may be


class Clone:
    """The folder, the environment of a new terminal in it, and the services that a page has started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name in _tracked():
            (folder / name).symlink_to(ROOT / name)
        (folder / ".venv").symlink_to(sys.prefix)
        self.ports = {name: _free_port() for name in PORTS}
        self.environment = {
            "PATH": os.pathsep.join(
                each for each in os.environ["PATH"].split(os.pathsep) if each and "venv" not in each
            ),
            "HOME": str(folder.parent),
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "NO_PROXY": "*",
            **{name: str(port) for name, port in self.ports.items()},
        }
        self._services: list[subprocess.Popen[bytes]] = []

    def with_ports(self, text: str) -> str:
        """A block with the ports of this clone in the place of the default ones."""
        for name, port in PORTS.items():
            text = text.replace(f":{port}", f":{self.ports[name]}")
        return text

    def with_default_ports(self, text: str) -> str:
        """What a block printed, as it would have been with the default ports."""
        for name, port in PORTS.items():
            text = text.replace(f":{self.ports[name]}", f":{port}")
        return text

    def serve(self, command: str) -> None:
        """Start what runs until it is stopped, and wait until all of it is ready."""
        with (self.folder.parent / "services.log").open("ab") as log:
            started = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._services.append(started)
        deadline = time.monotonic() + READY_S
        for name in ("HEARSAY_PORT", "HEARSAY_GATEWAY_PORT"):
            while not self._answers(f"http://127.0.0.1:{self.ports[name]}/readyz"):
                assert started.poll() is None, f"{command} ended: {self.log()}"
                assert time.monotonic() < deadline, f"{command} is not ready: {self.log()}"
                time.sleep(0.1)

    def settle(self) -> None:
        """Wait, as a reader would, until what was sent is folded and in the snapshots."""
        if self._services:
            deadline = time.monotonic() + READY_S
            time.sleep(OVERVIEW_S)
            address = f"http://127.0.0.1:{self.ports['HEARSAY_PORT']}/api/overview"
            while not _settled(_get(address)):
                assert time.monotonic() < deadline, f"reports wait: {_get(address)!r}"
                time.sleep(0.2)

    def log(self) -> str:
        """The last lines of what the services wrote."""
        return (self.folder.parent / "services.log").read_text(errors="replace")[-2_000:]

    def stop(self) -> None:
        """End the services and all that they started."""
        for each in self._services:
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGTERM)
        for each in self._services:
            try:
                each.wait(STOP_S)
            except subprocess.TimeoutExpired:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()
        self._services.clear()

    @staticmethod
    def _answers(address: str) -> bool:
        try:
            return _get(address) != b""
        except (urllib.error.URLError, OSError):
            return False


@contextmanager
def clone(folder: Path) -> Iterator[Clone]:
    """A clone whose services end with the block."""
    made = Clone(folder)
    try:
        yield made
    finally:
        made.stop()


def _tracked() -> list[str]:
    """What a clone has at its top."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted({name.partition("/")[0] for name in listed.splitlines()})


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _get(address: str) -> bytes:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=10) as answer:
        return bytes(answer.read())


def _settled(overview: bytes) -> bool:
    return not any(survey["waiting"] for survey in json.loads(overview)["surveys"])
