"""Publishes batches of requests to one shard: each request is stored once, whatever happens to replies and servers.

Requests' ids make every repetition harmless, so that a batch may be sent again whenever its fate is unknown. Batches
are also numbered: a server that lost its last second has a smaller number than this process. Then everything stored
within the last seconds is sent again, and the ids tell which of it the server still has.
"""

import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import redis

from hearsay.collector.gateway.batch import Batch
from hearsay.collector.gateway.ids import expired
from hearsay.collector.gateway.refusals import AGAIN, Refusal
from hearsay.collector.limits import RESEND_WINDOW_S
from hearsay.collector.store.condition import is_disk_trouble, why
from hearsay.collector.store.durability import DISK, MEMORY, safest
from hearsay.collector.store.shard import Published, Shard
from hearsay.collector.wire.codec import Codec
from hearsay.collector.writer import SIMULATED
from hearsay.mechanisms.exact.randomness import Random, secure

_LOG = logging.getLogger("hearsay.gateway")
DEADLINE_S = 5.0  # for a server that does not answer; then devices are asked to come again
PAUSE_S = 0.05
DIGEST = slice(8, 12)  # of a request's packed id (RequestId.packed): the bytes after its 8 random ones
_AWAY = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, redis.exceptions.BusyLoadingError)

Outcomes = list[Refusal | None]  # of a batch's requests; None: stored


@dataclass(frozen=True)
class _Stored:
    """A batch that was stored, when, and for which of the surveys that had this name."""

    at: float
    birth: str | None
    batch: Batch
    codec: Codec


