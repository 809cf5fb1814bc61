"""A fleet of simulated devices that sends to a gateway, open loop: a request is due by the clock, not by an answer.

So a slow gateway gets as many requests as a quick one, and the time to an answer is counted from when the request was
due. Without a rate a request is due as soon as it is made. A request without an answer is sent again with the same id
and bytes, as a device does.
"""

import asyncio
import json
import ssl
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import msgpack

from hearsay.collector.survey.offers import Offer
from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.domains.domain import Values
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.roles import DeviceSide
from hearsay.producer.errors import GatewayError
from hearsay.producer.fleet import BATCH_REPORTS, People, singles
from hearsay.producer.request_id import new_request_id
from hearsay.producer.via.connection import Answer, Connections
from hearsay.producer.via.rounds import Rounds

CONTENT_TYPE = "application/vnd.hearsay.v1+msgpack"
SIMULATED_HEADER, ALONE, MIXED = "Hearsay-Simulated", "alone", "mixed"  # docs/how-to/gateway.md
REAL = "real-reports"  # a gateway's word for a survey that has reports of others
CONNECTIONS = 256
REQUEST = 100  # reports in a request, unless asked otherwise
MOST_IN_REQUEST = 1_000
WAITING = 4_096  # requests that are due and not answered; beyond it the fleet itself is late
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
NO_KEY = (401, 403)  # statuses that every request with this key gets
OVER = ("round-over", "closed")  # a device that comes after its round has missed it
NO_ANSWER = "gateway"  # the cause of a request that was stopped while it waited for an answer
_NO_ANSWER = (OSError, EOFError, ValueError, TimeoutError)


