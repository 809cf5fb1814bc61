"""Whether something stands still: reports that nobody folds, processes that are missing, what was put aside.

A pipeline without workers looks calm: nothing fails, and nothing comes out. What is wrong is said in one line each, by
`status`, `/readyz`, the metrics, and beside answers that do not know all reports yet.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hearsay.collector.heartbeats import roles
from hearsay.collector.limits import ATTEMPTS, MEMORY_SHARE
from hearsay.collector.store.condition import Condition
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.shard import Shard
from hearsay.collector.store.status import Status, status
from hearsay.estimator.totals import Totals, totals
from hearsay.mechanisms.errors import QueryError

ROLES = ("collector", "worker", "estimator")
# Entries are cut after a quarter of a second, and a job takes two: far above both, and below an operator's patience.
OLD_BACKLOG_S = 15.0
OLD_RANGE_S = 60.0  # three leases: whatever worker died, another one should have folded it by then
ALONE_S = 5.0  # where the role that should do it was not seen


@dataclass(frozen=True)
class Trouble:
    """Something that stands still or is missing. `holds_up`: reports that were taken in wait because of it."""

    code: str
    survey: str | None
    words: str
    holds_up: bool


def waiting_reports(registered: Registered) -> int:
    """Reports that were published and are in no answer yet; 0 where nothing waits."""
    return sum(waiting_in(seen, totals(store, seen.windows)) for store, seen in _looked_at(registered))


def waiting_in(seen: Status, total: Totals) -> int:
    """Of one shard. By what writers said: entries that were refused as a whole held reports that nobody could count."""
    return max(seen.published_reports - total.accounted, 0) if seen.waiting_entries else 0


def said_with(refusal: QueryError, waiting: int) -> QueryError:
    """A refusal for want of reports, with those that wait: "no reports yet" alone would be half of the truth."""
    if not waiting:
        return refusal
    return QueryError(f"{refusal}; {waiting:,} reports are waiting to be folded (see hearsay status)")


def troubles(registry: Registry) -> list[Trouble]:
    """All that stands still or is missing, the gravest first."""
    present = roles(registry)
    found = [*_of_server(registry.condition()), *_complaints(registry)]
    found += [trouble for registered in registry.list() for trouble in _of_survey(registered, present)]
    if registry.names():
        found += [
            Trouble(f"no-{role}", None, f"no {role} was seen lately; start one with: hearsay {command}", False)
            for role, command in zip(ROLES, ("collect", "work", "estimate"), strict=True)
            if not present[role]
        ]
    return sorted(found, key=lambda trouble: not trouble.holds_up)


def _of_server(seen: Condition) -> list[Trouble]:
    """A server that is full, or that cannot write: everything waits for it, and nothing else would say why."""
    found = []
    if not seen.writes:
        words = "server: it cannot write to its disk and takes nothing until it can; make room there"
        found.append(Trouble("disk", None, words, True))
    if seen.full:
        words = (
            f"server: memory is full, {seen.words()}: writers wait, no jobs are taken, and workers fold without them; "
            "free memory or raise maxmemory"
        )
        found.append(Trouble("memory", None, words, True))
    elif seen.short:
        words = f"server: memory is short, {seen.words()}: writers wait above {MEMORY_SHARE:.0%}"
        found.append(Trouble("memory", None, words, False))
    return found


def _complaints(registry: Registry) -> list[Trouble]:
    """What processes themselves say keeps them from their work."""
    return [
        Trouble(found.role, None, f"{found.role}, {found.about}: {found.words}", True)
        for found in registry.complaints()
    ]


def _of_survey(registered: Registered, present: Mapping[str, int]) -> list[Trouble]:
    name, found = registered.survey.name, []
    for store, seen in _looked_at(registered):
        of = f"survey {name}" if registered.shards == 1 else f"survey {name}, shard {store.shard}"
        if seen.backlog_age_s > (OLD_BACKLOG_S if present["collector"] else ALONE_S):
            why = "" if present["collector"] else ", and no collector was seen lately"
            words = f"{of}: entries wait for {seen.backlog_age_s:.0f} s to be cut into ranges{why}"
            found.append(Trouble("backlog", name, words, True))
        if seen.oldest_range_s > (OLD_RANGE_S if present["worker"] else ALONE_S):
            why = ", and no worker was seen lately"
            if present["worker"]:
                why = "; are the workers on this queue, and are they enough?"
            words = f"{of}: a range waits for {seen.oldest_range_s:.0f} s to be folded{why}"
            found.append(Trouble("ranges", name, words, True))
        if seen.quarantined:
            words = (
                f"{of}: {seen.quarantined} ranges failed {ATTEMPTS} times and are put aside; "
                "see hearsay survey skip --help"
            )
            found.append(Trouble("quarantine", name, words, False))
        if seen.pressure is not None:
            words = f"{of}: writers are asked to wait because of {seen.pressure}"
            found.append(Trouble("pressure", name, words, False))
    return found


def _looked_at(registered: Registered) -> list[tuple[Shard, Status]]:
    return [(store, status(store)) for store in registered.stores]
