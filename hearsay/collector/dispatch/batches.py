"""Small ranges travel together: one job holds many of them, where every worker knows such jobs."""

from hearsay.collector import limits
from hearsay.collector.queue import MANY_FORM, FoldQueue, enqueue, enqueue_many
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.shard import Shard


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
