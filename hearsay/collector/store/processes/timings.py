"""Timings: sums and numbers of durations, which the estimator exports as metrics."""

from contextlib import suppress

from redis.exceptions import OutOfMemoryError

from hearsay.collector.store import keys
from hearsay.collector.store.node import Command
from hearsay.collector.store.servers.servers import Servers, slot_of


class Timings:
    """The durations of steps, of all processes together."""

    def __init__(self, servers: Servers, prefix: str) -> None:
        self._key = keys.timings(prefix)
        self._slot = slot_of(servers, self._key)

    def observe(self, kind: str, count: str, duration_s: float, times: int = 1) -> None:
        """Add `times` durations with this sum; a server with full memory skips them."""
        words = (("HINCRBYFLOAT", self._key, f"{kind}_seconds", duration_s), ("HINCRBY", self._key, count, times))
        with suppress(OutOfMemoryError):
            self._slot.node.many([Command(each) for each in words])

    def observed(self, kind: str, count: str) -> tuple[float, int]:
        """The sum and the number of the durations of a kind."""
        total, number = self._slot.node.do("HMGET", self._key, f"{kind}_seconds", count)
        return float(total or 0), int(number or 0)
