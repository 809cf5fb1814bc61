"""Which forms of jobs and layouts of states a process may write now: the newest that every live reader can read.

Layouts are noted in Redis before a state is written in them. A process that starts compares them with those that its
release reads; where it is too old it ends with one line that says so.
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

UPGRADE_S = 600.0  # an upgrade takes no longer: processes whose releases still differ then are reported
ASK_S = 5.0  # between two readings of the heartbeats; far below their time to live
ASK_OLD_S = 15.0  # between two searches for marks of releases up to 0.2.0, which scan all keys of the server


class Agreement:
    """What this process may write: `forms` has the newest form of each kind, as of the last `refresh`.

    `hold_layouts` is the collector's setting: write only what the previous release reads.
    """

    def __init__(
        self, registry: Registry, clock: Callable[[], float] = time.monotonic, hold_layouts: bool = False
    ) -> None:
        self._registry, self._clock, self._hold_layouts = registry, clock, hold_layouts
        self.forms = OLDEST
        self._old_marks: list[ProcessMark] = []  # those of releases up to 0.2.0
        self._next_reading = self._next_search = 0.0  # by the clock, in seconds

    def refresh(self) -> Forms:
        """Read the heartbeats if that is due, and note the layouts that may be written from now on.

        Called by the loops that also renew this process's own heartbeat.
        """
        if self._clock() >= self._next_reading:
            forms = PREVIOUS if self._hold_layouts else agreed(self._marks())
            self._registry.stored_forms.note(forms)
            self.forms = forms
            self._next_reading = self._clock() + ASK_S
        return self.forms

    def _marks(self) -> list[ProcessMark]:
        heartbeats = self._registry.heartbeats
        if self._registry.servers.alone and self._clock() >= self._next_search:  # those releases knew no cluster
            self._old_marks = list(heartbeats.old_marks())
            self._next_search = self._clock() + ASK_OLD_S
        return [*heartbeats.marks(), *self._old_marks]


def check_stored(registry: Registry) -> None:
    """Refuse to start where states are stored in a layout that this release cannot read."""
    try:
        stored = registry.stored_forms.get()
    except AWAY:
        if registry.servers.alone:
            raise
        return  # one node of a cluster is away: without the check, reading a newer layout is an error of that survey
    for kind in KINDS:
        if getattr(stored, kind) > getattr(KNOWN, kind):
            raise TooOld(
                f"{kind} of layout {getattr(stored, kind)} are stored and this release ({release()}) reads up to "
                f"{getattr(KNOWN, kind)}: install a newer release, see docs/how-to/upgrading.md"
            )


def agreed(marks: Iterable[ProcessMark]) -> Forms:
    """The newest form of each kind that all of these processes can read.

    Of a kind for which a reading role has no process it is the oldest: the next process may be of any release.
    """
    marks = list(marks)
    return Forms(*(_agreed_form(kind, marks) for kind in Forms._fields))


def _agreed_form(kind: str, marks: list[ProcessMark]) -> int:
    roles, oldest, known = READERS[kind], getattr(OLDEST, kind), getattr(KNOWN, kind)
    if not roles <= {mark.role for mark in marks}:
        return int(oldest)
    return int(min(known, *(getattr(mark.info.forms, kind) for mark in marks if mark.role in roles)))


def releases_differ(marks: Iterable[ProcessMark]) -> str | None:
    """The warning if processes of two releases run side by side for longer than an upgrade takes; else None."""
    marks = list(marks)
    releases = sorted({mark.info.version for mark in marks})
    if len(releases) < 2 or min(mark.info.up_s for mark in marks) < UPGRADE_S:
        return None
    processes = [f"{mark.role} {mark.process} {mark.info.version}" for mark in marks]
    return f"processes of releases {' and '.join(releases)} run side by side: {', '.join(processes)}"
