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
from hearsay.collector.dispatch.lane import Lane
from hearsay.collector.errors import CollectorError
from hearsay.collector.heartbeats import Heartbeat
from hearsay.collector.logs import RepeatedWarnings
from hearsay.collector.queue import QueueAway, fold_queue, queue_address, queue_condition
from hearsay.collector.roles import COLLECTOR
from hearsay.collector.sharing import Share
from hearsay.collector.store.client import Client
from hearsay.collector.store.condition import why
from hearsay.collector.store.keys import PREFIX, QUEUE
from hearsay.collector.store.node import Node, NodeAway
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.servers.servers import Servers
from hearsay.collector.store.shard import Shard

_LOG = logging.getLogger("hearsay.collector")
IDLE_S = 0.05
CHORES_S = 0.5
ERROR_PAUSE_S = 0.5
TEND_S = 0.5
STOP_S = 2.0


@dataclass(frozen=True)
class CollectorSettings:
    """What the collector takes of the settings, by their names."""

    prefix: str = PREFIX
    queue: str = QUEUE
    lease_s: float = limits.LEASE_S
    hold_layouts: bool = False


DEFAULTS = CollectorSettings()


class Dispatcher:
    """One pass after the other over all surveys and shards, on every node side by side."""

    def __init__(
        self, servers: Servers | Client, queue_connection: redis.Redis, settings: CollectorSettings = DEFAULTS
    ) -> None:
        prefix, queue, self.lease_s = settings.prefix, settings.queue, settings.lease_s
        self.registry = Registry(servers, prefix)
        self.queue = fold_queue(queue_connection, prefix, queue)
        self.heartbeat = Heartbeat(
            self.registry, COLLECTOR.name, hold_layouts=settings.hold_layouts, queue=queue_address(self.queue)
        )
        self.agreement = Agreement(self.registry, hold_layouts=settings.hold_layouts)
        self.share = Share(self.heartbeat)
        self._lanes: dict[Node, Lane] = {}
        self._surveys: list[Registered] = []
        self._tended_at = -TEND_S
        self._queue_trouble: str | None = None  # why the queue takes no jobs
        self._queue_warnings = RepeatedWarnings(_LOG)
        self._unreadable: set[str] = set()

    def run(self, stop: threading.Event) -> None:
        """Dispatch until `stop` is set; wait for a server that is away."""
        if self.registry.servers.alone:
            (node,) = self.registry.servers.nodes()
            self._serve(node, stop, alone=True)
        else:
            self._run_side_by_side(stop)
        with suppress(redis.exceptions.RedisError):
            self.heartbeat.stop()

    def _run_side_by_side(self, stop: threading.Event) -> None:
        """A thread for each node: one that hangs holds up nobody else. This one does what is done once for all."""
        threads: dict[Node, threading.Thread] = {}
        warnings = RepeatedWarnings(_LOG)
        while not stop.is_set():
            for node in self.registry.servers.nodes():
                if node not in threads or not threads[node].is_alive():
                    threads[node] = threading.Thread(target=self._serve, args=(node, stop), daemon=True)
                    threads[node].start()
            for step in (self._look_at_queue, self._read_surveys, self._beat, self.agreement.refresh):
                try:
                    step()
                except NodeAway:
                    pass  # who is away was said once: what is known goes on
                except redis.exceptions.RedisError as error:
                    warnings.warning(f"{why(error)} ({type(error).__name__})")
            stop.wait(TEND_S)
        for thread in threads.values():
            thread.join(STOP_S)

    def _serve(self, node: Node, stop: threading.Event, alone: bool = False) -> None:
        """One node until `stop` is set or the node holds nothing any more."""
        next_chores, warnings = 0.0, RepeatedWarnings(_LOG)
        while not stop.is_set() and (alone or node in self.registry.servers.nodes()):
            busy = False
            try:
                # First: a full server takes no jobs, and is drained by what the chores do.
                if time.monotonic() >= next_chores:
                    next_chores = time.monotonic() + CHORES_S
                    if alone:
                        self._tend()
                    self._lane(node).chores(self._shards(node), self._queue_trouble is not None, self.agreement.forms)
                busy = self._lane(node).dispatch(self._shards(node), self.agreement.forms.jobs)
            except QueueAway as error:
                self._queue_warnings.warning(str(error))  # of all nodes once
                stop.wait(ERROR_PAUSE_S)
                continue
            except redis.exceptions.RedisError as error:
                if alone or not isinstance(error, NodeAway):  # who is away was said once
                    reason = why(error, f"the Redis server at {node.address}")
                    warnings.warning(f"{reason}; trying again ({type(error).__name__})")
                stop.wait(ERROR_PAUSE_S)
                continue
            warnings.clear()
            if not busy:
                stop.wait(IDLE_S)

    def dispatch(self) -> bool:
        """Cut what is ready in every shard and enqueue it; answers whether there was anything."""
        if time.monotonic() >= self._tended_at + TEND_S:
            self._tend()
        form = self.agreement.forms.jobs
        busy = [self._lane(node).dispatch(self._shards(node), form) for node in self.registry.servers.nodes()]
        return any(busy)

    def chores(self) -> None:
        """Re-enqueue overdue ranges, trim, and say where the pressure comes from."""
        self._tend()
        for node in self.registry.servers.nodes():
            self._lane(node).chores(self._shards(node), self._queue_trouble is not None, self.agreement.forms)

    def _tend(self) -> None:
        """What is done once for all nodes: which surveys there are, the queue, signs of life."""
        self._tended_at = time.monotonic()
        self._look_at_queue()
        self._beat()
        self._read_surveys()
        self.agreement.refresh()

    def _beat(self) -> None:
        self.share.refresh()

    def _lane(self, node: Node) -> Lane:
        if node not in self._lanes:
            self._lanes[node] = Lane(node, self.queue, self.lease_s)
        return self._lanes[node]

    def _shards(self, node: Node) -> list[Shard]:
        shards = [shard for registered in self._surveys for shard in registered.shards if shard.node is node]
        if self.share.alone:
            return shards
        return [shard for shard in shards if self.share.is_mine(f"{shard.survey.name}.{shard.shard}")]

    def _read_surveys(self) -> None:
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
        self._surveys = readable

    def reconcile(self, shard: Shard) -> int:
        """Give a shard's overdue ranges their next attempt."""
        return self._lane(shard.node).reconcile(shard, shard.look())

    def _look_at_queue(self) -> None:
        """Whether the queue's server takes jobs; where it does not, everybody may know it."""
        trouble = None
        try:
            if queue_condition(self.queue).full:
                trouble = "no jobs can be enqueued: the queue's server is full"
        except QueueAway as error:
            trouble = str(error)
        before, self._queue_trouble = self._queue_trouble, trouble
        if trouble is not None:
            # Where that server has the data too this fails, and the error is the one to log.
            self.registry.complaints.complain(COLLECTOR.name, "queue", trouble)
            self._queue_warnings.warning(trouble)
        elif before is not None:
            self.registry.complaints.withdraw(COLLECTOR.name, "queue")
            self._queue_warnings.clear()
