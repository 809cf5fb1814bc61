"""An HTTP server in a thread of its own, beside the loop that does the work.

Whatever clients do, the process keeps files to work with and an event loop that answers. Connections are bounded: where
there are too many, those that have been idle for longest make room. A connection is closed when a request does not
come, or a response is not taken, in time.
"""

import asyncio
import errno
import logging
import resource
import socket
import threading
import time
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hearsay.collector.errors import ServeError

_LOG = logging.getLogger("hearsay.http")
START_TIMEOUT_S, STOP_TIMEOUT_S = 10.0, 3.0  # honcho kills what is left five seconds after SIGTERM

MOST_CONNECTIONS = 1_024
FILES_EACH = 4  # connections take a quarter of the files that the process may open: snapshots need some too
REQUEST_S = 10.0  # to send a whole request's head; also how often connections are looked at
STREAM = "hearsay.stream"  # in a request's scope: its response goes on for as long as the client takes it
RESPONSE_S = 60.0  # for a request, from its head to the last byte that the client takes
HEAD_BYTES = 64 * 1024  # a request's line and headers
EVICTED_SHARE = 0.25  # of the idle connections, where there are too many: all at once, so that the search pays


def open_files() -> int:
    """How many files the process may open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if files == resource.RLIM_INFINITY else files


def most_connections() -> int:
    """How many connections are open at once."""
    return min(MOST_CONNECTIONS, max(open_files() // FILES_EACH, 8))


class Bounded(HttpToolsProtocol):
    """A connection that ends when its client takes too long, or makes room for others while it is idle."""

    _watched: Any = None  # the request seen at the last look
    _looks = 0  # how often it was seen
    _head_bytes = 0  # of a request whose head is not complete
    _active_at = 0.0

    @property
    def most_connections(self) -> int:
        return most_connections()

    @property
    def idle(self) -> bool:
        """Whether no whole request is being worked on."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        self._active_at = self.loop.time()
        if len(self.connections) > self.most_connections:
            self._make_room()
        if not transport.is_closing():
            self.loop.call_later(REQUEST_S, self._look)

    def _make_room(self) -> None:
        """Close those that have been idle for longest; this one where every other has a request to answer."""
        others = [each for each in self.connections if each is not self and isinstance(each, Bounded) and each.idle]
        others.sort(key=lambda each: each._active_at)
        for each in others[: max(1, int(EVICTED_SHARE * len(others)))]:
            self.connections.discard(each)
            each.transport.abort()
        if not others:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        self._active_at = self.loop.time()
        super().data_received(data)
        if self.cycle is not before or not self.idle:
            self._head_bytes = 0
        elif before is None or not before.more_body:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()  # the next answer on this connection is that of the request that is being worked on
        else:
            super().send_400_response(msg)

    def _look(self) -> None:
        """Close a connection that has brought no request since the last look, or whose request takes for ever."""
        if self.transport.is_closing():
            return
        request = self.cycle
        self._looks = self._looks + 1 if request is self._watched else 0
        busy = request is not None and not request.response_complete
        if busy and request.scope.get(STREAM) and not self.flow.write_paused:
            self._looks = 0
        if request is self._watched and (not busy or self._looks * REQUEST_S >= RESPONSE_S):
            self.transport.abort()
            return
        self._watched = request
        self.loop.call_later(REQUEST_S, self._look)


def quiet_config(app: Any, http: type[asyncio.Protocol], stop_s: int, **more: Any) -> uvicorn.Config:
    """Nothing but warnings is logged, and nothing tells which server this is."""
    return uvicorn.Config(
        app,
        http=http,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=stop_s,
        **more,
    )


class HttpServer:
    """Serves an application while its `with` block runs; an address that cannot be had is a ServeError."""

    def __init__(self, app: Starlette, host: str, port: int) -> None:
        self._host = host
        self._socket = listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._server = uvicorn.Server(quiet_config(app, Bounded, 1))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self._socket.close()
                raise ServeError(f"the server at {self.url} did not start")
            time.sleep(0.01)
        _LOG.info("serving", extra={"url": self.url})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(STOP_TIMEOUT_S)
        self._socket.close()


def listen(host: str, port: int, setting: str = "port") -> socket.socket:
    """A listening socket; ServeError says why the address cannot be had. `setting` chooses the port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:  # UnicodeError: a name that no name can be, such as x..y
        why = getattr(error, "strerror", None) or error
        raise ServeError(what="host", expected="an address of this machine", got=host, ending=f": {why}") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1_024)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise ServeError(
                f"{setting} {port} on {host} is already taken: hearsay may run there already; stop it, "
                f"or choose another {setting}"
            ) from None
        raise ServeError(f"cannot listen on {host} port {port}: {error.strerror or error}") from None
    return listening