@dataclass
class Sent:
    """What became of all requests: `accepted`, `rejected` and `missed` (sent after their round was over) count reports,
    `repeats` and `refused` (by code) count requests. `reasons` are the gateway's words, by code. `late_s` are the
    response times of accepted requests: seconds from when each was due to its answer."""

    accepted: int = 0
    rejected: int = 0
    missed: int = 0
    repeats: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)
    late_s: list[float] = field(default_factory=list)
    mixture: str | None = None  # why the gateway takes no simulated reports for this survey
    is_final: bool = False  # a request was refused as every other one is

    def table(self) -> dict[str, Any]:
        """As JSON shows it."""
        ordered = sorted(self.late_s) or [0.0]
        return {
            "reports": self.accepted,
            "rejected": self.rejected,
            "missed": self.missed,
            "requests": len(self.late_s),
            "repeats": self.repeats,
            "refused": dict(self.refused),
            "reasons": {code: reason for code, reason in self.reasons.items() if code in self.refused},
            "answered_p50_s": ordered[len(ordered) // 2],
            "answered_p99_s": ordered[min(len(ordered) * 99 // 100, len(ordered) - 1)],
        }


class Request(NamedTuple):
    """So many reports; `make` gives the body and the address's parameter, None where their round is over."""

    reports: int
    make: Callable[[], Awaitable[tuple[bytes, str] | None]]


def fetch_with_birth(url: str, name: str) -> tuple[Survey, str | None]:
    """The survey as the gateway describes it, and what tells it from a deleted one; None: an older gateway."""

    async def ask() -> Answer:
        connections = Connections(url, 1)
        try:
            return await connections.ask("GET", f"/v1/surveys/{name}")
        finally:
            await connections.close()

    try:
        answer = asyncio.run(ask())
        table = json.loads(answer.body)
    except _NO_ANSWER as error:
        raise GatewayError(f"the gateway at {url} {_why_silent(error)}") from None
    if answer.status != 200:
        raise GatewayError(f"the gateway at {url} does not describe survey {name}: {table.get('error', answer.status)}")
    birth = table.get("birth")
    return Survey.of(table["definition"]), birth if isinstance(birth, str) else None


def _why_silent(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message.rstrip(".")
        return f"has a certificate that cannot be trusted ({why}); SSL_CERT_FILE may name its authority's file"
    if isinstance(error, ssl.SSLError):
        return "does not answer in TLS; is it a plain port? Then the URL starts with http://"
    return f"does not answer ({type(error).__name__}); is it running?"


class GatewayFleet:
    """Simulated devices of one survey behind one gateway: `size` reports in a request, `rate` reports per second.

    `mixed`: they are sent also where the survey has reports that were not simulated."""

    def __init__(
        self,
        url: str,
        survey: Survey,
        random: Random,
        *,
        size: int = REQUEST,
        rate: float | None = None,
        key: str | None = None,
        mixed: bool = False,
        stop: threading.Event | None = None,
        on_wait: Callable[[str], None] = lambda cause: None,
    ) -> None:
        self._url, self._survey, self._random = url, survey, random
        self._size, self._rate = size, rate
        self._headers = {"Content-Type": CONTENT_TYPE, SIMULATED_HEADER: MIXED if mixed else ALONE}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        self._stop, self._on_wait = stop or threading.Event(), on_wait
        self._sent = Sent()

    def run(self, people: People, devices: int, progress: Callable[[int], None] = lambda _: None) -> Sent:
        """Send one report of each device, in each round where there are rounds, until the survey takes no more."""
        asyncio.run(self._run(people, devices, progress))
        return self._sent

    async def _run(self, people: People, devices: int, progress: Callable[[int], None]) -> None:
        connections = Connections(self._url, CONNECTIONS)
        try:
            if not self._survey.windows.in_rounds:
                await self._paced(connections, self._plain(people, devices), progress)
                return
            rounds, everybody = Rounds(connections, self._survey), people.take(devices)
            async for offer, shared in rounds.all(self._stop):
                await self._paced(connections, self._in_round(rounds, offer, shared, everybody), progress)
                if self._sent.is_final:
                    break
        finally:
            await connections.close()

    async def _paced(
        self, connections: Connections, requests: Iterator[Request], progress: Callable[[int], None]
    ) -> None:
        """Start each request when it is due, and wait for all answers."""
        room, tasks = asyncio.Semaphore(WAITING), set[asyncio.Task[None]]()
        started, due = time.monotonic(), 0

        def done(task: "asyncio.Task[None]", count: int) -> None:
            tasks.discard(task)
            room.release()
            progress(count)

        for request in requests:
            due_at = started + due / self._rate if self._rate else time.monotonic()
            await asyncio.sleep(max(0.0, due_at - time.monotonic()))
            await room.acquire()
            if self._stop.is_set() or self._sent.is_final:
                break
            task = asyncio.create_task(self._send(connections, request, due_at))
            tasks.add(task)
            task.add_done_callback(partial(done, count=request.reports))
            due += request.reports
        if tasks:
            await asyncio.gather(*tasks)

    def _plain(self, people: People, devices: int) -> Iterator[Request]:
        """Perturbed in batches of some thousand reports; with a rate, of those due in a twentieth of a second."""
        mechanism: DeviceSide = self._survey.mechanism
        wire, left = codec(mechanism), devices
        while left and not self._stop.is_set():
            batch = min(left, max(self._size, BATCH_REPORTS if self._rate is None else int(self._rate) // 20 or 1))
            reports = list(singles(mechanism, wire, people.take(batch), self._random))
            left -= batch
            for start in range(0, len(reports), self._size):
                part = reports[start : start + self._size]
                yield Request(len(part), partial(_ready, msgpack.packb(part), ""))

    def _in_round(self, rounds: Rounds, offer: Offer, shared: bool, everybody: Values) -> Iterator[Request]:
        people, query = rounds.asked(everybody, offer), f"?round={offer.number}"
        if shared:
            for body, count in rounds.bodies(people, offer, self._size, self._random):
                yield Request(count, partial(_ready, body, query))
            return
        for position in range(len(people)):
            one = people[position : position + 1]
            yield Request(1, partial(self._drawn, rounds, offer.number, one, query))

    async def _drawn(self, rounds: Rounds, number: int, one: Values, query: str) -> tuple[bytes, str] | None:
        """A device asks for its own round; None where that is over by now."""
        offer, _ = await rounds.offer()
        if offer is None or offer.number != number:
            return None
        ((body, _count),) = rounds.bodies(one, offer, 1, self._random)
        return body, query

    async def _send(self, connections: Connections, request: Request, due_at: float) -> None:
        """Send one request, and repeat it until its answer is final."""
        sent, made = self._sent, await request.make()
        if made is None:
            sent.missed += request.reports
            return
        body, query = made
        path = f"/v1/surveys/{self._survey.name}/reports{query}"
        headers = {**self._headers, "Idempotency-Key": new_request_id()}
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                answer = await connections.ask("POST", path, body, headers)
                table = json.loads(answer.body)
            except _NO_ANSWER:
                cause, wait_s = NO_ANSWER, pause_s
            else:
                if answer.status == 202:
                    sent.accepted += table["accepted"]
                    sent.rejected += table["rejected"]
                    sent.late_s.append(time.monotonic() - due_at)
                    return
                cause = table.get("code", str(answer.status))
                if query and cause in OVER:
                    sent.missed += request.reports
                    return
                sent.reasons[cause] = str(table.get("error", ""))
                if cause == REAL:
                    sent.mixture = table["error"]
                sent.is_final |= cause == REAL or answer.status in NO_KEY
                if "retry-after" not in answer.headers:
                    sent.refused[cause] += 1
                    return
                wait_s = float(answer.headers["retry-after"])
            if self._stop.is_set():
                sent.refused[cause] += 1
                return
            self._on_wait(cause)
            sent.repeats += 1
            await asyncio.sleep(min(wait_s, LONGEST_PAUSE_S))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


async def _ready(body: bytes, query: str) -> tuple[bytes, str] | None:
    return body, query
