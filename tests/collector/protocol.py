"""The protocol as a state machine: real scripts on a real server, and everything that can happen to them in any order.

Every report falls into a bucket of its own, so that at any moment a bucket with 2 is a double count, and at the end,
when writers have checked and everything is drained, a bucket with 0 is a loss.
"""

from collections.abc import Callable

import numpy as np
import redis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hearsay.collector import limits
from hearsay.collector.errors import ReportsLost
from hearsay.collector.store.client import Client
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.reading import Reading
from hearsay.collector.store.registry import Registered
from hearsay.collector.store.shard import Commit, Published, Shard
from hearsay.collector.writer import Writer
from hearsay.workers.fold import fold_entries
from tests.clock import Clock
from tests.pipeline import Tail, buckets, cut_all, fold, frame, singles, watched

BUCKETS = 400
WINDOW = "1h"
HOUR_S = 3_600


class Lossy:
    """A shard some of whose replies are lost on the way."""

    def __init__(self, shard: Shard) -> None:
        self._shard, self.survey, self.lose = shard, shard.survey, 0

    def publish(self, *words: object) -> Published:
        answer = self._shard.publish(*words)  # type: ignore[arg-type]
        if self.lose:
            self.lose -= 1
            raise redis.exceptions.ConnectionError("reply lost")
        return answer

    def leave(self, writer: str) -> None:
        self._shard.leave(writer)


class Protocol(RuleBasedStateMachine):
    """PUBLISH, CUT, COMMIT, MERGE, TRIM and REISSUE, by writers, workers, collectors and estimators that pause."""

    def __init__(self, client: Client, prefix: str, clock: Clock) -> None:
        super().__init__()
        client.flushall()
        self.client, self.clock = client, clock
        self.registered: Registered = buckets(client, prefix, BUCKETS, window={"every": WINDOW})
        self.store = self.registered.shards[0]
        self.lossy = Lossy(self.store)
        self.writers = [self.writer(), self.writer()]
        self.next_value = 0
        self.sure: set[int] = set()  # published: must be counted once in the end
        self.unsure: set[int] = set()  # given up by a writer that said so: may be counted once
        self.ranges: list[Range] = []  # as some collector or worker remembers them
        self.commits: list[tuple[Range, Commit]] = []  # folded, by workers that paused before COMMIT
        self.readings: list[Reading] = []  # of estimators that paused before MERGE
        self.synced = Tail(client)  # what the server's log on disk holds

    def writer(self) -> Writer:
        return Writer(self.lossy, clock=lambda: 0.0)  # type: ignore[arg-type]

    def attempt(self, action: Callable[[], object], values: set[int]) -> None:
        try:
            action()
            self.sure |= values
        except ReportsLost:
            self.unsure |= values

    @rule(which=st.integers(0, 1), count=st.integers(1, 12), framed=st.booleans(), lost=st.integers(0, 2))
    def publish(self, which: int, count: int, framed: bool, lost: int) -> None:
        values = set(range(self.next_value, min(self.next_value + count, BUCKETS)))
        self.next_value += len(values)
        self.lossy.lose = lost
        if values:
            entries = (frame if framed else singles)(self.store, sorted(values))
            self.attempt(lambda: self.writers[which].publish(entries, len(values)), values)
        self.lossy.lose = 0

    @rule(which=st.integers(0, 1))
    def end_writer(self, which: int) -> None:
        """It checks, and says that it ends; everything it stored is on disk by the time another one comes."""
        self.attempt(self.writers[which].close, set())
        self.writers[which] = self.writer()
        self.synced = Tail(self.client)

    @rule()
    def stray(self) -> None:
        """Somebody appends an entry by hand. It is on disk at once, since nobody would send it again."""
        if self.next_value < BUCKETS:
            self.client.xadd(self.store.keys.stream, dict(singles(self.store, [self.next_value])))
            self.sure.add(self.next_value)
            self.next_value += 1
            self.synced = Tail(self.client)

    @rule()
    def cut(self) -> None:
        self.ranges += cut_all(self.store)

    @precondition(lambda self: self.ranges)
    @rule(data=st.data())
    def fold(self, data: st.DataObject) -> None:
        """Any delivery of any job that was ever enqueued, also twice."""
        found = data.draw(st.sampled_from(self.ranges))
        assert fold(self.store, found) in ("ok", "gone")

    @precondition(lambda self: self.ranges)
    @rule(data=st.data())
    def fold_and_pause(self, data: st.DataObject) -> None:
        found = data.draw(st.sampled_from(self.ranges))
        held = self.store.range(found.seq)
        if held is not None and held.nonce == found.nonce:
            self.commits.append((found, fold_entries(self.store, found, self.store.entries(found), False)))

    @precondition(lambda self: self.commits)
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        assert self.store.commit(*data.draw(st.sampled_from(self.commits))) in ("ok", "gone", "stale")

    @precondition(lambda self: self.ranges)
    @rule(data=st.data())
    def reissue(self, data: st.DataObject) -> None:
        found = data.draw(st.sampled_from(self.ranges))
        self.store.reissue(found, lease_s=0.0, retry=True)

    @precondition(lambda self: self.registered.look().windows)
    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        window = data.draw(st.sampled_from([window.name for window in self.registered.look().windows]))
        self.readings.append(self.store.read(window))

    @precondition(lambda self: self.readings)
    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        self.store.compact(self.readings.pop(data.draw(st.integers(0, len(self.readings) - 1))))

    @rule()
    def trim(self) -> None:
        self.store.trim()

    @rule(hours=st.sampled_from([-26, -1, 1, 26]))
    def turn_clock(self, hours: int) -> None:
        self.clock.turn(hours * HOUR_S)

    @rule(days=st.sampled_from([0.01, 0.5, 1.1, 3.0]))
    def time_goes_by(self, days: float) -> None:
        """Silence, or a partition, after which the server may have forgotten its writers.

        By then all is on disk; and whoever has something to repair has done it within the seconds that it is held.
        """
        for writer in self.writers:
            self.attempt(writer.check, set())
        watched(self.client, self.store, days * limits.DEDUP_WINDOW_S)
        for _ in range(3):
            self.store.trim()
        self.synced = Tail(self.client)

    @rule()
    def sync(self) -> None:
        self.synced = Tail(self.client)

    @rule()
    def lose_the_tail(self) -> None:
        """The server dies and comes back with what was on disk; writers find out when they next speak to it."""
        self.synced.lose()

    @invariant()
    def nothing_is_counted_twice(self) -> None:
        assert int(self.total().max(initial=0)) <= 1

    def total(self) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        total = np.zeros(BUCKETS, dtype=np.int64)
        for window in self.registered.look().windows:
            total += self.store.read(window.name).state["hist"]
        return total

    def teardown(self) -> None:
        for writer in self.writers:
            self.attempt(writer.check, set())
        for found in cut_all(self.store):
            assert fold(self.store, found) == "ok"
        for found in self.store.ranges():
            assert fold(self.store, found) == "ok"
        for window in self.registered.look().windows:
            assert self.store.compact(self.store.read(window.name))
        self.store.trim()
        total = self.total()
        missing = sorted(value for value in self.sure - self.unsure if total[value] != 1)
        assert missing == [], f"not counted once: {missing}"
        assert int(total.max(initial=0)) <= 1
        assert int(total.sum()) <= len(self.sure | self.unsure)
