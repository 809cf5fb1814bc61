"""Heartbeats: keys that go away by themselves when a process does not renew them."""

from collections.abc import Iterator
from typing import NamedTuple

from hearsay.collector.store import keys
from hearsay.collector.store.node import Command, Node


class Mark(NamedTuple):
    """A process that showed itself, and how long its mark still stands."""

    role: str
    process: str
    left_ms: int


class Heartbeats:
    """Which processes live."""

    def __init__(self, node: Node, prefix: str) -> None:
        self._node, self._prefix = node, prefix

    def mark(self, role: str, process: str, ttl_s: int) -> None:
        """Show that a process lives; on a full server too."""
        self._node.run("stage", [keys.heartbeat(self._prefix, role, process)], ["1", ttl_s])

    def unmark(self, role: str, process: str) -> None:
        """A process ends."""
        self._node.client.delete(keys.heartbeat(self._prefix, role, process))

    def marks(self) -> Iterator[Mark]:
        """Every process whose mark stands, by role and name."""
        names = sorted(self._node.client.scan_iter(match=keys.heartbeat(self._prefix, "*", "*"), count=1_000))
        times = self._node.many([Command(("PTTL", name)) for name in names]) if names else []
        for name, left_ms in zip(names, times, strict=True):
            if left_ms > 0:  # else it ran out in between
                role, process = name.decode().removeprefix(keys.heartbeat(self._prefix, "", "")[:-1]).split(":", 1)
                yield Mark(role, process, left_ms)
