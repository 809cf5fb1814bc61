"""More shards for a survey, or fewer, while reports come in."""

from hearsay.collector.errors import SurveyConflict
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.registration import MAXIMUM_SHARDS

TRIES = 10


def set_shards(registry: Registry, name: str, shards: int) -> Registered:
    """Give a survey another number of active shards; those that are retired still count."""
    if not 1 <= shards <= MAXIMUM_SHARDS:
        raise SurveyConflict(f"shards must be in 1..{MAXIMUM_SHARDS}, got {shards}")
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
        for number in changed.active:
            if number not in known.by_number:  # opened before anybody can hear of it
                registry.shard(known.survey, number).begin_as(first)
        if registry.bind(known, changed):
            return registry.get(name)
    raise SurveyConflict(f"survey {name} is being changed by somebody else; try again")
