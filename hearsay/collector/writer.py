"""A writer publishes batches in order; each is stored once, whatever happens to replies, servers and clocks.

Batches are numbered. A repeat is answered `duplicate`; after a server lost its last second the answer is `gap`, and
the writer sends again what it still has. Under back-pressure it waits. A server forgets a writer after a day of
silence, by the time it has observed, and says so: what was on its way then is given up rather than stored twice.
"""

import math
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

import redis

from hearsay.collector.errors import PublishRefused, ReportsLost, RoundClosed, SurveyClosed, UnknownSurvey
from hearsay.collector.limits import IN_FLIGHT_S, PUBLISH_BYTES, PUBLISH_ENTRIES, RESEND_WINDOW_S
from hearsay.collector.store.condition import is_disk_trouble
from hearsay.collector.store.durability import MEMORY, safest
from hearsay.collector.store.shard import Published, Shard

Entry = tuple[bytes, bytes]
SIMULATED = "simulated-"  # writers of simulated devices have names that begin so: PUBLISH counts their reports apart
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0


class _Batch:
    """A numbered batch, kept for a while after it was stored."""

    def __init__(self, number: int, entries: list[Entry], reports: int, round_number: int | None) -> None:
        self.number, self.entries, self.reports, self.round_number = number, entries, reports, round_number
        self.unsure = False  # it was sent and no answer came: the server may have it
        self.unanswered = False  # some attempt got no answer: a late copy of it may still reach the server
        self.abandoned = False  # its caller got PublishRefused and knows that it may be stored
        self.acknowledged = False  # the server had it, and can only lose it
        self.promised = False  # its caller knows that it is stored
        self.stored_at: float | None = None

    def reset(self) -> None:
        """The server does not have it."""
        self.unsure, self.acknowledged, self.stored_at = False, False, None


