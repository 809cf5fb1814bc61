"""An HTTP server in a thread of its own, beside the loop that does the work."""

import errno
import logging
import socket
import threading
import time
from types import TracebackType
from typing import Self

import uvicorn
from starlette.applications import Starlette

from hearsay.collector.errors import ServeError

_LOG = logging.getLogger("hearsay.estimator")
START_TIMEOUT_S, STOP_TIMEOUT_S = 10.0, 3.0  # honcho kills what is left five seconds after SIGTERM


class HttpServer:
    """Serves an application while its `with` block runs; an address that cannot be had is a ServeError."""

    def __init__(self, app: Starlette, host: str, port: int) -> None:
        self._host = host
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
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


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ServeError(f"host must be an address of this machine, got {host}: {error.strerror or error}") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise ServeError(f"port {port} on {host} is already taken; choose another one") from None
        raise ServeError(f"cannot listen on {host} port {port}: {error.strerror or error}") from None
    return listening
