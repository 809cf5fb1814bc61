"""Simulated devices that take part in the rounds of a survey behind a gateway.

The same people take part in each round, or are dealt out to the rounds where a device takes part in one only. Where a
round is drawn for each device, each asks for its own and sends its report alone.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgpack

from hearsay.collector.survey.offers import Offer
from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.domains.domain import Values
from hearsay.mechanisms.exact.randomness import Random
from hearsay.producer.fleet import singles
from hearsay.producer.via.connection import Connections

POLL_S = 0.2  # between looks for the next round
_NO_ANSWER = (OSError, EOFError, ValueError, TimeoutError)


class Rounds:
    """The rounds of one survey, as the gateway hands them out."""

    def __init__(self, connections: Connections, survey: Survey) -> None:
        self._connections, self._survey = connections, survey

    async def all(self, stop: Any) -> AsyncIterator[tuple[Offer, bool]]:
        """One round after the other, until the survey is closed; with whether all devices get the same."""
        last = 0
        while not stop.is_set():
            offer, shared = await self.offer()
            if offer is not None and offer.number > last:
                last = offer.number
                yield offer, shared
            elif not await self._is_open():
                return
            else:
                await asyncio.sleep(POLL_S)

    async def offer(self) -> tuple[Offer | None, bool]:
        """The open round, drawn for one device where the survey says so; None: there is none now."""
        try:
            answer = await self._connections.ask("GET", f"/v1/surveys/{self._survey.name}/round")
            if answer.status == 200:
                return Offer.parse(json.loads(answer.body)), answer.headers.get("cache-control") != "no-store"
        except _NO_ANSWER:
            pass
        return None, False

    async def _is_open(self) -> bool:
        try:
            answer = await self._connections.ask("GET", f"/v1/surveys/{self._survey.name}")
            return answer.status != 404 and bool(json.loads(answer.body).get("open", True))
        except _NO_ANSWER:
            return True  # it will be back

    def asked(self, people: Values, offer: Offer) -> Values:
        """Of these people, those who are asked in this round."""
        mechanism = self._survey.mechanism
        return people[offer.number - 1 :: mechanism.rounds] if mechanism.one_round_each else people

    def bodies(self, people: Values, offer: Offer, size: int, random: Random) -> Iterator[tuple[bytes, int]]:
        """Bodies of this round's reports, and how many each has."""
        mechanism = offer.accepted(self._survey, 0).mechanism
        reports = list(singles(mechanism, codec(mechanism), people, random))
        for start in range(0, len(reports), size):
            part = reports[start : start + size]
            yield msgpack.packb(part), len(part)
