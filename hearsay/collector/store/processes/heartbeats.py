"""Heartbeats: every live process keeps a mark in Redis, which expires unless the process renews it."""

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hearsay.collector.limits import HEARTBEAT_TTL_S, MISSED_BEAT_S
from hearsay.collector.roles import ESTIMATOR
from hearsay.collector.store import keys
from hearsay.collector.store.node import Command
from hearsay.collector.store.processes.marks import Marks
from hearsay.collector.store.processes.versions import ProcessInfo, this_process
from hearsay.collector.store.servers.servers import Servers

OLD_MARKS_S = 10.0


class ProcessMark(NamedTuple):
    """The mark of one live process; it expires in `left_ms`. `info` has its release and more."""

    role: str
    process: str
    left_ms: int
    info: ProcessInfo

    @property
    def silent(self) -> bool:
        """Whether it missed a heartbeat; False for an estimator, whose heartbeats come between passes of any length."""
        return self.role != ESTIMATOR.name and self.left_ms < 1_000 * (HEARTBEAT_TTL_S - MISSED_BEAT_S)


class Heartbeats:
    """The marks of all live processes."""

    def __init__(self, servers: Servers, prefix: str) -> None:
        self._servers, self._prefix = servers, prefix
        self._marks = Marks(servers, keys.heartbeats(prefix))
        self._old: list[ProcessMark] = []
        self._look_again_at = 0.0

    def mark(self, role: str, process: str, ttl_s: int, info: ProcessInfo | None = None) -> None:
        """Set or renew the mark of a process, also on a server whose memory is full."""
        self._marks.put(role, process, (this_process() if info is None else info).text(), ttl_s)

    def unmark(self, role: str, process: str) -> None:
        """Remove the mark of a process that ends."""
        self._marks.remove(role, process)

    def marks(self) -> list[ProcessMark]:
        """The marks that have not expired, sorted by role and process."""
        return [
            ProcessMark(mark.role, mark.name, mark.left_ms, ProcessInfo.parse(mark.words)) for mark in self._marks.all()
        ]

    def marks_of_all(self, needed: Iterable[str]) -> list[ProcessMark]:
        """`marks`, and those of releases up to 0.2.0 if one of the roles `needed` has no other process.

        Those are searched for at most every ten seconds.
        """
        marks = self.marks()
        missing = set(needed) - {mark.role for mark in marks}
        if missing and time.monotonic() >= self._look_again_at:
            self._old = list(self.old_marks())
            self._look_again_at = time.monotonic() + OLD_MARKS_S
        return marks + [mark for mark in self._old if mark.role in missing]

    def old_marks(self) -> Iterator[ProcessMark]:
        """The marks of releases up to 0.2.0, one key each; slow, since the server scans all of its keys.

        A node that does not reply is left out.
        """
        beginning = keys.old_heartbeat(self._prefix, "")
        for node in self._servers.nodes():
            if node.away:
                continue
            names = sorted(node.keys(f"{beginning}*"))
            reads = [Command((command, name)) for name in names for command in ("PTTL", "GET")]
            answers = node.many(reads) if names else []
            for name, left_ms, text in zip(names, answers[::2], answers[1::2], strict=True):
                if left_ms > 0 and text is not None:  # otherwise it has just expired
                    role, _, process = name.removeprefix(beginning).partition(":")
                    yield ProcessMark(role, process, left_ms, ProcessInfo.parse(text))
