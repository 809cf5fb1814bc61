"""Compaction: the deltas of windows are merged into their accumulators, by whichever worker takes the job.

MERGE is fenced by the accumulator's last merge: of two workers that read the same, the second changes nothing. A job
that never comes costs nothing either: the deltas still count, and the collector asks again.
"""

import logging
from collections.abc import Sequence

from hearsay.collector.errors import CollectorError
from hearsay.collector.queue import MergeArguments
from hearsay.collector.store.registry import Registered
from hearsay.workers.context import Context, current

_LOG = logging.getLogger("hearsay.worker")


def merge_windows(merges: Sequence[Sequence[object]]) -> str:
    """Merge what waits in these windows; answers how many were merged. One that fails stops no other."""
    context = current()
    asked = [MergeArguments(*each) for each in merges]  # type: ignore[arg-type]
    surveys = context.registry.several(sorted({each.survey for each in asked}))
    merged = 0
    for each in asked:
        try:
            merged += _merge(context, surveys.get(each.survey), each)
        except CollectorError as error:  # of this window
            _LOG.error("window %s of %s is not merged: %s", each.window, each.survey, error)
    return f"{merged} of {len(asked)}"


def _merge(context: Context, registered: Registered | None, asked: MergeArguments) -> bool:
    """False: there is nothing to merge any more, or another process was first."""
    shard = None if registered is None else registered.by_number.get(asked.shard)
    if shard is None or shard.survey.tag8 != asked.tag8:
        return False  # deleted, and perhaps added again
    seen = shard.look().windows.get(shard.survey.windows.named(asked.window))
    if seen is None or not seen.deltas:
        return False
    return shard.compact(shard.read(asked.window, seen=seen), context.agreement.forms.accumulators, asked.pack)