class Writer:
    """One process's way into one shard. Not for use by several threads at once.

    >>> opened = open_survey(url, "likes")
    >>> writer = Writer(opened.registered.shards[0])  # the same as opened.writer()
    >>> writer.publish([(b"r", Device(opened.survey).report("tea"))], reports=1)
    >>> writer.check()  # at the end of a run: whether the server still has everything
    >>> opened.close()
    """

    def __init__(
        self,
        shard: Shard,
        clock: Callable[[], float] = time.monotonic,
        stop: threading.Event | None = None,
        on_wait: Callable[[str], None] | None = None,
        simulated: bool = False,
        durable: str = MEMORY,
        may_leave: Callable[[], bool] = lambda: False,
    ) -> None:
        """`simulated`: its reports are those of simulated devices, which the server counts apart.

        `durable`: `publish` returns when a batch is in the server's memory, on its disk or on a replica, or where the
        survey asks for more. `may_leave`: asked where the server is away, whether to refuse rather than to wait."""
        self._durable = safest(durable, shard.survey.durable)
        self._checked = self._durable == MEMORY  # whether the server can keep what is promised
        self.shard, self._clock, self._name = shard, clock, SIMULATED if simulated else ""
        self._stop, self._may_leave, self._on_wait = stop or threading.Event(), may_leave, on_wait or (lambda _: None)
        self._batches: deque[_Batch] = deque()
        self._lost_with_round = 0  # entries that a server lost, and that came too late when they were sent again
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Take a new name; batches that are not stored go out under it."""
        self.identity = self._name + secrets.token_hex(8)
        self._number = 0
        self._safe = 0  # the last batch that is known to be as safe as promised
        self._settled_at = self._clock()
        self._seen_ms: int | None = None  # the observed time in the server's last answer; None: it never answered
        for batch in self._batches:
            self._number += 1
            batch.number = self._number
            batch.reset()

    def publish(
        self,
        entries: Sequence[Entry],
        reports: int,
        round_number: int | None = None,
        deadline_s: float | None = None,
    ) -> None:
        """Store entries of (field, payload) once; returns when they are stored. `reports` is how many they hold.

        Where the survey has rounds, all entries are of one. RoundClosed: it was closed before they were all stored, and
        those that were not are given up. A ReportsLost that names rounds is about earlier entries: these are stored.

        `deadline_s`: how long to wait for a server that is away, full or under pressure; 0: one attempt, None: for
        ever. PublishRefused then says why, when to try again, and which entries are not stored. A server that accepts
        the connection and never answers counts as away after `REPLY_S` (limits).
        """
        until = self._until(deadline_s)
        self._append(entries, reports, round_number, until)
        self._settle(until)
        self._tell_lost()

    def send(
        self,
        entries: Sequence[Entry],
        reports: int,
        round_number: int | None = None,
        deadline_s: float | None = None,
    ) -> bool:
        """The same, but it may return before the batch is safe, so that many are on their way; True: all are safe."""
        until = self._until(deadline_s)
        self._append(entries, reports, round_number, until)
        if self._durable == MEMORY or self._clock() - self._settled_at > IN_FLIGHT_S:
            self._settle(until)
        self._tell_lost()
        return self._durable == MEMORY or self._safe >= self._number

    def settle(self, deadline_s: float | None = None) -> None:
        """Wait until all that was sent is as safe as promised."""
        self._settle(self._until(deadline_s))
        self._tell_lost()

    def _settle(self, until: float | None) -> None:
        """Wait until the newest batch is safe; one that took over and has less is sent the rest again."""
        pause = FIRST_PAUSE_S
        while self._durable != MEMORY and self._safe < self._number:
            try:
                safe = self.shard.durable_up_to(self.identity, self._durable)
            except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, redis.exceptions.BusyLoadingError):
                pause = self._wait(PublishRefused.AWAY, pause, until)
                continue
            if safe is None:
                pause = self._wait(self._durable, pause, until)
                continue
            self._safe = max(self._safe, min(safe, self._number))
            if self._safe < self._number:
                self._batches[-1].stored_at = None
                self._drain(until)
        self._settled_at = self._clock()

    def _append(self, entries: Sequence[Entry], reports: int, round_number: int | None, until: float | None) -> None:
        """Store entries in the server's memory."""
        remaining, chunks = reports, _chunks(entries)
        for position, chunk in enumerate(chunks):
            share = remaining if position == len(chunks) - 1 else reports * len(chunk) // len(entries)
            remaining -= share
            self._number += 1
            batch = _Batch(self._number, chunk, share, round_number)
            self._batches.append(batch)
            try:
                self._drain(until)
            except RoundClosed as closed:
                closed.entries += sum(map(len, chunks[position + 1 :]))
                raise
            except PublishRefused as refusal:
                self._withdraw(batch, refusal)
                refusal.entries += sum(map(len, chunks[position + 1 :]))
                raise

    def _withdraw(self, batch: _Batch, refusal: PublishRefused) -> None:
        """Take the newest batch back, which the server has not; one that it may have stays until that is settled."""
        if batch.unsure or batch.unanswered:
            batch.abandoned = True
            refusal.unsure = len(batch.entries)
            return
        self._batches.remove(batch)
        self._number -= 1
        refusal.entries = len(batch.entries)

    def _drain(self, until: float | None) -> None:
        """Send every batch that is not stored yet, oldest first."""
        pause = FIRST_PAUSE_S
        while True:
            batch = next((each for each in self._batches if each.stored_at is None), None)
            if batch is None:
                break
            try:
                answer = self._send(batch)
            except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, redis.exceptions.BusyLoadingError):
                batch.unanswered |= batch.unsure
                pause = self._wait(PublishRefused.AWAY, pause, until)
                continue
            except redis.exceptions.OutOfMemoryError:
                pause = self._wait("memory", pause, until)
                continue
            except redis.exceptions.ResponseError as error:
                if not is_disk_trouble(error):
                    raise
                pause = self._wait("disk", pause, until)  # the server cannot write its log: it takes nothing for now
                continue
            match answer.status:
                case "ok" | "duplicate":
                    batch.stored_at, batch.acknowledged, batch.promised = self._clock(), True, True
                    pause = FIRST_PAUSE_S
                case "gap":
                    self._resend_after(answer.last)
                case "forgotten":
                    self._begin_after_silence()
                case "pressure":
                    pause = self._wait(answer.cause, pause, until)
                case "closed" if answer.cause == "round" and batch.round_number is not None:
                    if late := self._give_up(batch.round_number):
                        raise RoundClosed(
                            f"round {batch.round_number} of survey {self.shard.survey.name} takes no more reports",
                            batch.round_number,
                            late,
                        )
                case "closed":
                    raise SurveyClosed(f"survey {self.shard.survey.name} is closed and takes no more reports")
                case _:
                    raise UnknownSurvey(f"survey {self.shard.survey.name} is not registered any more")
        self._let_go()

    def _tell_lost(self) -> None:
        """Raise ReportsLost for entries that were too late when they were sent again; all others are stored by now."""
        if lost := self._lost_with_round:
            self._lost_with_round = 0
            raise ReportsLost(
                f"the server lost {lost} entries of {self.shard.survey.name} that it had taken, and their rounds are "
                "over"
            )

    def _send(self, batch: _Batch) -> Published:
        """One attempt. Before the first batch the server is asked what time has gone by: from then on it can tell
        whether it may have forgotten this writer."""
        if not self._checked:
            self.shard.check_durable(self._durable)
            self._checked = True
        if self._seen_ms is None:
            greeting = self.shard.publish(self.identity, 0, [], 0)
            if greeting.status != "hello":
                return greeting
            self._seen_ms = greeting.observed_ms
        was_unsure, batch.unsure = batch.unsure, True
        answer = self.shard.publish(
            self.identity, batch.number, batch.entries, batch.reports, batch.round_number, self._seen_ms
        )
        if answer.status == "forgotten":
            batch.unsure = was_unsure
        else:  # it is stored, or it was refused
            batch.unsure, self._seen_ms = False, answer.observed_ms
        return answer

    def _let_go(self) -> None:
        """The server has everything now: drop batches that were stored so long ago that it cannot lose them."""
        oldest = self._clock() - RESEND_WINDOW_S
        while self._batches and self._batches[0].stored_at is not None and self._batches[0].stored_at < oldest:
            if self._durable != MEMORY and self._batches[0].number > self._safe:
                break
            self._batches.popleft()

    def _begin_after_silence(self) -> None:
        """The server forgot us. What was stored stays stored; what was on its way may be, and is not sent again."""
        lost = [batch for batch in self._batches if batch.unsure and not (batch.acknowledged or batch.abandoned)]
        self._batches = deque(batch for batch in self._batches if not batch.unsure and not batch.acknowledged)
        self._begin_anew()
        if lost:
            raise ReportsLost(
                f"the server forgot this writer of {self.shard.survey.name} after a silence of more than a day: "
                f"{len(lost)} batches on their way may not be stored, and are not sent again"
            )

    def _resend_after(self, last: int) -> None:
        """The server knows our batches up to `last` only: mark the later ones as not stored."""
        lost_from = last + 1
        if self._batches[0].number > lost_from:
            # Older ones are missing too. They were stored longer ago than any server may lose.
            lost = self._batches[0].number - lost_from
            self._begin_anew()
            raise ReportsLost(
                f"the server lost {lost} batches of {self.shard.survey.name} that the writer no longer has"
            )
        for batch in self._batches:
            if batch.number >= lost_from:
                batch.reset()

    def _give_up(self, round_number: int) -> int:
        """Drop batches that were not stored before their round was closed, and give later ones their numbers.

        Answers how many of their entries no caller knows about: neither stored nor refused before."""
        waiting = [batch for batch in self._batches if batch.stored_at is None]
        late = [batch for batch in waiting if batch.round_number == round_number]
        self._number -= len(waiting)
        self._batches = deque(batch for batch in self._batches if batch not in late)
        for batch in self._batches:
            if batch.stored_at is None:
                self._number += 1
                batch.number = self._number
        self._lost_with_round += sum(len(batch.entries) for batch in late if batch.promised)
        return sum(len(batch.entries) for batch in late if not batch.promised and not batch.abandoned)

    def check(self, deadline_s: float | None = None) -> None:
        """Ask whether the server still has everything sent lately, and repair it: for the end of a run.

        A batch number that is already stored answers `duplicate`; one that was lost answers `ok` or `gap`.
        PublishRefused: that could not be settled before the deadline; the next call goes on with it.
        """
        if self._batches:
            self._batches[-1].stored_at = None
            self._drain(self._until(deadline_s))
            self._settle(self._until(deadline_s))
        self._tell_lost()

    def close(self, deadline_s: float | None = None) -> None:
        """The end of a run: check, and let the server forget us soon instead of remembering us for a day."""
        self.check(deadline_s)
        with suppress(redis.exceptions.RedisError):  # then it remembers us for a day
            self.shard.leave(self.identity)
        self._batches.clear()
        self._begin_anew()

    def _until(self, deadline_s: float | None) -> float | None:
        return None if deadline_s is None else self._clock() + deadline_s

    def _wait(self, cause: str, pause: float, until: float | None) -> float:
        """Pause before the next attempt; PublishRefused after `stop` is set, or after the deadline."""
        self._on_wait(cause)
        left = math.inf if until is None else until - self._clock()
        longer = min(2 * pause, LONGEST_PAUSE_S)
        name = self.shard.survey.name
        if left <= 0 or (cause == PublishRefused.AWAY and self._may_leave()):
            raise PublishRefused(
                f"survey {name} takes no reports now because of {cause}; try again in {longer:g} s", cause, longer
            )
        if self._stop.wait(min(pause, left)):
            raise PublishRefused(f"the writer of survey {name} was stopped", PublishRefused.STOPPED)
        return longer


def _chunks(entries: Sequence[Entry]) -> list[list[Entry]]:
    chunks: list[list[Entry]] = []
    size = 0
    if entries and isinstance(entries[0], bytes):
        raise TypeError('entries must be pairs of field and payload, such as (b"r", report); got plain reports')
    for entry in entries:
        if not chunks or len(chunks[-1]) >= PUBLISH_ENTRIES or size + len(entry[1]) > PUBLISH_BYTES:
            chunks.append([])
            size = 0
        chunks[-1].append(entry)
        size += len(entry[1])
    return chunks
