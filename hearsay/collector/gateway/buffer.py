"""Requests that wait to be published: held for a while, so that many are shuffled together, then stored as one batch.

A lane holds the requests of one shard and round. Its lists belong to the event loop; decoding, shuffling and publishing
happen in a thread, one batch of a lane at a time. With nothing to hold (`hold_s` 0) a batch is what came in while the
last one was on its way.
"""

import asyncio
from collections import Counter
from concurrent.futures import Executor
from dataclasses import dataclass

from hearsay.collector.gateway import bodies
from hearsay.collector.gateway.batch import FRAME_REPORTS, Batch
from hearsay.collector.gateway.counts import Counts
from hearsay.collector.gateway.ids import RequestId
from hearsay.collector.gateway.publisher import Publisher
from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.limits import MIB
from hearsay.collector.store.processes.gateway_counts import REJECTED
from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.roles import WorkerSide

BATCH_BYTES = 4 * MIB  # bodies published together; frames of them are half as large
WAITING_BYTES = 64 * MIB  # bodies that wait in one process: beyond that, devices are asked to send again later

Answer = tuple[int, int] | Refusal  # accepted and rejected reports


@dataclass(eq=False, slots=True)
class Request:
    """A request that waits; a repeat of it waits for the same answer."""

    identity: RequestId
    name: bytes
    body: bytes
    reports: int
    answer: "asyncio.Future[Answer]"


@dataclass
class Waiting:
    """The bodies that wait in all lanes of a process, in bytes, and the counts of the process."""

    counts: Counts
    bytes: int = 0


class Lane:
    """The requests of one shard and round; `survey` is the survey in that round."""

    def __init__(
        self,
        survey: Survey,
        publisher: Publisher,
        round_number: int | None,
        hold_s: float,
        executor: Executor,
        shared: Waiting,
    ) -> None:
        self._mechanism: WorkerSide = survey.mechanism
        self._codec = codec(self._mechanism)
        self._publisher, self._round, self.hold_s = publisher, round_number, hold_s
        self._executor, self._shared = executor, shared
        self._waiting: list[Request] = []
        self._reports = self._bytes = 0
        self._by_id: dict[bytes, Request] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Task[None] | None = None

    def add(self, identity: RequestId, body: bytes, reports: int) -> "asyncio.Future[Answer]":
        """The answer to come; Refusal where the process holds as much as it can."""
        name = identity.packed(body, self._round)
        known = self._by_id.get(identity.octets)
        if known is not None:
            if known.name != name:
                raise Refusal("id-reused", "another request has this Idempotency-Key; give every request its own")
            return known.answer
        if self._shared.bytes > WAITING_BYTES:
            raise Refusal("pressure", "the gateway holds as much as it can; send the same request again later")
        loop = asyncio.get_running_loop()
        request = Request(identity, name, body, reports, loop.create_future())
        self._by_id[identity.octets] = request
        self._waiting.append(request)
        self._reports += reports
        self._bytes += len(body)
        self._shared.bytes += len(body)
        if self._flushing is None:
            self._schedule(loop)
        return request.answer

    @property
    def empty(self) -> bool:
        """Whether nothing waits, or is on its way."""
        return not self._by_id

    def hasten(self) -> None:
        """Hold nothing any more: the process ends."""
        self.hold_s = 0.0
        if self._waiting and self._flushing is None:
            self._schedule(asyncio.get_running_loop())

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        """Flush now where there is enough, else when the oldest request was held for long enough."""
        if self._reports >= FRAME_REPORTS or self._bytes >= BATCH_BYTES or not self.hold_s:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._flushing = loop.create_task(self._flush())
        elif self._timer is None:
            self._timer = loop.call_later(self.hold_s, self._due, loop)

    def _due(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        if self._waiting and self._flushing is None:
            self._flushing = loop.create_task(self._flush())

    async def _flush(self) -> None:
        requests = self._take()
        loop = asyncio.get_running_loop()
        try:
            answers, rejected = await loop.run_in_executor(self._executor, self._store, requests)
        except Exception as error:
            for request in requests:
                request.answer.set_exception(error)
            raise
        else:
            self._shared.counts.update(rejected)
            for request, answer in zip(requests, answers, strict=True):
                request.answer.set_result(answer)
        finally:
            for request in requests:
                del self._by_id[request.identity.octets]
                self._shared.bytes -= len(request.body)
            self._flushing = None
            if self._waiting:
                self._schedule(loop)

    def _take(self) -> list[Request]:
        """What is published together: all that waits, but for what would make the batch too large."""
        size = 0
        for count, request in enumerate(self._waiting):
            size += len(request.body)
            if size > BATCH_BYTES and count:
                requests, self._waiting = self._waiting[:count], self._waiting[count:]
                break
        else:
            requests, self._waiting = self._waiting, []
        self._reports -= sum(request.reports for request in requests)
        self._bytes -= sum(len(request.body) for request in requests)
        return requests

    def _store(self, requests: list[Request]) -> tuple[list[Answer], Counter[str]]:
        """In a thread: decode, shuffle, publish. The requests' answers, and counts of rejected reports."""
        decoded = bodies.decode([request.body for request in requests], self._mechanism, self._codec)
        batch = Batch(
            [request.identity.hour for request in requests],
            [request.name for request in requests],
            decoded.reports,
            decoded.owners,
            self._round,
        )
        answers: list[Answer] = list(zip(decoded.accepted.tolist(), decoded.rejected.tolist(), strict=True))
        positions = list(range(len(requests)))
        if decoded.malformed:
            batch, positions = batch.without(set(decoded.malformed))
            for position in decoded.malformed:
                answers[position] = bodies.malformed()
        for position, outcome in zip(positions, self._publisher.publish(batch, self._codec), strict=True):
            if outcome is not None:
                answers[position] = outcome
        return answers, Counter({REJECTED + reason: count for reason, count in decoded.reasons.items()})
