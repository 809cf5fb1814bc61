"""What keeps reports from becoming answers: a backlog, a missing role, a quarantined range, a full server.

A pipeline without workers raises no error and gives no answer. `status`, `/readyz` and the metrics therefore list each
trouble in one line.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from redis.exceptions import RedisError

from hearsay.collector.agreement import releases_differ
from hearsay.collector.errors import ShardsAway
from hearsay.collector.limits import ATTEMPTS, MEMORY_SHARE
from hearsay.collector.roles import COLLECTOR, NEEDED, WORKER
from hearsay.collector.store.condition import KEEPS, Condition
from hearsay.collector.store.durability import REPLICA
from hearsay.collector.store.looks.survey_look import AWAY
from hearsay.collector.store.processes.heartbeats import ProcessMark
from hearsay.collector.store.registry import Registry, SurveyLook, look_at_parts

# Entries are cut after a quarter of a second, and a job takes two: far above both, and below an operator's patience.
OLD_BACKLOG_S = 15.0
OLD_RANGE_S = 60.0  # three leases: whatever worker died, another one should have folded it by then
ALONE_S = 5.0  # where the role that should do it was not seen
SLOW_RANGE = (
    "the workers' logs say whether it fails; if not, there are too few workers, they are on another queue, "
    "or another deployment's workers take jobs from this one"
)


@dataclass(frozen=True)
class Trouble:
    """One trouble. `holds_up`: reports that were taken in wait because of it."""

    code: str
    survey: str | None
    words: str
    holds_up: bool


def troubles(
    registry: Registry, surveys: list[SurveyLook] | None = None, failed: Mapping[str, Exception] | None = None
) -> list[Trouble]:
    """Every trouble, those that hold reports up first.

    `surveys`: a look at all of them, where there is one, and those that `failed`.
    """
    every = _of_servers(registry)
    marks: list[ProcessMark] = []
    with _unless_away(registry):
        marks = registry.heartbeats.marks_of_all(role.name for role in NEEDED)
        every += _complaints(registry)
    present = Counter(mark.role for mark in marks if not mark.silent)
    if words := releases_differ(marks):
        every.append(Trouble("versions", None, words, False))
    if words := queues_differ(marks):
        every.append(Trouble("queue", None, words, True))
    if surveys is None:
        surveys, failed = [], {}
        with _unless_away(registry):
            surveys = look_at_parts(registry.list(), failed)
    every += [Trouble("node", name, str(error), True) for name, error in (failed or {}).items() if _is_away(error)]
    every += [trouble for seen in surveys for trouble in _of_survey(seen, present)]
    if REPLICA in {*(mark.info.durable for mark in marks), *(seen.survey.durable for seen in surveys)}:
        every += _without_replica(registry)
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


def queues_differ(marks: Sequence[ProcessMark]) -> str | None:
    """That a collector's jobs are taken by no worker, though there are workers: they take them from another queue."""
    queues = {
        role.name: {mark.info.queue for mark in marks if mark.role == role.name} - {""} for role in (COLLECTOR, WORKER)
    }
    taken = queues[WORKER.name]
    unread = sorted(queues[COLLECTOR.name] - taken)
    if not unread or not taken:
        return None
    return (
        f"no worker takes jobs from the queue {unread[0]}, where the collector puts them; the workers are on "
        f"{', '.join(sorted(taken))}: give both the same --queue, --queue-url and --prefix"
    )


def holding_up(registry: Registry, listed: Sequence[Trouble] | None = None) -> list[Trouble]:
    """The troubles for which reports wait; `listed`: all troubles, where they are known."""
    return [trouble for trouble in (troubles(registry) if listed is None else listed) if trouble.holds_up]


def holding_all(registry: Registry, listed: Sequence[Trouble] | None = None) -> str | None:
    """What holds up every survey, in one line; None: some survey goes on.

    A survey that fails by itself is listed among the troubles, and takes no other one off the network.
    """
    holding = holding_up(registry, listed)
    surveys = {trouble.survey for trouble in holding}
    if holding and (None in surveys or surveys >= {*registry.names()}):
        return "; ".join(trouble.words for trouble in holding)
    return None


