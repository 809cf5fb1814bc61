"""The estimator as a service: materialise on a period, show that it lives, serve metrics and answers."""

import logging
import os
import socket
import threading
import time
from pathlib import Path

import redis

from hearsay.collector.http import HttpServer
from hearsay.collector.limits import HEARTBEAT_TTL_S
from hearsay.collector.store.keys import heartbeat
from hearsay.collector.store.registry import Registry
from hearsay.estimator.materialise import Materialiser, Pass
from hearsay.estimator.serving.api import create_app
from hearsay.estimator.serving.health import Health

_LOG = logging.getLogger("hearsay.estimator")
ERROR_PAUSE_S = 0.5
BEAT_S = HEARTBEAT_TTL_S / 3  # however long the period


def serve(registry: Registry, stop: threading.Event, *, root: Path, period_s: float, host: str, port: int) -> None:
    """Run until `stop` is set. A server that goes away is waited for; a port that is taken is a ServeError."""
    health = Health()
    materialiser = Materialiser(registry, root)
    with HttpServer(create_app(registry, health, materialiser.failures), host, port):
        loop(materialiser, health, stop, period_s)


def loop(materialiser: Materialiser, health: Health, stop: threading.Event, period_s: float) -> None:
    """One pass after the other, started `period_s` apart."""
    while not stop.is_set():
        started = time.monotonic()
        try:
            _beat(materialiser.registry)
            _log(materialiser.run_once(), time.monotonic() - started)
            health.passed()
            pause_s = period_s
        except redis.exceptions.RedisError as error:
            _LOG.warning("server trouble, trying again", extra={"error": type(error).__name__})
            health.troubled("the Redis server cannot be reached")
            pause_s = max(period_s, ERROR_PAUSE_S)
        _wait(materialiser.registry, health, stop, started + pause_s)


def _wait(registry: Registry, health: Health, stop: threading.Event, until: float) -> None:
    """Until the next pass is due, showing life in the meantime."""
    health.turn()
    while not stop.is_set() and (left := until - time.monotonic()) > 0:
        stop.wait(min(left, BEAT_S))
        health.turn()
        if left > BEAT_S:
            try:
                _beat(registry)
            except redis.exceptions.RedisError:
                return  # the next pass says so


def _beat(registry: Registry) -> None:
    identity = f"{socket.gethostname()}-{os.getpid()}"
    registry.client.set(heartbeat(registry.prefix, "estimator", identity), "1", ex=HEARTBEAT_TTL_S)


def _log(done: Pass, duration_s: float) -> None:
    if done.materialised or done.merged or done.purged or done.failed:
        _LOG.debug("pass", extra={**vars(done), "duration_s": round(duration_s, 4)})
