"""The estimator as a service: materialise on a period, show that it lives, serve metrics and answers."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

import redis

from hearsay.collector.health.loop import Health
from hearsay.collector.http.server import HttpServer
from hearsay.collector.sharing import BEAT_S, Share
from hearsay.collector.store.condition import why
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.servers.servers import silent
from hearsay.estimator.materialise import Materialiser, Pass
from hearsay.estimator.serving.api import create_app
from hearsay.estimator.serving.events import Feed
from hearsay.estimator.serving.known import Known
from hearsay.estimator.serving.overview import Overview
from hearsay.estimator.serving.page.truth import Truth
from hearsay.estimator.serving.pausing import Pauses
from hearsay.estimator.serving.planning import Planner
from hearsay.estimator.snapshots.content import Newest

_LOG = logging.getLogger("hearsay.estimator")
ERROR_PAUSE_S = 0.5


@dataclass(frozen=True)
class EstimatorSettings:
    """What the estimator takes of the settings, by their names."""

    snapshots_dir: Path
    period_s: float
    host: str
    port: int
    public_host: str = ""
    api_token: str | None = field(default=None, repr=False)


def serve(registry: Registry, stop: threading.Event, settings: EstimatorSettings, truth: Path | None = None) -> None:
    """Run until `stop` is set. A server that goes away is waited for; a port that is taken is a ServeError."""
    health, newest, pauses = Health(), dict[str, Newest](), Pauses()
    materialiser = Materialiser(registry, settings.snapshots_dir)
    known = Known(registry, health, materialiser.attention, materialiser.share)
    overview = Overview(registry, health, newest, settings.period_s, known)
    feed = Feed(overview.document)
    app = create_app(
        registry,
        health,
        materialiser.failures,
        materialiser.readings,
        overview=overview,
        feed=feed,
        truth=None if truth is None else Truth(truth),
        token=settings.api_token,
        known=known,
        planner=Planner(pauses=pauses),
        public_hosts=[name for name in settings.public_host.split(",") if name],  # "" would allow an empty Host
    )

    def passed(done: Pass) -> None:
        newest.update({each.survey: each for each in done.changed})
        feed.passed(each.table() for each in done.changed)

    with HttpServer(app, settings.host, settings.port):
        loop(materialiser, health, stop, settings.period_s, passed, pauses.during_pass)
        feed.close()


def loop(
    materialiser: Materialiser,
    health: Health,
    stop: threading.Event,
    period_s: float,
    passed: Callable[[Pass], None] = lambda done: None,
    during_pass: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """One pass after the other, started `period_s` apart and made inside `during_pass`; `passed` hears of each."""
    while not stop.is_set():
        started = time.monotonic()
        try:
            _beat(materialiser)
            with during_pass():
                done = materialiser.run_once()
            _log(done, time.monotonic() - started)
            health.passed()
            passed(done)
            pause_s = period_s
        except redis.exceptions.RedisError as error:
            _LOG.warning(
                "server trouble, trying again",
                extra={"error": type(error).__name__, "server": silent(materialiser.registry.servers)},
            )
            health.troubled(why(error))
            pause_s = max(period_s, ERROR_PAUSE_S)
        _wait(materialiser.share, health, stop, started + pause_s)
    with suppress(redis.exceptions.RedisError):
        materialiser.heartbeat.stop()


def _beat(materialiser: Materialiser) -> None:
    try:
        materialiser.share.refresh()
        materialiser.agreement.refresh()
    except redis.exceptions.RedisError:
        if materialiser.registry.servers.alone:
            raise


def _wait(share: Share, health: Health, stop: threading.Event, until: float) -> None:
    """Until the next pass is due, showing life in the meantime, however long the period."""
    health.turn()
    while not stop.is_set() and (left := until - time.monotonic()) > 0:
        stop.wait(min(left, BEAT_S))
        health.turn()
        if left > BEAT_S:
            try:
                share.refresh()
            except redis.exceptions.RedisError:
                return  # the next pass says so


def _log(done: Pass, duration_s: float) -> None:
    if done.materialised or done.merged or done.purged or done.failed:
        counts = {name: number for name, number in vars(done).items() if isinstance(number, int)}
        _LOG.debug("pass", extra={**counts, "duration_s": round(duration_s, 4)})
