"""More shards for a survey, or fewer, while reports come in."""

import time
from dataclasses import replace

from hearsay.collector.errors import ServerError, SurveyConflict
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.registration import MAXIMUM_SHARDS

TRIES = 10
KEPT_WITHIN_S = 30.0  # a replica that comes back has to read all first


def set_shards(registry: Registry, name: str, shards: int) -> Registered:
    """Give a survey another number of active shards; those that are retired still count."""
    if not 1 <= shards <= MAXIMUM_SHARDS:
        raise SurveyConflict(what="shards", expected=f"in 1..{MAXIMUM_SHARDS}", got=shards)
    for _ in range(TRIES):
        known = registry.get(name)
        first = known.shards[0]
        if shards < len(known.active) and first.rounds().open:
            raise SurveyConflict(
                f"survey {name} has an open round; its shards can be retired when the last one is over"
            )
        changed = known.registration.with_shards(shards, first.now_ms())
        if changed == known.registration:
            return known
        registry.check_capacity(known.survey, len(changed.numbers))
        added = tuple(number for number in changed.active if number not in known.by_number)
        if added:
            _count(registry, known, added)
        elif registry.bind(known, changed):
            return registry.get(name)
    raise SurveyConflict(f"survey {name} is being changed by somebody else; try again")


def _count(registry: Registry, known: Registered, added: tuple[int, ...]) -> None:
    """Open new shards and let them count, before writers hear of them.

    A server that fails over may forget its last moment: what a writer has stored in a shard that nobody knows of any
    more would be lost. Therefore the new shards are first registered as retired ones, until that is sure to be kept.
    """
    for number in added:
        registry.shard(known.survey, number).begin_as(known.shards[0])
    row = known.registration
    if not registry.bind(known, replace(row, retired=(*row.retired, *added))):
        return
    deadline = time.monotonic() + KEPT_WITHIN_S
    for kept in (registry.is_kept, *(registry.shard(known.survey, number).is_kept for number in added)):
        while not kept():
            if time.monotonic() > deadline:
                raise ServerError(
                    f"the new shards of {known.survey.name} are not on disk and on a replica yet; nothing was changed, "
                    "try again"
                )
