"""Cutting: the shards of a pass are asked together, and small ranges share jobs where every worker knows such jobs.

Where jobs wait, a range that is not full waits longer to be cut: the same entries then make fewer ranges, and a backlog
makes them larger rather than more.
"""

import time
from collections.abc import Callable, Iterator, Sequence

from hearsay.collector import limits
from hearsay.collector.queue import MANY_FORM, FoldQueue, enqueue, enqueue_many, waiting_count
from hearsay.collector.store.node import ask
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.shard import Shard

CUTS_PER_PASS = 32  # of one shard; then the collector does its chores
YOUNG_SHARE = 0.5  # of the age at which a range is cut: so long a shard with small ranges is not asked again
_Name = tuple[str, str, int]  # of a shard: survey, tag and number


def cut_age_ms(jobs: int) -> int:
    """How old the oldest entry of a range that is not full must be, while so many jobs wait."""
    return min(limits.CUT_AGE_MS * (1 + jobs), limits.LONGEST_CUT_AGE_MS)


class Cutting:
    """What the collector knows from pass to pass."""

    def __init__(
        self,
        queue: FoldQueue,
        clock: Callable[[], float] = time.monotonic,
        heard: Callable[[Shard, Range | str | Exception], None] = lambda shard, answer: None,
    ) -> None:
        self._queue, self._clock, self._heard = queue, clock, heard
        self._turn = 0
        self._small: set[_Name] = set()  # shards whose last range was small
        self._not_before: dict[_Name, float] = {}  # when to ask them again

    def once(self, shards: Sequence[Shard], form: int) -> bool:
        """Cut what is ready and enqueue it; answers whether to go on at once. `form`: of jobs that workers know."""
        waiting = waiting_count(self._queue)
        batches, age_ms = Batches(self._queue, form), cut_age_ms(waiting)
        asked, cut, failure = 0, 0, None
        due = self._due(shards)
        for _ in range(CUTS_PER_PASS):
            again: list[Shard] = []
            while due and (room := limits.QUEUE_SHORT - waiting - batches.jobs) > 0:
                some, due = due[:room], due[room:]
                asked += len(some)
                for shard, answer in _cut_together(some, age_ms):
                    if isinstance(answer, Range):
                        batches.add(shard, answer)
                        cut += 1
                        if _is_full(answer):  # else there is no more, or the next pass takes it
                            again.append(shard)
                    elif isinstance(answer, Exception):
                        failure = failure or answer
                    self._remember(shard, answer, age_ms)
            if due or not again:
                break
            due = again
        batches.flush()
        # Begin with another one each time: a busy shard that fills the queue must not starve those behind it.
        self._turn += max(asked, 1) if due else 1
        if failure is not None:
            raise failure
        return cut > 0 and not due

    def _due(self, shards: Sequence[Shard]) -> list[Shard]:
        turn, now = self._turn % max(len(shards), 1), self._clock()
        return [shard for shard in (*shards[turn:], *shards[:turn]) if self._not_before.get(_name(shard), now) <= now]

    def _remember(self, shard: Shard, answer: Range | str | Exception, age_ms: int) -> None:
        """A shard that makes small ranges and has nothing old enough need not be asked in every pass."""
        self._heard(shard, answer)
        name = _name(shard)
        self._not_before.pop(name, None)
        if isinstance(answer, Range):
            (self._small.add if is_small(shard, answer) else self._small.discard)(name)
        elif answer == "young" and name in self._small:
            self._not_before[name] = self._clock() + YOUNG_SHARE * age_ms / 1_000


def _name(shard: Shard) -> _Name:
    return shard.survey.name, shard.survey.tag8, shard.shard


def _cut_together(shards: Sequence[Shard], age_ms: int) -> Iterator[tuple[Shard, Range | str | Exception]]:
    """One call for each server. An error stands for its own shard: what others have cut must be enqueued."""
    replies = ask((shard.node, shard.cut_call(age_ms)) for shard in shards)
    for shard, reply in zip(shards, replies, strict=True):
        yield shard, reply if isinstance(reply, Exception) else shard.cut_from(reply)


def _is_full(stretch: Range) -> bool:
    """Whether more may follow a range at once."""
    return stretch.entries >= limits.RANGE_FRAMES or 2 * stretch.size >= limits.RANGE_BYTES


class Batches:
    """The ranges of one pass on their way into jobs. `form`: the newest form of jobs that all workers know."""

    def __init__(self, queue: FoldQueue, form: int) -> None:
        self._queue, self._alone = queue, form < MANY_FORM
        self._ranges: list[tuple[Shard, Range]] = []
        self.jobs = 0  # enqueued so far
        self._bytes = self._cells = 0

    def add(self, shard: Shard, stretch: Range) -> None:
        """Put a range into the job that is being filled, or into one of its own."""
        if self._alone or not is_small(shard, stretch):
            self._enqueue([(shard, stretch)])
            return
        if self._ranges and (
            len(self._ranges) >= limits.JOB_RANGES
            or self._bytes + stretch.size > limits.JOB_BYTES
            or self._cells + shard.cells > limits.JOB_CELLS
        ):
            self.flush()
        self._ranges.append((shard, stretch))
        self._bytes += stretch.size
        self._cells += shard.cells

    def flush(self) -> None:
        """Enqueue what is left."""
        if self._ranges:
            self._enqueue(self._ranges)
        self._ranges, self._bytes, self._cells = [], 0, 0

    def _enqueue(self, ranges: list[tuple[Shard, Range]]) -> None:
        """A full queue takes no job: workers then look for ranges themselves, and these are in their ledgers."""
        self.jobs += 1
        if len(ranges) == 1:
            enqueue(self._queue, *ranges[0])
        else:
            enqueue_many(self._queue, ranges)


def is_small(shard: Shard, stretch: Range) -> bool:
    """Whether at least four such ranges go into a job."""
    return 4 * stretch.size <= limits.JOB_BYTES and 4 * shard.cells <= limits.JOB_CELLS
