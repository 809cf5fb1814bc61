"""Many small ranges in one job: read together, folded one by one, committed together.

Each range still has its own lease, nonce and COMMIT: one that is gone, damaged or refused stops no other. A range that
kills its worker takes the others of its job with it once; at its second attempt every range has a job to itself.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redis.exceptions import RedisError
from rq.timeouts import BaseTimeoutException

from hearsay.collector.errors import CollectorError
from hearsay.collector.queue import FoldArguments
from hearsay.collector.store.node import Node
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.shard import Shard
from hearsay.workers.context import Context, current
from hearsay.workers.fold import fold_entries

_LOG = logging.getLogger("hearsay.worker")


@dataclass
class _Outcome:
    """How many ranges were committed, and why others were not."""

    committed: int = 0
    failed: int = 0

    def fail(self, ranges: int, why: str) -> None:
        self.failed += ranges
        _LOG.error("%d of a job's ranges cannot be folded: %s", ranges, why)


def fold_many(ranges: Sequence[Sequence[object]]) -> str:
    """Fold and commit these ranges; answers how many. An error after the others were committed, where one failed."""
    context, outcome = current(), _Outcome()
    for node, asked in _by_node(context, [FoldArguments(*each) for each in ranges]):  # type: ignore[arg-type]
        try:
            _fold_on(node, asked, context, outcome)
        except RedisError as error:  # this server: the ranges of others go on
            outcome.fail(len(asked), type(error).__name__)
    if outcome.failed:
        raise CollectorError(f"{outcome.failed} of {len(ranges)} ranges of a job could not be folded")
    return f"{outcome.committed} of {len(ranges)}"


def _by_node(
    context: Context, ranges: Sequence[FoldArguments]
) -> Iterator[tuple[Node, list[tuple[Shard, FoldArguments]]]]:
    """The ranges whose surveys are still there, with the server that each is on."""
    surveys = context.registry.several(sorted({each.survey for each in ranges}))
    groups: dict[int, tuple[Node, list[tuple[Shard, FoldArguments]]]] = {}
    for each in ranges:
        registered = surveys.get(each.survey)
        shard = None if registered is None else registered.by_number.get(each.shard)
        if shard is not None and shard.survey.tag8 == each.tag8:
            groups.setdefault(id(shard.node), (shard.node, []))[1].append((shard, each))
    yield from groups.values()


def _fold_on(node: Node, asked: list[tuple[Shard, FoldArguments]], context: Context, outcome: _Outcome) -> None:
    """Three calls: the ledger's rows, the entries, the commits."""
    started = time.monotonic()
    records = node.many([shard.range_command(each.seq) for shard, each in asked])
    ranges = [
        (shard, stretch)
        for (shard, each), record in zip(asked, records, strict=True)
        if record is not None and (stretch := Range.parse(each.seq, record)).nonce == each.nonce
    ]
    if not ranges:
        return
    replies = node.many([shard.entries_command(stretch) for shard, stretch in ranges])
    folded, calls = [], []
    for (shard, stretch), entries in zip(ranges, replies, strict=True):
        try:
            checked = shard.checked(stretch, entries)
            commit = fold_entries(shard, stretch, checked, context.keep_payloads, context.agreement.forms.deltas)
            calls.append(shard.commit_call(stretch, commit))
            folded.append((shard, stretch))
        except (BaseTimeoutException, RedisError):
            raise
        except Exception as error:  # of this range
            if not isinstance(error, CollectorError) or shard.range(stretch.seq) is not None:
                outcome.fail(1, f"range {stretch.seq} of {shard.survey.name}: {error}")
    answers = node.many(calls, raise_errors=False)
    for (shard, stretch), answer in zip(folded, answers, strict=True):
        if answer == b"ok":
            outcome.committed += 1
        elif isinstance(answer, RedisError) or answer == b"parts":
            outcome.fail(1, f"range {stretch.seq} of {shard.survey.name}: {answer!r}")
    context.observe_fold(time.monotonic() - started, outcome.committed)
