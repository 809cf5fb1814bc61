"""What the collector does on one node: cut, enqueue, re-enqueue what is overdue, trim what is done, merge, press."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from hearsay.collector import limits
from hearsay.collector.dispatch.cutting import Cutting
from hearsay.collector.dispatch.merging import Merging
from hearsay.collector.dispatch.watching import Watching
from hearsay.collector.errors import StateError
from hearsay.collector.queue import MERGE_FORM, FoldQueue, enqueue, job_id, waiting_count, waiting_jobs
from hearsay.collector.store.look import Look
from hearsay.collector.store.node import Call, Node
from hearsay.collector.store.processes.versions import Forms
from hearsay.collector.store.shard import Shard
from hearsay.collector.store.status import Status

_LOG = logging.getLogger("hearsay.collector")
_OURS = ("memory", "deltas", "quarantine")  # causes of pressure that the collector sets and takes away


@dataclass
class Lane:
    """One node, and what is known of its shards from pass to pass."""

    node: Node
    queue: FoldQueue
    lease_s: float
    watching: Watching = field(default_factory=Watching)

    def __post_init__(self) -> None:
        self.cutting = Cutting(self.queue, heard=self.watching.heard)
        self.merging = Merging(self.queue, self.lease_s)

    def dispatch(self, shards: Sequence[Shard], form: int) -> bool:
        """Cut what is ready in these shards and enqueue it; answers whether there was anything."""
        awake = self.watching.awake(self.node, shards)
        return bool(awake) and self.cutting.once(awake, form)

    def chores(self, shards: Sequence[Shard], no_jobs: bool, forms: Forms) -> None:
        """Re-enqueue overdue ranges, trim, ask for merges, and say where the pressure comes from, where it is due.

        `no_jobs`: the queue takes none now. `forms`: of jobs and accumulators, those that all readers know.
        """
        memory = self.node.condition().short
        self.watching.forget_all_but(shards)
        due = self.watching.to_look_at(shards, every=memory)
        if not due:
            return
        calls: list[Call] = []
        looks: list[tuple[Shard, Look]] = []
        for shard, reply in zip(
            due, self.node.many([shard.look_call() for shard in due], raise_errors=False), strict=True
        ):
            look = shard.look_from(reply)
            self.watching.looked(shard, look)
            looks.append((shard, look))
            if not no_jobs:  # an attempt that nobody hears of would be an attempt lost
                self.reconcile(shard, look)
            seen = look.status
            if _deltas_pile_up(seen):
                self.compact(shard, look, forms.accumulators)
                seen = shard.status()
            if (step_s := self.watching.trim_step_s(shard)) is not None:
                calls.append(shard.trim_call(step_s))
            cause = _cause(seen, memory)
            if cause is not None or seen.pressure in _OURS:
                calls.append(shard.pressure_call(cause))
        if calls:
            self.node.many(calls)
        if forms.jobs >= MERGE_FORM and not no_jobs:
            self.merging.ask(looks)

    def compact(self, shard: Shard, look: Look, layout: int) -> None:
        """Merge deltas where nobody else does: CUT refuses while too many wait, and producers then wait too."""
        for window in look.windows:
            if look.at(window).deltas:
                try:
                    shard.compact(shard.read(window.name, seen=look.at(window)), layout)
                except StateError as error:  # of this window: others, and other surveys, go on
                    _LOG.error("window %s of %s is not merged: %s", window.name, shard.survey.name, error)

    def reconcile(self, shard: Shard, look: Look) -> int:
        """Give overdue ranges their next attempt, a batch at a time and only while the queue is short.

        A range whose job still waits in the queue is not overdue, however long the queue takes.
        """
        reissued = 0
        now_ms, lease_ms = look.now_ms, int(self.lease_s * 1_000)
        overdue = [
            stretch
            for stretch in look.ranges
            # Where the clock went back, nobody knows how long it has been out.
            if not stretch.quarantined and not 0 <= now_ms - stretch.time_ms < lease_ms
        ]
        waiting = waiting_jobs(self.queue) if overdue else set()
        for stretch in overdue:
            if job_id(shard, stretch) in waiting:
                continue
            if reissued >= limits.REISSUE_BATCH or waiting_count(self.queue) >= limits.QUEUE_SHORT:
                break
            answer, _ = shard.reissue(stretch, self.lease_s)
            if answer == "quarantined":
                _LOG.error(
                    "range %d of %s quarantined after %d attempts", stretch.seq, shard.survey.name, stretch.attempt
                )
            elif answer == "reissued":
                again = shard.range(stretch.seq)
                if again is not None and enqueue(self.queue, shard, again):
                    reissued += 1
        return reissued


def _cause(seen: Status, memory: bool) -> str | None:
    """Why writers must wait, for causes that PUBLISH cannot see by itself."""
    if memory:
        return "memory"
    if seen.deltas >= limits.DELTAS_LIMIT or seen.delta_bytes >= limits.DELTA_BYTES_LIMIT:
        return "deltas"
    return "quarantine" if seen.quarantined >= limits.QUARANTINED_LIMIT else None


def _deltas_pile_up(seen: Status) -> bool:
    """Whether more wait than workers and estimators that run would ever leave: they merge long before."""
    return seen.deltas >= limits.DELTAS_LIMIT // 2 or seen.delta_bytes >= limits.DELTA_BYTES_LIMIT // 2
