"""Which release a process runs, and which forms of jobs and layouts of states it can read.

Every process says so in its heartbeat. A new form is written only once every live process that reads it knows it, so
that the processes of a deployment can be replaced one by one, in any order.
"""

import json
import math
from typing import Any, NamedTuple, Self

from hearsay.collector.roles import COLLECTOR, ESTIMATOR, WORKER
from hearsay.release import UNKNOWN, release


class Forms(NamedTuple):
    """The newest form of each kind; whoever knows one also knows those before it."""

    jobs: int
    deltas: int
    accumulators: int

    def newest(self, other: "Forms") -> "Forms":
        """The newer form of each kind."""
        return Forms(*map(max, self, other))


OLDEST = Forms(jobs=1, deltas=2, accumulators=1)  # of processes that say nothing: releases up to 0.2.0
BEFORE = OLDEST  # what the release before this one reads: to go back to it, nothing newer may be stored
KNOWN = Forms(jobs=2, deltas=3, accumulators=2)
_STATES = frozenset((COLLECTOR.name, WORKER.name, ESTIMATOR.name))
READERS = {"jobs": frozenset((WORKER.name,)), "deltas": _STATES, "accumulators": _STATES}  # roles


class Release(NamedTuple):
    """What a process says of itself; `up_s` is for how long it runs, `queue` where its jobs go to or come from."""

    version: str
    forms: Forms
    up_s: float = 0.0
    queue: str = ""

    def text(self) -> str:
        """As a heartbeat carries it."""
        says = {"version": self.version, "forms": self.forms._asdict(), "up_s": round(self.up_s, 1)}
        return json.dumps({**says, **({"queue": self.queue} if self.queue else {})})

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """What a heartbeat carries; a process of an older release says nothing that can be read."""
        try:
            table: dict[str, Any] = json.loads(text)
            forms = {**OLDEST._asdict(), **table["forms"]}
            known = Forms(*(int(forms[kind]) for kind in Forms._fields))  # a newer release may name further kinds
            return cls(str(table["version"]), known, float(table.get("up_s", 0.0)), str(table.get("queue", "")))
        except (ValueError, KeyError, TypeError):
            return cls(UNKNOWN, OLDEST, math.inf)  # it is no upgrade under way that it says nothing


def this_release(up_s: float = 0.0, held: bool = False) -> Release:
    """What this process says of itself. `held`: it only owns up to what the release before could read."""
    return Release(release(), BEFORE if held else KNOWN, up_s)
