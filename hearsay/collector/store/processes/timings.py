"""Timings: sums and numbers of durations, which the estimator exports."""

from contextlib import suppress

from redis.exceptions import OutOfMemoryError

from hearsay.collector.store import keys
from hearsay.collector.store.node import Command
from hearsay.collector.store.servers.servers import Servers, place_of


class Timings:
    """How long steps took, all processes together."""

    def __init__(self, servers: Servers, prefix: str) -> None:
        self._key = keys.timings(prefix)
        self._place = place_of(servers, self._key)

    def observe(self, kind: str, count: str, duration_s: float, times: int = 1) -> None:
        """Add durations, `times` of them together; a full server goes without."""
        words = (("HINCRBYFLOAT", self._key, f"{kind}_seconds", duration_s), ("HINCRBY", self._key, count, times))
        with suppress(OutOfMemoryError):
            self._place.node.many([Command(each) for each in words])

    def observed(self, kind: str, count: str) -> tuple[float, int]:
        """The sum of such durations, and how many there were."""
        total, number = self._place.node.do("HMGET", self._key, f"{kind}_seconds", count)
        return float(total or 0), int(number or 0)
