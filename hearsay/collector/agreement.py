"""Which forms of jobs and layouts of states may be written now: those that every live reader knows.

What was ever written is noted first, so that a process which is too old for what is stored ends with one line.
"""

import time
from collections.abc import Callable, Iterable

from hearsay.collector.errors import TooOld
from hearsay.collector.store.looks.survey_look import AWAY
from hearsay.collector.store.processes.heartbeats import ProcessMark
from hearsay.collector.store.processes.stored_forms import KINDS
from hearsay.collector.store.processes.versions import KNOWN, OLDEST, PREVIOUS, READERS, Forms
from hearsay.collector.store.registry import Registry
from hearsay.release import release

UPGRADE_S = 600.0  # processes that differ for longer are no upgrade under way
ASK_S = 5.0  # far below a heartbeat's time to live
ASK_OLD_S = 15.0  # the marks of releases up to 0.2.0 are looked for among all keys: seldom, and by no check of health


class Agreement:
    """One per process that writes. `forms` are the newest that may be written, as they were last asked for."""

    def __init__(
        self, registry: Registry, clock: Callable[[], float] = time.monotonic, hold_layouts: bool = False
    ) -> None:
        self._registry, self._clock, self._hold_layouts = registry, clock, hold_layouts
        self.forms = OLDEST
        self._old: list[ProcessMark] = []
        self._next = self._next_old = 0.0

    def refresh(self) -> Forms:
        """Ask for heartbeats, now and then: for the loops that beat themselves."""
        if self._clock() >= self._next:
            forms = PREVIOUS if self._hold_layouts else agreed(self._marks())
            self._registry.stored_forms.note(forms)
            self.forms = forms
            self._next = self._clock() + ASK_S
        return self.forms

    def _marks(self) -> list[ProcessMark]:
        beats = self._registry.heartbeats
        if self._registry.servers.alone and self._clock() >= self._next_old:  # those releases knew no cluster
            self._old = list(beats.old_marks())
            self._next_old = self._clock() + ASK_OLD_S
        return [*beats.marks(), *self._old]


def check_stored(registry: Registry) -> None:
    """Refuse to work with what this release cannot read."""
    try:
        stored = registry.stored_forms.get()
    except AWAY:
        if registry.servers.alone:
            raise
        return  # one of several nodes: what it would have said, reading says too
    for kind in KINDS:
        if getattr(stored, kind) > getattr(KNOWN, kind):
            raise TooOld(
                f"{kind} of layout {getattr(stored, kind)} are stored and this release ({release()}) reads up to "
                f"{getattr(KNOWN, kind)}: install a newer release, see docs/how-to/upgrading.md"
            )


def agreed(marks: Iterable[ProcessMark]) -> Forms:
    """What all of these processes can read. Where a role has none, its next one may be of any release."""
    marks = list(marks)
    return Forms(*(_agreed(kind, marks) for kind in Forms._fields))


def _agreed(kind: str, marks: list[ProcessMark]) -> int:
    roles, oldest, known = READERS[kind], getattr(OLDEST, kind), getattr(KNOWN, kind)
    if not roles <= {mark.role for mark in marks}:
        return int(oldest)
    return int(min(known, *(getattr(mark.info.forms, kind) for mark in marks if mark.role in roles)))


def releases_differ(marks: Iterable[ProcessMark]) -> str | None:
    """What to say where processes of two releases run side by side for longer than an upgrade takes."""
    marks = list(marks)
    releases = sorted({mark.info.version for mark in marks})
    if len(releases) < 2 or min(mark.info.up_s for mark in marks) < UPGRADE_S:
        return None
    processes = [f"{mark.role} {mark.process} {mark.info.version}" for mark in marks]
    return f"processes of releases {' and '.join(releases)} run side by side: {', '.join(processes)}"
