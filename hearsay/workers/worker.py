"""One worker process: `python -m hearsay.workers.worker`, which jobs run inside.

Its standard input is the line to its supervisor: its settings come first, and when the line breaks, at whatever
moment, the supervisor is gone and so is the worker.
"""

import logging
import os
import signal
import sys
import threading
import warnings
from contextlib import suppress

import redis
from rq.serializers import JSONSerializer

from hearsay.collector import logs
from hearsay.collector.agreement import check_stored
from hearsay.collector.errors import CollectorError
from hearsay.collector.heartbeats import BEAT_S
from hearsay.collector.plugins import load_plugins
from hearsay.collector.queue import fold_queue, queue_address
from hearsay.collector.roles import WORKER
from hearsay.collector.store.condition import condition
from hearsay.collector.store.connect import connect_queue, open_servers
from hearsay.workers.context import Context, WorkerSettings, set_current
from hearsay.workers.job import FoldJob, FoldWorker
from hearsay.workers.ledger import fold_from_ledger

# RQ's own clean-up of abandoned jobs matters little: overdue ranges are re-enqueued by the collector.
MAINTENANCE_S = 60
WORKER_TTL_S = 60
_LOG = logging.getLogger("hearsay.worker")


def run(settings: WorkerSettings) -> None:
    """Work until stopped."""
    load_plugins(settings.plugins)
    servers = open_servers(settings.redis_url)  # first: where it has the queue too, it is named by its own setting
    connection = connect_queue(settings.queue_url)
    queue = fold_queue(connection, settings.prefix, settings.queue, FoldJob)
    context = Context(servers, settings.prefix, settings.dead_letter_payload, queue_address(queue))
    check_stored(context.registry)
    set_current(context)
    worker = FoldWorker(
        [queue],
        connection=connection,
        serializer=JSONSerializer,
        job_class=FoldJob,
        maintenance_interval=MAINTENANCE_S,
        worker_ttl=WORKER_TTL_S,
        log_job_description=False,
    )
    stop = threading.Event()
    beating = threading.Thread(target=_beat, args=(context, stop), daemon=True)
    _end_on_sigterm()  # until RQ sets its own handler, which lets a job come to its end
    try:
        beating.start()
        worker.work(logging_level="WARNING", with_scheduler=False)
    except redis.exceptions.OutOfMemoryError:
        _end_on_sigterm()
        _LOG.warning("the queue's server is full: folding what is out without it")
        fold_from_ledger(context, lambda: condition(connection).full, stop)
    finally:
        stop.set()
        beating.join()
        with suppress(redis.exceptions.RedisError):
            context.heartbeat.stop()


def _end_on_sigterm() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def _beat(context: Context, stop: threading.Event) -> None:
    """Show that this worker is alive."""
    while not stop.is_set():
        try:
            if not context.registry.servers.alone:
                context.registry.records()  # what is known goes on where the registry's node is away
            context.heartbeat.beat()
            context.agreement.refresh()
        except redis.exceptions.RedisError:
            _LOG.warning("heartbeat failed: the server does not answer")
        stop.wait(BEAT_S)


def _end_with_supervisor() -> None:
    """End this worker when its supervisor is gone: nobody else would ever stop it."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    _LOG.warning("the supervisor is gone; stopping")
    os._exit(0)  # at any moment: a range that is not committed is folded by another worker


def main() -> None:
    """Entry point of a worker process."""
    logs.configure(WORKER.name, "warning")
    warnings.filterwarnings("ignore", "CLIENT LIST")  # RQ asks for it to name its address; the role has no right to it
    line = sys.stdin.buffer.readline()
    threading.Thread(target=_end_with_supervisor, daemon=True).start()
    if not line:
        return
    try:
        run(WorkerSettings.parse(line))
    except (CollectorError, redis.exceptions.RedisError) as error:
        _LOG.error("cannot work: %s", error)
        sys.exit(2)


if __name__ == "__main__":
    main()
