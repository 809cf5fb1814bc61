"""The estimator as a service: materialise on a period, show that it lives, serve metrics and answers."""

import logging
import threading
import time
from contextlib import suppress
from pathlib import Path

import redis

from hearsay.collector.health.loop import Health
from hearsay.collector.heartbeats import BEAT_S, Heartbeat
from hearsay.collector.http.server import HttpServer
from hearsay.collector.roles import ESTIMATOR
from hearsay.collector.store.condition import why
from hearsay.collector.store.registry import Registry
from hearsay.estimator.materialise import Materialiser, Pass
from hearsay.estimator.serving.api import create_app

_LOG = logging.getLogger("hearsay.estimator")
ERROR_PAUSE_S = 0.5


def serve(registry: Registry, stop: threading.Event, *, root: Path, period_s: float, host: str, port: int) -> None:
    """Run until `stop` is set. A server that goes away is waited for; a port that is taken is a ServeError."""
    health = Health()
    materialiser = Materialiser(registry, root)
    with HttpServer(create_app(registry, health, materialiser.failures, materialiser.readings), host, port):
        loop(materialiser, health, stop, period_s)


def loop(materialiser: Materialiser, health: Health, stop: threading.Event, period_s: float) -> None:
    """One pass after the other, started `period_s` apart."""
    heartbeat = Heartbeat(materialiser.registry, ESTIMATOR.name)
    while not stop.is_set():
        started = time.monotonic()
        try:
            heartbeat.beat()
            _log(materialiser.run_once(), time.monotonic() - started)
            health.passed()
            pause_s = period_s
        except redis.exceptions.RedisError as error:
            _LOG.warning("server trouble, trying again", extra={"error": type(error).__name__})
            health.troubled(why(error))
            pause_s = max(period_s, ERROR_PAUSE_S)
        _wait(heartbeat, health, stop, started + pause_s)
    with suppress(redis.exceptions.RedisError):
        heartbeat.stop()


def _wait(heartbeat: Heartbeat, health: Health, stop: threading.Event, until: float) -> None:
    """Until the next pass is due, showing life in the meantime, however long the period."""
    health.turn()
    while not stop.is_set() and (left := until - time.monotonic()) > 0:
        stop.wait(min(left, BEAT_S))
        health.turn()
        if left > BEAT_S:
            try:
                heartbeat.beat()
            except redis.exceptions.RedisError:
                return  # the next pass says so


def _log(done: Pass, duration_s: float) -> None:
    if done.materialised or done.merged or done.purged or done.failed:
        _LOG.debug("pass", extra={**vars(done), "duration_s": round(duration_s, 4)})
