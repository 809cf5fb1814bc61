"""From streams to jobs: cut ranges, enqueue them, re-enqueue what is overdue, trim what is done.

RQ is only a hint that there is work. Everything that must not be forgotten stands in the shard's ledger, so this
process may die at any moment.
"""

import logging
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

import redis

from hearsay.collector import limits
from hearsay.collector.agreement import Agreement
from hearsay.collector.dispatch.cutting import Cutting
from hearsay.collector.errors import CollectorError, StateError
from hearsay.collector.heartbeats import Heartbeat
from hearsay.collector.queue import enqueue, fold_queue, job_id, waiting_jobs
from hearsay.collector.roles import COLLECTOR
from hearsay.collector.store.client import Client
from hearsay.collector.store.condition import condition, why
from hearsay.collector.store.keys import PREFIX, QUEUE
from hearsay.collector.store.look import Look
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.registry import Registered, Registry, look_at
from hearsay.collector.store.servers.servers import Servers
from hearsay.collector.store.shard import Shard
from hearsay.collector.store.status import Status

_LOG = logging.getLogger("hearsay.collector")
IDLE_S = 0.05
CHORES_S = 0.5
ERROR_PAUSE_S = 0.5


@dataclass(frozen=True)
class CollectorSettings:
    """What the collector takes of the settings, by their names."""

    prefix: str = PREFIX
    queue: str = QUEUE
    lease_s: float = limits.LEASE_S
    hold_layouts: bool = False


DEFAULTS = CollectorSettings()


class Dispatcher:
    """One pass after the other over all surveys and shards."""

    def __init__(
        self, servers: Servers | Client, queue_connection: redis.Redis, settings: CollectorSettings = DEFAULTS
    ) -> None:
        prefix, queue, self.lease_s = settings.prefix, settings.queue, settings.lease_s
        self.registry = Registry(servers, prefix)
        self.heartbeat = Heartbeat(self.registry, COLLECTOR.name, held=settings.hold_layouts)
        self.agreement = Agreement(self.registry, held=settings.hold_layouts)
        self.queue = fold_queue(queue_connection, prefix, queue)
        self._next_chores = 0.0
        self.cutting = Cutting(self.queue)
        self._queue_was_full = False
        self._unreadable: set[str] = set()

    def run(self, stop: threading.Event) -> None:
        """Dispatch until `stop` is set; wait for a server that is away."""
        while not stop.is_set():
            busy = False
            try:
                # First: a full server takes no jobs, and is drained by what the chores do.
                if time.monotonic() >= self._next_chores:
                    self._next_chores = time.monotonic() + CHORES_S
                    self.chores()
                busy = self.dispatch()
            except redis.exceptions.RedisError as error:
                _LOG.warning("%s; trying again (%s)", why(error), type(error).__name__)
                stop.wait(ERROR_PAUSE_S)
                continue
            if not busy:
                stop.wait(IDLE_S)
        with suppress(redis.exceptions.RedisError):
            self.heartbeat.stop()

    def dispatch(self) -> bool:
        """Cut what is ready in every shard and enqueue it; answers whether there was anything."""
        shards = [shard for registered in self._surveys() for shard in registered.shards]
        return self.cutting.once(shards, self.agreement.forms.jobs)

    def _surveys(self) -> list[Registered]:
        """Every survey that this version can read; another one must not stop them, and is mentioned once."""
        readable = []
        for name, record in self.registry.records().items():
            try:
                readable.append(self.registry.registered(record))
                self._unreadable.discard(name)
            except CollectorError as error:
                if name not in self._unreadable:
                    self._unreadable.add(name)
                    _LOG.error("survey %s cannot be read and is not collected: %s", name, error)
        return readable

    def enqueue(self, store: Shard, stretch: Range) -> bool:
        """Tell the workers about a range; False where the queue has no memory for it."""
        return enqueue(self.queue, store, stretch)

    def chores(self) -> None:
        """Re-enqueue overdue ranges, trim, and say where the pressure comes from."""
        memory = any(node.condition().short for node in self.registry.servers.nodes())
        queue_is_full = self._look_at_queue()
        for survey in look_at(self._surveys()):
            for store, look in zip(survey.registered.shards, survey.shards, strict=True):
                if not queue_is_full:  # an attempt that nobody hears of would be an attempt lost
                    self.reconcile(store, look)
                store.trim()
                seen = look.status
                if _deltas_pile_up(seen):
                    self.compact(store, look)
                    seen = store.status()
                cause = None
                if memory:
                    cause = "memory"
                elif seen.deltas >= limits.DELTAS_LIMIT or seen.delta_bytes >= limits.DELTA_BYTES_LIMIT:
                    cause = "deltas"
                elif seen.quarantined >= limits.QUARANTINED_LIMIT:
                    cause = "quarantine"
                if cause is not None or seen.pressure in ("memory", "deltas", "quarantine"):
                    store.set_pressure(cause)
        self.heartbeat.beat()
        self.agreement.refresh()

    def _look_at_queue(self) -> bool:
        """Whether the queue's server is full; then everybody may know it."""
        full = condition(self.queue.connection).full
        if full:
            _LOG.warning("the queue's server is full and takes no jobs; workers fold without it")
            words = "no jobs can be enqueued: the queue's server is full"
            self.registry.complaints.complain(COLLECTOR.name, "queue", words)
        elif self._queue_was_full:
            self.registry.complaints.withdraw(COLLECTOR.name, "queue")
        self._queue_was_full = full
        return full

    def compact(self, store: Shard, look: Look) -> None:
        """Merge deltas where no estimator does: CUT refuses while too many wait, and producers then wait too."""
        for window in look.windows:
            if look.at(window).deltas:
                try:
                    reading = store.read(window.name, seen=look.at(window))
                    store.compact(reading, self.agreement.forms.accumulators)
                except StateError as error:  # of this window: others, and other surveys, go on
                    _LOG.error("window %s of %s is not merged: %s", window.name, store.survey.name, error)

    def reconcile(self, store: Shard, look: Look | None = None) -> int:
        """Give overdue ranges their next attempt, a batch at a time and only while the queue is short.

        A range whose job still waits in the queue is not overdue, however long the queue takes.
        """
        reissued = 0
        look = store.look() if look is None else look
        now_ms, lease_ms = look.now_ms, int(self.lease_s * 1_000)
        overdue = [
            stretch
            for stretch in look.ranges
            # Where the clock went back, nobody knows how long it has been out.
            if not stretch.quarantined and not 0 <= now_ms - stretch.time_ms < lease_ms
        ]
        waiting = waiting_jobs(self.queue) if overdue else set()
        for stretch in overdue:
            if job_id(store, stretch) in waiting:
                continue
            if reissued >= limits.REISSUE_BATCH or self.queue.count >= limits.QUEUE_SHORT:
                break
            answer, _ = store.reissue(stretch, self.lease_s)
            if answer == "quarantined":
                _LOG.error(
                    "range %d of %s quarantined after %d attempts", stretch.seq, store.survey.name, stretch.attempt
                )
            elif answer == "reissued":
                again = store.range(stretch.seq)
                if again is not None and self.enqueue(store, again):
                    reissued += 1
        return reissued


def _deltas_pile_up(seen: Status) -> bool:
    """Whether more wait than an estimator that runs would ever leave: it merges long before."""
    return seen.deltas >= limits.DELTAS_LIMIT // 2 or seen.delta_bytes >= limits.DELTA_BYTES_LIMIT // 2
