"""Surveys as this process knows them, and the lanes that their requests wait in."""

import asyncio
import re
import time
from concurrent.futures import Executor
from contextlib import suppress

from hearsay.collector.errors import UnknownSurvey
from hearsay.collector.gateway.buffer import Lane, Waiting
from hearsay.collector.gateway.counts import Counts
from hearsay.collector.gateway.publisher import Publisher
from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.gateway.simulated import Mixtures
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.shard import Shard

FRESH_S = 1.0  # what the registry said of a name is used for so long without asking again
OLD_S = 10.0  # older than this, requests wait for the registry's answer; younger, they go on with what is known
MOST_NAMES = 10_000
MOST_LANES = 1_000

_NAME = re.compile("[a-z0-9-]{1,64}")  # no other is ever asked for in Redis
LaneKey = tuple[str, str, int, int | None, bool]  # name, tag, shard, round, whether its reports are simulated


class Surveys:
    """The registry behind a short memory; nothing here blocks the event loop."""

    def __init__(self, registry: Registry, executor: Executor, counts: Counts, *, hold_s: float, durable: str) -> None:
        self._registry, self._executor = registry, executor
        self._hold_s, self._durable = hold_s, durable
        self._known: dict[str, tuple[Registered | None, float]] = {}
        self._refreshing: dict[str, asyncio.Task[Registered | None]] = {}
        self._publishers: dict[tuple[str, str, int, bool], Publisher] = {}
        self._lanes: dict[LaneKey, Lane] = {}
        self._waiting = Waiting(counts)
        self.mixtures = Mixtures(executor)

    async def get(self, name: str) -> Registered:
        """The survey of this name; Refusal where there is none."""
        if not _NAME.fullmatch(name):
            raise _unknown()
        registered, asked_at = self._known.get(name, (None, -FRESH_S))
        if time.monotonic() - asked_at >= FRESH_S:
            task = self._refreshing.get(name)
            if task is None:
                task = self._refreshing[name] = asyncio.get_running_loop().create_task(self._refresh(name))
            if registered is None or time.monotonic() - asked_at >= OLD_S:
                registered = await asyncio.shield(task)
        if registered is None:
            raise _unknown()
        return registered

    def forget(self, name: str) -> None:
        """Ask the registry again at the next request for this survey."""
        self._known.pop(name, None)

    async def _refresh(self, name: str) -> Registered | None:
        known, _ = self._known.get(name, (None, 0.0))
        try:
            registered = await asyncio.get_running_loop().run_in_executor(self._executor, self._ask, name)
        except Exception:
            if known is None:
                raise  # whoever waits is told what is wrong with the server
            return known  # publishing will tell whether it is still there
        finally:
            del self._refreshing[name]
        if len(self._known) > MOST_NAMES:
            self._known.clear()
        self._known[name] = (registered, time.monotonic())
        return registered

    def _ask(self, name: str) -> Registered | None:
        with suppress(UnknownSurvey):
            return self._registry.get(name)
        return None

    async def lane(
        self, registered: Registered, shard: Shard, round_number: int | None, simulated: bool = False
    ) -> Lane:
        """Where requests of this shard and round wait; those of simulated devices apart from the others."""
        survey = registered.survey
        key = (survey.name, survey.tag, shard.shard, round_number, simulated)
        lane = self._lanes.get(key)
        if lane is None:
            if round_number is not None:
                rounds = await asyncio.get_running_loop().run_in_executor(self._executor, registered.shards[0].rounds)
                if not 1 <= round_number <= rounds.number:
                    raise Refusal("malformed", f"round {round_number} is not open; the newest is {rounds.number}")
                survey = survey.in_round(rounds.history(round_number))
            publisher = self._publisher(shard, simulated)
            lane = Lane(survey, publisher, round_number, self._hold_s, self._executor, self._waiting)
            lane = self._lanes.setdefault(key, lane)
        return lane

    def _publisher(self, shard: Shard, simulated: bool) -> Publisher:
        key = (shard.survey.name, shard.survey.tag, shard.shard, simulated)
        if key not in self._publishers:
            self._publishers[key] = Publisher(shard, durable=self._durable, simulated=simulated)
        return self._publishers[key]

    def resend_lost(self) -> int:
        """Send again what Redis lost; returns how many requests it refused then. Blocks: called from a thread."""
        publishers = list(self._publishers.values())
        before = sum(publisher.lost for publisher in publishers)
        for publisher in publishers:
            publisher.check()
        return sum(publisher.lost for publisher in publishers) - before

    def tidy(self) -> None:
        """Forget lanes of rounds and surveys that are over."""
        if len(self._lanes) > MOST_LANES:
            self._lanes = {key: lane for key, lane in self._lanes.items() if not lane.empty}

    async def finish(self) -> None:
        """Publish all that waits, and end in good order."""
        self._hold_s = 0.0
        while lanes := [lane for lane in self._lanes.values() if not lane.empty]:
            for lane in lanes:
                lane.hasten()
            await asyncio.sleep(0.01)
        loop = asyncio.get_running_loop()
        for publisher in self._publishers.values():
            await loop.run_in_executor(self._executor, publisher.close)


def _unknown() -> Refusal:
    return Refusal("unknown-survey", "no survey of this name is registered")
