"""Watches a survey during a load test: what is committed, what a snapshot has, how busy the servers are."""

import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from redis.exceptions import RedisError

from hearsay.collector.errors import CollectorError
from hearsay.collector.store.node import Node
from hearsay.collector.store.registry import Registered

EVERY_S = 0.1


@dataclass(frozen=True)
class Sample:
    """One look, `at_s` after the start: reports accounted for and those in snapshots, both since the start."""

    at_s: float
    committed: int
    visible: int
    ping_s: float


@dataclass(frozen=True)
class Servers:
    """The busiest data server during a test: its share of a core, and what a ping and the link alone took."""

    busy: float
    ping_s: float
    link_s: float


class Watch:
    """Looks ten times a second, in a thread of its own."""

    def __init__(self, registered: Registered) -> None:
        self._registered = registered
        self._end = threading.Event()
        self.samples: list[Sample] = []
        seen = registered.look()
        self._committed = seen.published_reports  # what waits already is not this test's
        self.published = 0  # since then, by whomever
        self._late = seen.published_reports - sum(look.totals.accounted for look in seen.shards)
        self._visible = self._in_snapshots()
        self._used_s = self._processor_s()
        self._began = time.monotonic()

    def start(self, started: float) -> None:
        """Begin; times count from `started`."""
        self._started = started
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def wait_for(self, committed: int, timeout_s: float, stop: threading.Event) -> bool:
        """Whether so many reports were committed in time."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until and not stop.is_set():
            if self.samples and self.samples[-1].committed >= committed:
                return True
            time.sleep(EVERY_S / 2)
        return False

    def wait_visible(self, reports: int, timeout_s: float, stop: threading.Event) -> None:
        """Wait until a snapshot has so many reports, for a while."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until and not stop.is_set():
            if self.samples and self.samples[-1].visible >= reports:
                return
            time.sleep(EVERY_S / 2)

    def finish(self) -> Servers:
        """End, and say how busy the servers were."""
        self._end.set()
        self._thread.join()
        with suppress(RedisError, CollectorError, ValueError):
            self._sample()
        elapsed, used = time.monotonic() - self._began, self._processor_s()
        busy = [max(used[node] - before, 0.0) / elapsed for node, before in self._used_s.items() if node in used]
        pings, links = [sample.ping_s for sample in self.samples], [0.0]
        for node in self._nodes():
            with suppress(RedisError):
                links.append(node.link_s() or 0.0)
        return Servers(max(busy, default=0.0), sum(pings) / len(pings) if pings else 0.0, max(links))

    def _look(self) -> None:
        while not self._end.is_set():
            with suppress(RedisError, CollectorError, ValueError):  # away, or changing hands: the next look counts
                self._sample()
            self._end.wait(EVERY_S)

    def _sample(self) -> None:
        self._registered = self._registered.again()  # it may have more shards by now
        began, nodes = time.monotonic(), self._nodes()
        for node in nodes:
            node.ping()
        ping_s = (time.monotonic() - began) / len(nodes)
        seen = self._registered.look()
        self.published = seen.published_reports - self._committed
        accounted = sum(look.totals.accounted for look in seen.shards)
        visible = self._in_snapshots() - self._visible
        now = time.monotonic() - self._started
        self.samples.append(Sample(now, accounted - self._committed, visible - self._late, ping_s))

    def _in_snapshots(self) -> int:
        """Reports in the newest snapshots of all windows; of a window that was deleted they were in its last one."""
        shard, seen = self._registered.shards[0], self._registered.look()
        documents = [shard.snapshot(window.name) for window in seen.windows]
        deleted = sum(look.deleted_reports for look in seen.shards)
        return deleted + sum(int(document["reports"]) for document in documents if document is not None)

    def _nodes(self) -> list[Node]:
        """Those that hold a shard now."""
        return list({id(shard.node): shard.node for shard in self._registered.shards}.values())

    def _processor_s(self) -> dict[Node, float]:
        """Of every node that answers."""
        used = {}
        for node in self._nodes():
            with suppress(RedisError):
                used[node] = node.processor_s()
        return used
