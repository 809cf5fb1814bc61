"""The content of a process's heartbeat: its release, and which forms of jobs and states it can read.

A new form is written only when every live process that has to read it can do so. So the processes of a deployment can
be replaced one by one, in any order.
"""

import json
import math
from typing import Any, NamedTuple, Self

from hearsay.collector.roles import COLLECTOR, ESTIMATOR, WORKER
from hearsay.release import UNKNOWN, release


class Forms(NamedTuple):
    """The newest form of each kind that a process can read; it can also read those before it."""

    jobs: int
    deltas: int
    accumulators: int


OLDEST = Forms(jobs=1, deltas=2, accumulators=1)  # what releases up to 0.2.0 read, whose heartbeats do not have it
PREVIOUS = OLDEST  # what the release before this one reads: to go back to it, nothing newer may be stored
KNOWN = Forms(jobs=3, deltas=3, accumulators=2)  # what this release reads
_STATE_READERS = frozenset((COLLECTOR.name, WORKER.name, ESTIMATOR.name))
READERS = {  # the roles that read each kind
    "jobs": frozenset((WORKER.name,)),
    "deltas": _STATE_READERS,
    "accumulators": _STATE_READERS,
}


class ProcessInfo(NamedTuple):
    """The content of a process's heartbeat.

    `version` is its release, `up_s` for how many seconds it has been running, `queue` the queue that it adds jobs to or
    takes them from, `durable` the level that a gateway promises.
    """

    version: str
    forms: Forms
    up_s: float = 0.0
    queue: str = ""
    durable: str = ""

    def text(self) -> str:
        """The JSON text of the heartbeat."""
        table = {"version": self.version, "forms": self.forms._asdict(), "up_s": round(self.up_s, 1)}
        more = {"queue": self.queue, "durable": self.durable}
        return json.dumps({**table, **{name: value for name, value in more.items() if value}})

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """The inverse of `text`; the oldest forms if a heartbeat cannot be read, as those of releases up to 0.2.0."""
        try:
            table: dict[str, Any] = json.loads(text)
            forms = {**OLDEST._asdict(), **table["forms"]}
            known = Forms(*(int(forms[kind]) for kind in Forms._fields))  # a newer release may name further kinds
            more = (str(table.get(name, "")) for name in ("queue", "durable"))
            return cls(str(table["version"]), known, float(table.get("up_s", 0.0)), *more)
        except (ValueError, KeyError, TypeError):
            return cls(UNKNOWN, OLDEST, math.inf)  # never counts as just started, as in an upgrade


def this_process(up_s: float = 0.0, hold_layouts: bool = False) -> ProcessInfo:
    """The heartbeat of this process. With the setting `hold_layouts` it claims to read only `PREVIOUS`."""
    return ProcessInfo(release(), PREVIOUS if hold_layouts else KNOWN, up_s)
