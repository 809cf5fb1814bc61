"""Compaction: the collector finds the windows whose deltas should be merged, and asks the workers to merge them."""

import time
from collections.abc import Callable, Sequence

from hearsay.collector import limits
from hearsay.collector.queue import FoldQueue, MergeArguments, enqueue_merges
from hearsay.collector.store.look import Look
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.windows import Window


class Merging:
    """Asks for merges, and remembers when: the same merge is asked for again only after the lease of a job."""

    def __init__(self, queue: FoldQueue, lease_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._queue, self._lease_s, self._clock = queue, lease_s, clock
        self._asked: dict[MergeArguments, float] = {}

    def ask(self, looks: Sequence[tuple[Shard, Look]]) -> int:
        """Enqueue jobs for what is due, small windows many to a job; returns how many windows.

        The limits of a job are those of one with many ranges.
        """
        now = self._clock()
        self._asked = {merge: at for merge, at in self._asked.items() if at + self._lease_s > now}
        job: list[MergeArguments] = []
        cells = asked = 0
        for shard, look in looks:
            for window in due(shard, look):
                merge = MergeArguments.of(shard, window.name, look.is_final(window))
                if merge in self._asked:
                    continue
                if job and (len(job) >= limits.JOB_RANGES or cells + shard.cells > limits.JOB_CELLS):
                    enqueue_merges(self._queue, job)
                    job, cells = [], 0
                job.append(merge)
                cells += shard.cells
                asked += 1
                self._asked[merge] = now
        if job:
            enqueue_merges(self._queue, job)
        return asked


def due(shard: Shard, look: Look) -> list[Window]:
    """The windows of a shard whose deltas should be merged now."""
    accumulator_bytes = 8 * shard.cells
    share_bytes = accumulator_bytes // limits.MERGE_SHARE
    large = look.status.delta_bytes > max(min(share_bytes, limits.MERGE_BYTES), limits.MERGE_LEAST_BYTES)
    waiting = [(window, seen.deltas) for window, seen in look.windows.items() if seen is not None and seen.deltas]
    return [
        window for window, deltas in waiting if large or len(deltas) >= limits.MERGE_DELTAS or look.is_final(window)
    ]
