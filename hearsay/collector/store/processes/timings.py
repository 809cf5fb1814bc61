"""Timings: sums and numbers of durations, which the estimator exports."""

from contextlib import suppress

from redis.exceptions import OutOfMemoryError

from hearsay.collector.store import keys
from hearsay.collector.store.node import Command, Node


class Timings:
    """How long steps took, all processes together."""

    def __init__(self, node: Node, prefix: str) -> None:
        self._node, self._prefix = node, prefix

    def observe(self, kind: str, count: str, duration_s: float, times: int = 1) -> None:
        """Add durations, `times` of them together; a full server goes without."""
        name = keys.timings(self._prefix)
        commands = [("HINCRBYFLOAT", name, f"{kind}_seconds", duration_s), ("HINCRBY", name, count, times)]
        with suppress(OutOfMemoryError):
            self._node.many([Command(words) for words in commands])

    def observed(self, kind: str, count: str) -> tuple[float, int]:
        """The sum of such durations, and how many there were."""
        total, number = self._node.client.hmget(keys.timings(self._prefix), [f"{kind}_seconds", count])
        return float(total or 0), int(number or 0)
