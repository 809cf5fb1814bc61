"""Folding without the queue: where its server is full, jobs can neither be enqueued nor taken, and yet folding is what
frees memory.

The ledger knows every range that is out. Workers take them from there, in any order: whoever commits first counts, and
what another one folded too is refused.
"""

import logging
import random
import threading
from collections.abc import Callable

from hearsay.collector.errors import CollectorError
from hearsay.workers.context import Context
from hearsay.workers.fold import fold_range

_LOG = logging.getLogger("hearsay.worker")
LOOK_S = 0.2


def fold_from_ledger(context: Context, is_full: Callable[[], bool], stop: threading.Event) -> int:
    """Fold what is out for as long as the queue's server is full; answers how many ranges this worker committed."""
    committed = 0
    while not stop.is_set() and is_full():
        committed += _sweep(context)
        stop.wait(LOOK_S)
    return committed


def _sweep(context: Context) -> int:
    """Once over every range that is out. Shuffled: several workers do this, and one range may kill each of them."""
    out = [
        (shard, stretch)
        for registered in context.registry.list()
        for shard in registered.shards
        for stretch in shard.ranges()
        if not stretch.quarantined
    ]
    random.shuffle(out)
    committed = 0
    for shard, stretch in out:
        survey = shard.survey
        try:
            committed += fold_range(survey.name, survey.tag8, shard.shard, stretch.seq, stretch.nonce) == "ok"
        except CollectorError as error:
            _LOG.error("range %d of %s cannot be folded: %s", stretch.seq, survey.name, error)
    return committed
