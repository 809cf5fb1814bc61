"""One worker process: `python -m hearsay.workers.worker`, configured by the environment; jobs run inside it."""

import logging
import os
import sys
import threading
import time

import redis
from rq import Queue, SimpleWorker
from rq.serializers import JSONSerializer

from hearsay.collector import logs
from hearsay.collector.errors import CollectorError
from hearsay.collector.limits import HEARTBEAT_TTL_S
from hearsay.collector.plugins import load_plugins
from hearsay.collector.store.connect import connect
from hearsay.collector.store.keys import heartbeat
from hearsay.workers.context import Context, WorkerSettings, set_current
from hearsay.workers.job import FoldJob

# RQ's own clean-up of abandoned jobs matters little: overdue ranges are re-enqueued by the collector.
MAINTENANCE_S = 60
WORKER_TTL_S = 60
PARENT_CHECK_S = 1.0
_LOG = logging.getLogger("hearsay.worker")


def run(settings: WorkerSettings) -> None:
    """Work until told to stop."""
    load_plugins(settings.plugins)
    client = connect(settings.redis_url)
    context = Context(client, settings.prefix, settings.keep_payloads)
    set_current(context)
    connection = redis.Redis.from_url(settings.queue_url)
    queue = Queue(settings.queue, connection=connection, serializer=JSONSerializer, job_class=FoldJob)
    worker = SimpleWorker(
        [queue],
        connection=connection,
        serializer=JSONSerializer,
        job_class=FoldJob,
        maintenance_interval=MAINTENANCE_S,
        worker_ttl=WORKER_TTL_S,
        log_job_description=False,
    )
    beating = threading.Event()
    threading.Thread(target=_beat, args=(context, beating), daemon=True).start()
    try:
        worker.work(logging_level="WARNING", with_scheduler=False)
    finally:
        beating.set()


def _beat(context: Context, stop: threading.Event) -> None:
    """Show that this worker is alive, and end it when its supervisor is gone: nobody else would ever stop it."""
    parent = os.getppid()
    next_beat = 0.0
    while not stop.is_set():
        if time.monotonic() >= next_beat:
            next_beat = time.monotonic() + HEARTBEAT_TTL_S / 3
            try:
                context.client.set(heartbeat(context.prefix, "worker", context.identity), "1", ex=HEARTBEAT_TTL_S)
            except redis.exceptions.RedisError:
                _LOG.warning("heartbeat failed: the server does not answer")
        if os.getppid() != parent:
            _LOG.warning("the supervisor is gone; stopping")
            os._exit(0)  # at any moment: a range that is not committed is folded by another worker
        stop.wait(PARENT_CHECK_S)


def main() -> None:
    """Entry point of a worker process."""
    logs.configure("worker", "warning")
    try:
        run(WorkerSettings.from_environment())
    except (CollectorError, redis.exceptions.RedisError) as error:
        _LOG.error("cannot work: %s", error)
        sys.exit(2)


if __name__ == "__main__":
    main()
