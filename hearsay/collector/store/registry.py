"""Which surveys exist. A name is bound to one definition until it is deleted."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from redis.exceptions import OutOfMemoryError

from hearsay.collector import limits
from hearsay.collector.errors import CollectorError, ServerError, SurveyConflict, SurveyError, UnknownSurvey
from hearsay.collector.store import keys
from hearsay.collector.store.condition import Condition, condition
from hearsay.collector.store.connect import Client
from hearsay.collector.store.counters import windows_of
from hearsay.collector.store.rounds import RoundsHeld, open_round, rounds_of
from hearsay.collector.store.scripts import Scripts
from hearsay.collector.store.shard import Shard
from hearsay.collector.store.state import cells_of
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.survey.windows import Window

MAXIMUM_SHARDS = 1_024


@dataclass(frozen=True)
class Registered:
    """A survey and where it is collected."""

    survey: Survey
    stores: tuple[Shard, ...]

    @property
    def shards(self) -> int:
        return len(self.stores)

    def store(self, shard: int) -> Shard:
        return self.stores[shard]

    @property
    def birth(self) -> bytes | None:
        """What tells this survey from a deleted one of the same definition; None: it is being deleted."""
        return self.stores[0].birth

    @property
    def closed(self) -> bool:
        return not self.stores[0].is_open

    @property
    def rounds(self) -> RoundsHeld:
        """The rounds as the first shard knows them; the others follow it."""
        return rounds_of(self.stores[0])

    @property
    def windows(self) -> list[Window]:
        """Every window that holds something, oldest first."""
        return windows_of(self.stores)


class Mark(NamedTuple):
    """A process that showed itself, and how long its mark still stands."""

    role: str
    process: str
    left_ms: int


class Complaint(NamedTuple):
    """What keeps a process of a role from its work on something."""

    role: str
    about: str
    words: str


class Registry:
    """The surveys of one server and prefix."""

    def __init__(self, client: Client, prefix: str = keys.PREFIX) -> None:
        self.client, self.prefix = client, prefix
        self.scripts = Scripts(client)
        self._parsed: dict[bytes, Registered] = {}

    def add(self, survey: Survey, shards: int | None = None) -> Registered:
        """Register a survey; the same definition again is welcome, another one under the same name is not.

        Where no number of shards is given, a survey that is there keeps those it has, and a new one has one.
        """
        number = 1 if shards is None else shards
        if not 1 <= number <= MAXIMUM_SHARDS:
            raise SurveyConflict(f"shards must be in 1..{MAXIMUM_SHARDS}, got {number}")
        self._check_capacity(survey, number)
        if not self.client.hsetnx(keys.surveys(self.prefix), survey.name, _record(survey, number)):
            known = self.get(survey.name)
            if survey.mechanism.asks_the_same(known.survey.mechanism):
                # What another machine chose where this file leaves a choice stays: devices may have it already.
                survey = replace(survey, mechanism=known.survey.mechanism)
            if known.survey.tag != survey.tag:
                raise SurveyConflict(
                    f"survey {survey.name} exists with another definition (tag {known.survey.tag8}, "
                    f"this one is {survey.tag8}); delete it first or choose another name"
                )
            if shards not in (None, known.shards):
                raise SurveyConflict(f"survey {survey.name} exists with {known.shards} shards, got {shards}")
            survey = replace(survey, reason=survey.reason or known.survey.reason)
            # `retain` may be new
            self.client.hset(keys.surveys(self.prefix), survey.name, _record(survey, known.shards))
        registered = self.get(survey.name)
        for store in registered.stores:
            store.open()
            if survey.mechanism.rounds > 1:
                open_round(store, 1, {})
        return registered

    def _check_capacity(self, survey: Survey, shards: int) -> None:
        """Refuse a survey whose state would not fit beside those that are there: it would stop all of them.

        Above what they may take a reserve is left, in which reports are taken in and folded.
        """
        limit = self.condition().limit_bytes
        if limit == 0:
            return
        others = [found for found in self.list() if found.survey.name != survey.name]
        planned = sum(state_bytes(found.survey, found.shards) for found in others)
        needed, room = state_bytes(survey, shards), int(limits.STATE_SHARE * limit)
        if planned + needed > room:
            raise ServerError(
                f"survey {survey.name} needs {needed:,} bytes for its state, and {planned:,} are planned for others; "
                f"together they must be at most {room:,} on a server with maxmemory {limit:,}"
            )

    def get(self, name: str) -> Registered:
        record = self.client.hget(keys.surveys(self.prefix), name)
        if record is None:
            raise UnknownSurvey(f"survey {name!r} is not registered; hearsay survey list shows those that are")
        return self._registered(record)

    def names(self) -> list[str]:
        """Every registered name, whether or not this version can read its survey."""
        return sorted(name.decode(errors="replace") for name in self.client.hkeys(keys.surveys(self.prefix)))

    def list(self) -> list[Registered]:
        """Every survey that this version can read, by name; one that it cannot must not hide the others."""
        found = []
        for name in self.names():
            with suppress(CollectorError):
                found.append(self.get(name))
        return found

    def close(self, name: str) -> None:
        """Take no more reports for a survey."""
        for store in self.get(name).stores:
            store.close()

    def delete(self, name: str) -> int:
        """Forget a survey with all it holds in Redis; answers how many keys went."""
        if not self.client.hexists(keys.surveys(self.prefix), name):
            raise UnknownSurvey(f"survey {name!r} is not registered; hearsay survey list shows those that are")
        found = [*self.client.scan_iter(match=f"{self.prefix}:{{{name}.*", count=1_000)]
        found.sort(key=lambda key: not key.endswith(b":meta"))  # first: without it no script adds anything more
        deleted = sum(int(self.client.unlink(key)) for key in found)
        # Whatever a script was adding while the keys were listed stands by now, and nothing can follow it.
        deleted += sum(int(self.client.unlink(key)) for key in self.client.scan_iter(match=f"{self.prefix}:{{{name}.*"))
        self.client.hdel(keys.surveys(self.prefix), name)
        return deleted

    def places(self, name: str) -> tuple[str, ...]:
        """Where estimators have written files of a survey, as `host:directory`."""
        found: set[bytes] = set()
        for key in self.client.scan_iter(match=f"{self.prefix}:{{{name}.*:places", count=1_000):
            found |= self.client.smembers(key)
        return tuple(sorted(place.decode() for place in found))

    @property
    def deployment(self) -> str:
        """What tells this server and prefix from others."""
        to = self.client.connection_pool.connection_kwargs
        return f"{to.get('path') or '{}:{}'.format(to.get('host'), to.get('port'))}/{to.get('db', 0)} {self.prefix}"

    def ping(self) -> None:
        """Raises where the server does not answer."""
        self.client.ping()

    def disconnect(self) -> None:
        """Give the connections back."""
        self.client.close()

    def server_run(self) -> str:
        """Which run of the server this is: one that restarted may have lost its last second."""
        return str(self.client.info("server").get("run_id"))

    def memory(self) -> Mapping[str, Any]:
        """The server's own account of its memory."""
        found: Mapping[str, Any] = self.client.info("memory")
        return found

    def condition(self) -> Condition:
        """Whether the server has memory, and a disk to write to."""
        return condition(self.client)

    def mark(self, role: str, process: str, ttl_s: int) -> None:
        """Show that a process lives; on a full server too."""
        self.scripts("stage", [keys.heartbeat(self.prefix, role, process)], ["1", ttl_s])

    def unmark(self, role: str, process: str) -> None:
        """A process ends."""
        self.client.delete(keys.heartbeat(self.prefix, role, process))

    def marks(self) -> Iterator[Mark]:
        """Every process whose mark stands, by role and name."""
        names = sorted(self.client.scan_iter(match=keys.heartbeat(self.prefix, "*", "*"), count=1_000))
        pipeline = self.client.pipeline(transaction=False)
        for name in names:
            pipeline.pttl(name)
        for name, left_ms in zip(names, pipeline.execute(), strict=True):
            if left_ms > 0:  # else it ran out in between
                role, process = name.decode().removeprefix(keys.heartbeat(self.prefix, "", "")[:-1]).split(":", 1)
                yield Mark(role, process, left_ms)

    def complain(self, role: str, about: str, words: str, ttl_s: int = limits.HEARTBEAT_TTL_S) -> None:
        """Let everybody see what keeps a process from its work; it is forgotten when nobody says it again."""
        self.scripts("stage", [keys.complaint(self.prefix, role, about)], [words, ttl_s])

    def content(self, role: str, about: str) -> None:
        """What a process complained of is over."""
        self.client.delete(keys.complaint(self.prefix, role, about))

    def complaints(self) -> tuple[Complaint, ...]:
        """What processes said lately, by role and about what."""
        names = sorted(self.client.scan_iter(match=keys.complaint(self.prefix, "*", "*"), count=1_000))
        found = zip(names, self.client.mget(names), strict=True) if names else ()
        start = len(keys.complaint(self.prefix, "", "")) - 1
        said = [(name.decode()[start:].partition(":"), words.decode()) for name, words in found if words]
        return tuple(Complaint(role, about, words) for (role, _, about), words in said)

    def observe(self, kind: str, count: str, duration_s: float) -> None:
        """Add a duration to the timings that the estimator exports; a full server goes without."""
        pipeline = self.client.pipeline(transaction=False)
        pipeline.hincrbyfloat(keys.timings(self.prefix), f"{kind}_seconds", duration_s)
        pipeline.hincrby(keys.timings(self.prefix), count, 1)
        with suppress(OutOfMemoryError):
            pipeline.execute()

    def observed(self, kind: str, count: str) -> tuple[float, int]:
        """The sum of such durations, and how many there were."""
        total, number = self.client.hmget(keys.timings(self.prefix), f"{kind}_seconds", count)
        return float(total or 0), int(number or 0)

    def _registered(self, record: bytes) -> Registered:
        found = self._parsed.get(record)
        if found is None:
            survey, shards = _parse_record(record)
            stores = tuple(Shard(self.client, self.scripts, self.prefix, survey, number) for number in range(shards))
            found = self._parsed[record] = Registered(survey, stores)
        return found


def state_bytes(survey: Survey, shards: int) -> int:
    """What its states take at most, all shards together: int64 for every window kept, and once more during a merge."""
    kept, every_s = 1, survey.windows.every_ms // 1_000
    if survey.retain_s is not None and every_s:
        kept = 1 + survey.retain_s // every_s
    return (kept + 1) * 8 * cells_of(survey.mechanism) * shards


def _parse_record(record: bytes) -> tuple[Survey, int]:
    """What the registry holds; a record that nobody of ours wrote must not stop the other surveys."""
    try:
        table = json.loads(record)
        survey, reason, shards = parse(table["survey"]), table.get("reason"), table["shards"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SurveyError("the registry's record of this survey cannot be read") from None
    if type(shards) is not int or not 1 <= shards <= MAXIMUM_SHARDS:
        raise SurveyError(f"shards must be in 1..{MAXIMUM_SHARDS}, got {shards!r}")
    return replace(survey, reason=reason if isinstance(reason, str) else None), shards


def _record(survey: Survey, shards: int) -> bytes:
    why = {} if survey.reason is None else {"reason": survey.reason}
    return json.dumps({"survey": survey.canonical(), "shards": shards, **why}, sort_keys=True).encode()
