"""What keeps reports from becoming answers: a backlog, a missing role, a quarantined range, a full server.

A pipeline without workers raises no error and gives no answer. `status`, `/readyz` and the metrics therefore list each
trouble in one line.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from hearsay.collector.agreement import releases_differ
from hearsay.collector.limits import ATTEMPTS, MEMORY_SHARE
from hearsay.collector.roles import COLLECTOR, NEEDED, WORKER
from hearsay.collector.store.condition import KEEPS, Condition
from hearsay.collector.store.registry import Registry, SurveyLook, look_at

# Entries are cut after a quarter of a second, and a job takes two: far above both, and below an operator's patience.
OLD_BACKLOG_S = 15.0
OLD_RANGE_S = 60.0  # three leases: whatever worker died, another one should have folded it by then
ALONE_S = 5.0  # where the role that should do it was not seen


@dataclass(frozen=True)
class Trouble:
    """One trouble. `holds_up`: reports that were taken in wait because of it."""

    code: str
    survey: str | None
    words: str
    holds_up: bool


def troubles(registry: Registry, surveys: list[SurveyLook] | None = None) -> list[Trouble]:
    """Every trouble, those that hold reports up first; `surveys`: a look at all of them, where there is one."""
    marks = list(registry.heartbeats.marks())
    present = Counter(mark.role for mark in marks)
    every = [*_of_server(registry.node.condition()), *_complaints(registry)]
    if words := releases_differ(marks):
        every.append(Trouble("versions", None, words, False))
    surveys = look_at(registry.list()) if surveys is None else surveys
    every += [trouble for seen in surveys for trouble in _of_survey(seen, present)]
    if surveys:
        every += [
            Trouble(
                f"no-{role.name}",
                None,
                f"no {role.name} was seen lately; start one with: hearsay {role.command}",
                False,
            )
            for role in NEEDED
            if not present[role.name]
        ]
    return sorted(every, key=lambda trouble: not trouble.holds_up)


def holding_up(registry: Registry) -> list[Trouble]:
    """The troubles for which reports wait."""
    return [trouble for trouble in troubles(registry) if trouble.holds_up]


def holding_all(registry: Registry) -> str | None:
    """What holds up every survey, in one line; None: some survey goes on.

    A survey that fails by itself is listed among the troubles, and takes no other one off the network.
    """
    holding = holding_up(registry)
    surveys = {trouble.survey for trouble in holding}
    if holding and (None in surveys or surveys >= {*registry.names()}):
        return "; ".join(trouble.words for trouble in holding)
    return None


def _of_server(seen: Condition) -> list[Trouble]:
    """A server that is full, cannot write or deletes keys: everything waits for it, and nothing else would say why."""
    listed = []
    if seen.policy != KEEPS:
        words = f"server: maxmemory-policy is {seen.policy}, so that it may delete counts; set it to {KEEPS}"
        listed.append(Trouble("eviction", None, words, True))
    if not seen.writes:
        words = "server: it cannot write to its disk and takes nothing until it can; make room there"
        listed.append(Trouble("disk", None, words, True))
    if seen.full:
        words = (
            f"server: memory is full, {seen.words()}: writers wait, no jobs are taken, and workers fold without them; "
            "free memory or raise maxmemory"
        )
        listed.append(Trouble("memory", None, words, True))
    elif seen.short:
        words = f"server: memory is short, {seen.words()}: writers wait above {MEMORY_SHARE:.0%}"
        listed.append(Trouble("memory", None, words, False))
    return listed


def _complaints(registry: Registry) -> list[Trouble]:
    """What processes themselves say keeps them from their work, on one survey or on all of them."""
    surveys = registry.names()
    return [
        Trouble(
            complaint.role,
            complaint.about if complaint.about in surveys else None,
            f"{complaint.role}, {complaint.about}: {complaint.words}",
            True,
        )
        for complaint in registry.complaints.all()
    ]


def _of_survey(survey: SurveyLook, present: Mapping[str, int]) -> list[Trouble]:
    name, listed = survey.survey.name, []
    for number, look in enumerate(survey.shards):
        seen = look.status
        of = f"survey {name}" if len(survey.shards) == 1 else f"survey {name}, shard {number}"
        if seen.backlog_age_s > (OLD_BACKLOG_S if present[COLLECTOR.name] else ALONE_S):
            why = "" if present[COLLECTOR.name] else ", and no collector was seen lately"
            words = f"{of}: entries wait for {seen.backlog_age_s:.0f} s to be cut into ranges{why}"
            listed.append(Trouble("backlog", name, words, True))
        if seen.oldest_range_s > (OLD_RANGE_S if present[WORKER.name] else ALONE_S):
            why = ", and no worker was seen lately"
            if present[WORKER.name]:
                why = "; are the workers on this queue, and are they enough?"
            words = f"{of}: a range waits for {seen.oldest_range_s:.0f} s to be folded{why}"
            listed.append(Trouble("ranges", name, words, True))
        if seen.quarantined:
            words = (
                f"{of}: {seen.quarantined} ranges failed {ATTEMPTS} times and are put aside; "
                "see hearsay survey skip --help"
            )
            listed.append(Trouble("quarantine", name, words, False))
        if seen.pressure is not None:
            words = f"{of}: writers are asked to wait because of {seen.pressure}"
            listed.append(Trouble("pressure", name, words, False))
    return listed
