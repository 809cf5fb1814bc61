"""The writers of a survey's shards, which follow when the survey gets more shards or fewer.

Where the server of a shard is away, reports are dealt to the others; what was on its way there waits with its writer.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial

from redis.exceptions import RedisError

from hearsay.collector.errors import CollectorError, PublishRefused
from hearsay.collector.store.registry import Registered
from hearsay.collector.store.shard import Shard
from hearsay.collector.writer import Entry, Writer

FOLLOW_S = 2.0  # how often the registry is asked; a change is followed within five seconds
Make = Callable[[Shard, Callable[[], bool]], Writer]
Send = Callable[[Writer, Sequence[Entry], Sequence[int]], object]  # entries, and how many reports each has


class Writers:
    """One writer for each active shard. Those of retired shards take no more, and are kept to be checked at the end."""

    def __init__(self, registered: Registered, make: Make, clock: Callable[[], float] = time.monotonic) -> None:
        """`make`: a writer of a shard, given when it may leave a server that is away."""
        self._registered, self._make, self._clock = registered, make, clock
        self._made: dict[int, Writer] = {}  # by the shard's number
        self._turn = 0
        self._ends = False
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

    def answering(self) -> list[Writer]:
        """The writers of active shards whose servers answer; all of them where none does."""
        writers = self.follow()
        return [writer for writer in writers if not writer.shard.node.away] or writers

    def next(self) -> Writer:
        """One of these after the other."""
        writers = self.answering()
        self._turn += 1
        return writers[self._turn % len(writers)]

    def send(self, writer: Writer, entries: Sequence[Entry], counts: Sequence[int], send: Send) -> None:
        """Give entries to a writer; where its server is away, what is not on its way goes to another one.

        `counts`: how many reports each entry has. An error is about the last entries, as it is of a writer.
        """
        left = len(entries)
        while left:
            try:
                send(writer, entries[len(entries) - left :], counts[len(entries) - left :])
                return
            except PublishRefused as refusal:
                if refusal.cause != PublishRefused.AWAY:
                    raise
                left, writer = refusal.entries, self.next()

    def check(self) -> None:
        """Wait until the servers have all that was sent to them, also those that are away."""
        self._end(Writer.check)

    def close(self) -> None:
        """The same at the end of a run."""
        self._end(Writer.close)

    def _end(self, end: Callable[[Writer], None]) -> None:
        self._ends = True
        for writer in self.every:
            end(writer)
        self._ends = False

    def _may_leave(self, shard: Shard) -> bool:
        """Whether the server of another shard answers."""
        others = [writer.shard.node for writer in self.active]
        return not self._ends and any(not node.away for node in others if node is not shard.node)

    def _of(self, registered: Registered) -> list[Writer]:
        for shard in registered.active:
            if shard.shard not in self._made:
                self._made[shard.shard] = self._make(shard, partial(self._may_leave, shard))
        return [self._made[shard.shard] for shard in registered.active]
