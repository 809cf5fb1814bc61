"""Heartbeats: marks of processes, which count no more when a process does not renew them; each says what it is."""

from collections.abc import Iterator
from typing import NamedTuple

from hearsay.collector.store import keys
from hearsay.collector.store.node import Command
from hearsay.collector.store.processes.marks import Marks
from hearsay.collector.store.processes.versions import Release, this_release
from hearsay.collector.store.servers.servers import Servers


class Mark(NamedTuple):
    """A process that showed itself, how long its mark still stands, and what it says of itself."""

    role: str
    process: str
    left_ms: int
    release: Release


class Heartbeats:
    """Which processes live."""

    def __init__(self, servers: Servers, prefix: str) -> None:
        self._servers, self._prefix = servers, prefix
        self._marks = Marks(servers, keys.heartbeats(prefix))

    def mark(self, role: str, process: str, ttl_s: int, release: Release | None = None) -> None:
        """Show that a process lives; on a full server too."""
        self._marks.put(role, process, (this_release() if release is None else release).text(), ttl_s)

    def unmark(self, role: str, process: str) -> None:
        """A process ends."""
        self._marks.remove(role, process)

    def marks(self) -> list[Mark]:
        """Every process whose mark stands, by role and name."""
        return [Mark(each.role, each.name, each.left_ms, Release.parse(each.words)) for each in self._marks.all()]

    def old_marks(self) -> Iterator[Mark]:
        """Processes of releases up to 0.2.0, each with a key of its own; walks through all keys of the server."""
        start = keys.old_heartbeat(self._prefix, "")
        for node in self._servers.nodes():
            names = sorted(node.keys(f"{start}*"))
            answers = node.many([Command((word, name)) for name in names for word in ("PTTL", "GET")]) if names else []
            for name, left_ms, text in zip(names, answers[::2], answers[1::2], strict=True):
                if left_ms > 0 and text is not None:  # else it ran out in between
                    role, _, process = name.removeprefix(start).partition(":")
                    yield Mark(role, process, left_ms, Release.parse(text))
