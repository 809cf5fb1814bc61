"""The writers of a survey's shards, which follow when the survey gets more shards or fewer."""

import time
from collections.abc import Callable

from redis.exceptions import RedisError

from hearsay.collector.errors import CollectorError
from hearsay.collector.store.registry import Registered
from hearsay.collector.store.shard import Shard
from hearsay.collector.writer import Writer

FOLLOW_S = 2.0  # how often the registry is asked; a change is followed within five seconds


class Writers:
    """One writer for each active shard. Those of retired shards take no more, and are kept to be checked at the end."""

    def __init__(
        self, registered: Registered, make: Callable[[Shard], Writer], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._registered, self._make, self._clock = registered, make, clock
        self._made: dict[int, Writer] = {}  # by the shard's number
        self._next = clock() + FOLLOW_S
        self.active = self._of(registered)

    @property
    def every(self) -> list[Writer]:
        """Also those of shards that were retired meanwhile."""
        return list(self._made.values())

    def follow(self) -> list[Writer]:
        """The writers of the shards that are active now."""
        if self._clock() >= self._next:
            self._next = self._clock() + FOLLOW_S
            try:
                self._registered = self._registered.again()
                self.active = self._of(self._registered)
            except (RedisError, CollectorError):
                pass  # publishing will tell what is wrong
        return self.active

    def _of(self, registered: Registered) -> list[Writer]:
        for shard in registered.active:
            if shard.shard not in self._made:
                self._made[shard.shard] = self._make(shard)
        return [self._made[shard.shard] for shard in registered.active]
