"""Which forms of jobs and layouts of states may be written now: those that every live reader knows."""

import time
from collections.abc import Callable, Iterable

from hearsay.collector.store.processes.heartbeats import Mark
from hearsay.collector.store.processes.versions import KNOWN, OLDEST, READERS, Forms
from hearsay.collector.store.registry import Registry

ASK_S = 5.0  # far below a heartbeat's time to live


class Agreement:
    """One per process that writes; asks for heartbeats now and then."""

    def __init__(self, registry: Registry, clock: Callable[[], float] = time.monotonic) -> None:
        self._registry, self._clock = registry, clock
        self._forms = OLDEST
        self._next = 0.0

    def forms(self) -> Forms:
        """The newest forms that may be written."""
        if self._clock() >= self._next:
            self._forms = agreed(self._registry.heartbeats.marks())
            self._next = self._clock() + ASK_S
        return self._forms


def agreed(marks: Iterable[Mark]) -> Forms:
    """What all of these processes can read. Where a role has none, its next one may be of any release."""
    marks = list(marks)
    return Forms(*(_agreed(kind, marks) for kind in Forms._fields))


def _agreed(kind: str, marks: list[Mark]) -> int:
    roles, oldest, known = READERS[kind], getattr(OLDEST, kind), getattr(KNOWN, kind)
    if not roles <= {mark.role for mark in marks}:
        return int(oldest)
    return int(min(known, *(getattr(mark.release.forms, kind) for mark in marks if mark.role in roles)))
