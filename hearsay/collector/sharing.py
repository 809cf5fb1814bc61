"""Who does what, where several processes of a role run: each takes what it wins in a draw that all of them know.

By rendezvous: of the live processes of a role the one whose hash with a thing's name is the highest has the thing. All
that needs to be known are the heartbeats. When a process comes or goes, only what it wins or won changes hands. Two
that see different heartbeats for a moment both do the work, which the scripts make harmless.
"""

import time
from collections.abc import Callable
from hashlib import blake2b

from hearsay.collector.heartbeats import Heartbeat
from hearsay.collector.limits import HEARTBEAT_TTL_S

BEAT_S = 2.0  # how often a process that shares shows itself
SILENT_S = 6.0  # one that was not seen for so long has nothing more: its share is taken over
ALL = ""  # what concerns no survey, and is done by one process


class Share:
    """What this process has of its role's work; all of it until it has seen others."""

    def __init__(self, heartbeat: Heartbeat, clock: Callable[[], float] = time.monotonic) -> None:
        self._heartbeat, self._clock = heartbeat, clock
        self._processes: tuple[str, ...] = (heartbeat.process,)
        self._mine: dict[str, bool] = {}
        self.alone = True  # nobody else is there, and everything is this process's
        self._next = 0.0

    def refresh(self) -> None:
        """Show this process, and look who else is there, now and then."""
        if self._clock() < self._next:
            return
        self._heartbeat.beat()
        left_ms = 1_000 * (HEARTBEAT_TTL_S - SILENT_S)
        marks = [mark for mark in self._heartbeat.registry.heartbeats.marks() if mark.role == self._heartbeat.role]
        seen = {mark.process for mark in marks if mark.left_ms >= left_ms}
        processes = tuple(sorted(seen | {self._heartbeat.process}))
        if processes != self._processes:
            self._processes, self._mine, self.alone = processes, {}, len(processes) == 1
        self._next = self._clock() + BEAT_S

    def is_mine(self, name: str) -> bool:
        """Whether this process has the thing of this name."""
        if name not in self._mine:
            winner = max(self._processes, key=lambda process: _draw(process, name))
            self._mine[name] = winner == self._heartbeat.process
        return self._mine[name]


def _draw(process: str, name: str) -> bytes:
    return blake2b(f"{process}\n{name}".encode(), digest_size=8).digest()
