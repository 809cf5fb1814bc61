"""Heartbeats: keys that go away by themselves when a process does not renew them; each says what the process is."""

from collections.abc import Iterator
from typing import NamedTuple

from hearsay.collector.store import keys
from hearsay.collector.store.node import Command, Node
from hearsay.collector.store.processes.versions import Release, this_release


class Mark(NamedTuple):
    """A process that showed itself, how long its mark still stands, and what it says of itself."""

    role: str
    process: str
    left_ms: int
    release: Release


class Heartbeats:
    """Which processes live."""

    def __init__(self, node: Node, prefix: str) -> None:
        self._node, self._prefix = node, prefix

    def mark(self, role: str, process: str, ttl_s: int, release: Release | None = None) -> None:
        """Show that a process lives; on a full server too."""
        says = this_release() if release is None else release
        self._node.run("stage", [keys.heartbeat(self._prefix, role, process)], [says.text(), ttl_s])

    def unmark(self, role: str, process: str) -> None:
        """A process ends."""
        self._node.client.delete(keys.heartbeat(self._prefix, role, process))

    def marks(self) -> Iterator[Mark]:
        """Every process whose mark stands, by role and name."""
        names = sorted(self._node.client.scan_iter(match=keys.heartbeat(self._prefix, "*", "*"), count=1_000))
        asked = [Command((word, name)) for name in names for word in ("PTTL", "GET")]
        answers = self._node.many(asked) if names else []
        for name, left_ms, text in zip(names, answers[::2], answers[1::2], strict=True):
            if left_ms > 0 and text is not None:  # else it ran out in between
                role, process = name.decode().removeprefix(keys.heartbeat(self._prefix, "", "")[:-1]).split(":", 1)
                yield Mark(role, process, left_ms, Release.parse(text))