@contextmanager
def _unless_away(registry: Registry) -> Iterator[None]:
    """What is left out where one of several nodes is away, which is a trouble of its own."""
    try:
        yield
    except AWAY:
        if registry.servers.alone:
            raise


def _is_away(error: Exception) -> bool:
    return isinstance(error, (ShardsAway, *AWAY))


def _of_servers(registry: Registry) -> list[Trouble]:
    """What is wrong with each node, and with all of them together."""
    servers, listed = registry.servers, []
    for node in servers.nodes():
        try:
            listed += _of_server(node.condition(), "server" if servers.alone else f"node {node.address}")
        except AWAY:
            if servers.alone:
                raise
            registry_too = " and the registry, in which surveys are listed," if node is registry.node else ""
            words = f"node {node.address} does not answer: its shards{registry_too} wait for it; the others go on"
            listed.append(Trouble("node", None, words, False))
    return [*listed, *(Trouble("cluster", None, words, False) for words in servers.troubles())]


def _of_server(seen: Condition, name: str) -> list[Trouble]:
    """A server that is full, cannot write or deletes keys: everything waits for it, and nothing else would say why."""
    listed = []
    if seen.policy != KEEPS:
        words = f"{name}: maxmemory-policy is {seen.policy}, so that it may delete counts; set it to {KEEPS}"
        listed.append(Trouble("eviction", None, words, True))
    if not seen.writes:
        words = f"{name}: it cannot write to its disk and takes nothing until it can; make room there"
        listed.append(Trouble("disk", None, words, True))
    if seen.full:
        words = (
            f"{name}: memory is full, {seen.words()}: writers wait, no jobs are taken, and workers fold without them; "
            "free memory or raise maxmemory"
        )
        listed.append(Trouble("memory", None, words, True))
    elif seen.short:
        words = f"{name}: memory is short, {seen.words()}: writers wait above {MEMORY_SHARE:.0%}"
        listed.append(Trouble("memory", None, words, False))
    return listed


def _without_replica(registry: Registry) -> list[Trouble]:
    """Servers without a replica, where a gateway or a survey promises one."""
    listed = []
    for node in registry.servers.nodes():
        with suppress(RedisError):  # away, which is a trouble of its own; or not everybody may ask
            if not node.replicas():
                name = "the server" if registry.servers.alone else f"node {node.address}"
                words = f"{name} has no replica, and durable = replica is promised: reports there are not acknowledged"
                listed.append(Trouble("replica", None, words, False))
    return listed


def _complaints(registry: Registry) -> list[Trouble]:
    """What processes themselves say keeps them from their work, on one survey or on all of them."""
    surveys = registry.records()
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
    for shard, look in zip(survey.registered.shards, survey.shards, strict=True):
        seen = look.status
        of = f"survey {name}" if len(survey.shards) == 1 else f"survey {name}, shard {shard.shard}"
        if seen.backlog_age_s > (OLD_BACKLOG_S if present[COLLECTOR.name] else ALONE_S):
            why = "" if present[COLLECTOR.name] else ", and no collector was seen lately"
            words = f"{of}: entries wait for {seen.backlog_age_s:.0f} s to be cut into ranges{why}"
            listed.append(Trouble("backlog", name, words, True))
        if seen.oldest_range_s > (OLD_RANGE_S if present[WORKER.name] else ALONE_S):
            why = ", and no worker was seen lately"
            if present[WORKER.name]:
                why = f"; {SLOW_RANGE}"
            words = f"{of}: a range waits for {seen.oldest_range_s:.0f} s to be folded{why}"
            listed.append(Trouble("ranges", name, words, True))
        if seen.quarantined:
            aside = "1 range" if seen.quarantined == 1 else f"{seen.quarantined} ranges"
            words = (
                f"{of}: {aside} failed {ATTEMPTS} times and {'waits' if seen.quarantined == 1 else 'wait'} aside; "
                f"the workers' logs say why, then: hearsay survey skip {name} --retry"
            )
            listed.append(Trouble("quarantine", name, words, False))
        if seen.pressure is not None:
            words = f"{of}: writers are asked to wait because of {seen.pressure}"
            listed.append(Trouble("pressure", name, words, False))
    return listed
