"""A really running estimator: loop and HTTP server in threads of the test's process."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from hearsay.collector.store.registry import Registry
from hearsay.estimator.serving.service import EstimatorSettings, serve
from hearsay.ops.server.embedded import free_port

WAIT_S = 20.0


def wait_until(holds: Callable[[], bool], seconds: float = WAIT_S) -> None:
    """Fail where something does not come true within a generous time."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.02)


@contextmanager
def estimator(
    registry: Registry,
    root: Path,
    period_s: float = 0.05,
    truth: Path | None = None,
    public_host: str = "",
    first_pass_s: float = WAIT_S,
) -> Iterator[httpx.Client]:
    """An HTTP client of an estimator that is ready, which stops in good order at the end."""
    stop, port = threading.Event(), free_port()
    settings = EstimatorSettings(root, period_s, "127.0.0.1", port, public_host)
    thread = threading.Thread(target=serve, args=(registry, stop, settings, truth))
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as http:
            wait_until(lambda: _is_ready(http), first_pass_s)
            yield http
    finally:
        stop.set()
        thread.join(WAIT_S)
    assert not thread.is_alive()


def _is_ready(http: httpx.Client) -> bool:
    try:
        return http.get("/readyz").status_code == 200
    except httpx.ConnectError:
        return False