class Publisher:
    """This process's way into one shard. One batch at a time."""

    def __init__(
        self,
        shard: Shard,
        *,
        durable: str = MEMORY,
        simulated: bool = False,
        deadline_s: float = DEADLINE_S,
        random: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.shard, self._deadline_s, self._clock = shard, deadline_s, clock
        self._kind = SIMULATED if simulated else ""  # PUBLISH counts simulated reports apart, by the writer's name
        self._durable = safest(durable, shard.survey.durable)
        self._checked = self._durable == MEMORY  # whether it is known that the server can provide this level
        self._random = random or secure()
        self._lock = threading.Lock()
        self._stored: deque[_Stored] = deque()  # what the server may lose
        self._had_all_at = clock()  # when the server last answered that it has all of _stored
        self.lost = 0  # requests that were answered as stored, lost by the server, and refused when sent again
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Take a new name: what was sent under the old one may be stored or not."""
        self._name, self._number = self._kind + secrets.token_hex(8), 0  # of this writer; of its last stored batch
        self._seen_ms: int | None = None  # the observed time in the server's last answer; None: it never answered
        self._birth: str | None = None  # of the survey that this name is known to
        self._in_doubt = bool(self._stored)  # whether _stored must be sent again before anything else

    def publish(self, batch: Batch, codec: Codec) -> Outcomes:
        """Store a batch; the outcome of each of its requests."""
        with self._lock:
            self._let_go()
            deadline = self._clock() + self._deadline_s
            outcomes = self._store(batch, codec, deadline)
            if any(outcome is None for outcome in outcomes) and (reason := self._why_unsafe(deadline)):
                late = Refusal("server", f"{reason}; send the same request again")
                return [late if outcome is None else outcome for outcome in outcomes]
            return outcomes

    def check(self) -> None:
        """Ask whether the server still has what was stored lately, and send again what it lost."""
        with self._lock, suppress(redis.exceptions.RedisError):
            if not self._stored:
                return
            if not self._in_doubt and self.shard.publish(self._name, 0, [], 0).last < self._number:
                self._begin_anew()
            if self._in_doubt:
                self._send_again(self._clock() + self._deadline_s)
            else:
                self._had_all_at = self._clock()
                self._let_go()

    def close(self) -> None:
        """The process ends: check, and let the server forget its name soon."""
        self.check()
        with suppress(redis.exceptions.RedisError):
            self.shard.leave(self._name)

    def _store(self, batch: Batch, codec: Codec, deadline: float) -> Outcomes:
        """Store the batch, but first again what the server may have lost."""
        if self._in_doubt and not self._send_again(deadline):
            return [_away()] * len(batch)
        return self._settle(batch, codec, deadline)

    def _settle(self, batch: Batch, codec: Codec, deadline: float) -> Outcomes:
        """Send until every request of the batch is stored or refused."""
        outcomes: Outcomes = [None] * len(batch)
        positions = list(range(len(batch)))  # in the whole batch, of the requests that are left
        while positions:
            answer = self._send(batch, codec, deadline)
            if isinstance(answer, Refusal):
                return _filled(outcomes, positions, answer)
            if answer.status in ("ok", "duplicate"):  # a duplicate has the same content: its reply was lost
                self._number += 1
                self._had_all_at = self._clock()
                self._stored.append(_Stored(self._had_all_at, self._birth, batch, codec))
                return outcomes
            if answer.status in ("gap", "forgotten"):  # the server lost a batch of this name, or deleted the name
                self._begin_anew()
                if self._in_doubt and not self._send_again(deadline):
                    return _filled(outcomes, positions, _away())
                continue
            if answer.status != "known":
                return _filled(outcomes, positions, self._refusal(answer))
            known = {batch.order[index]: digest for index, digest in answer.known.items()}
            for request, digest in known.items():
                outcomes[positions[request]] = _of_known(batch.names[request][DIGEST], digest)
            batch, kept = batch.without(set(known))
            positions = [positions[request] for request in kept]
        return outcomes

    def _send(self, batch: Batch, codec: Codec, deadline: float) -> Published | Refusal:
        """One answer of the server, asked until it gives one; a Refusal after the deadline."""
        entries, ids = list(batch.frames(codec, self._random)), batch.ids()
        while True:
            try:
                if self._seen_ms is None:
                    self._birth = self.shard.look().birth
                    self._seen_ms = self.shard.publish(self._name, 0, [], 0).observed_ms
                answer = self.shard.publish(
                    self._name, self._number + 1, entries, batch.count, batch.round_number, self._seen_ms, ids
                )
                self._seen_ms = answer.observed_ms
                return answer
            except _AWAY:
                if self._clock() + PAUSE_S < deadline:
                    time.sleep(PAUSE_S)
                    continue
                refusal = _away()
            except redis.exceptions.OutOfMemoryError:
                refusal = _pressure("memory")
            except redis.exceptions.ResponseError as error:
                if not is_disk_trouble(error):
                    raise
                refusal = Refusal("server", why(error))
            self._begin_anew()  # the batch may be stored under this number: the next one must not take it
            return refusal

    def _send_again(self, deadline: float) -> bool:
        """Store again what a server may have lost; False where it takes nothing now."""
        birth, self._in_doubt = self._survey_birth(), False
        # What was stored before the survey was deleted and registered again is not for this one.
        again = deque(each for each in self._stored if birth in (None, each.birth))
        self._stored = deque()
        requests = sum(len(each.batch) for each in again)
        while again:
            stored = again.popleft()
            outcomes = self._settle(stored.batch, stored.codec, deadline)
            if any(outcome is not None and outcome.code in AGAIN for outcome in outcomes):
                again.appendleft(stored)
                self._stored += again
                self._in_doubt = True
                return False
            lost = sum(outcome is not None and outcome.code != "unknown-survey" for outcome in outcomes)
            if lost:
                self.lost += lost
                _LOG.error("requests that were stored are lost with the server's last second", extra={"requests": lost})
        if requests:
            where = {"survey": self.shard.survey.name, "shard": self.shard.shard, "server": self.shard.node.address}
            _LOG.warning("sent again what the server may have lost", extra={"requests": requests, **where})
        return True

    def _survey_birth(self) -> str | None:
        """What tells the survey from one of this name that is registered after it was deleted; None: not known now."""
        try:
            return self.shard.look().birth
        except redis.exceptions.RedisError:
            return None  # sending will meet the same trouble

    def _refusal(self, answer: Published) -> Refusal:
        name = self.shard.survey.name
        if answer.status == "pressure":
            return _pressure(answer.cause)
        if answer.status == "closed" and answer.cause == "round":
            return Refusal("round-over", f"the round is over; ask for the open one: GET /v1/surveys/{name}/round")
        if answer.status == "closed":
            return Refusal("closed", f"survey {name} is closed and takes no more reports")
        return Refusal("unknown-survey", f"survey {name} is not registered any more")

    def _why_unsafe(self, deadline: float) -> str | None:
        """Wait until the newest batch is on the server's disk or on a replica, as promised; None: it is."""
        if self._durable == MEMORY:
            return None
        late = f"the report is not on {'disk' if self._durable == DISK else 'a replica'} yet"
        while self._clock() < deadline:
            try:
                if not self._checked:
                    if lacks := self.shard.why_not_durable(self._durable):
                        return f"durable = {self._durable} is promised, and the server {lacks}"
                    self._checked = True
                safe = self.shard.durable_up_to(self._name, self._durable)
            except redis.exceptions.RedisError:
                return late
            if safe is not None:  # None: the server waited in vain, ask again
                return None if safe >= self._number else late  # another server took over and has less: it is sent again
        return late

    def _let_go(self) -> None:
        """Drop batches that the server cannot lose any more: it had them RESEND_WINDOW_S after they were stored."""
        oldest = self._had_all_at - RESEND_WINDOW_S
        while self._stored and self._stored[0].at < oldest and not self._in_doubt:
            self._stored.popleft()


def _of_known(mine: bytes, stored: bytes) -> Refusal | None:
    """The outcome of a request whose id is stored already, from the digests of both; an empty one was deleted."""
    if not stored:
        return expired()
    if stored != mine:
        return Refusal("id-reused", "another request had this Idempotency-Key; give every request its own")
    return None  # a repeat, answered as the first was


def _filled(outcomes: Outcomes, positions: list[int], refusal: Refusal) -> Outcomes:
    for position in positions:
        outcomes[position] = refusal
    return outcomes


def _away() -> Refusal:
    return Refusal("server", "the Redis server does not answer; send the same request again")


def _pressure(cause: str) -> Refusal:
    return Refusal("pressure", f"the collector is under pressure ({cause}); send the same request again later")
