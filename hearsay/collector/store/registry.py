"""The registry of surveys. A name is bound to one definition until the survey is deleted."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

from hearsay.collector import limits
from hearsay.collector.errors import CollectorError, ServerError, SurveyConflict, UnknownSurvey
from hearsay.collector.store import keys
from hearsay.collector.store.client import Client
from hearsay.collector.store.durability import is_kept
from hearsay.collector.store.looks.survey_look import AWAY, Registered, SurveyLook, look_at, look_at_parts
from hearsay.collector.store.node import Call, Command, Node
from hearsay.collector.store.processes.complaints import Complaints
from hearsay.collector.store.processes.gateway_counts import GatewayCounts
from hearsay.collector.store.processes.heartbeats import Heartbeats
from hearsay.collector.store.processes.stored_forms import StoredForms
from hearsay.collector.store.processes.timings import Timings
from hearsay.collector.store.servers.servers import Servers, servers_of, slot_of
from hearsay.collector.store.shard import Shard
from hearsay.collector.store.state import cells_of
from hearsay.collector.survey.registration import MAXIMUM_SHARDS, Registration
from hearsay.collector.survey.survey import Survey
from hearsay.collector.survey.tags import differing_keys

__all__ = ["Registered", "Registry", "SurveyLook", "look_at", "look_at_parts", "state_bytes"]
READ_ANEW_S = 10.0  # for changes that did not increase the version


class Registry:
    """The surveys of a deployment: its servers, and one prefix. A client of redis-py is taken as its servers."""

    def __init__(self, servers: Servers | Client, prefix: str = keys.PREFIX) -> None:
        self.servers, self.prefix = servers_of(servers), prefix
        self.heartbeats = Heartbeats(self.servers, prefix)
        self.complaints = Complaints(self.servers, prefix)
        self.timings = Timings(self.servers, prefix)
        self.stored_forms = StoredForms(self.servers, prefix)
        self.gateway_counts = GatewayCounts(self.servers, prefix)
        self._surveys = keys.surveys(prefix)
        self._slot = slot_of(self.servers, self._surveys)
        self._version_key = keys.surveys_version(prefix)
        self._parsed: dict[bytes, Registered] = {}
        self._known: dict[str, bytes] = {}  # all records as last read
        self._last: dict[str, bytes] = {}  # single records that were read later
        self._known_version: bytes | None = b"-"  # differs from every version
        self._read_at = -READ_ANEW_S

    node: Node = property(attrgetter("_slot.node"))  # type: ignore[assignment]  # the node of the registry now

    def do(self, command: str, key: str, *words: Any) -> Any:
        """Run a plain command on a key of the deployment, on the node of that key."""
        return slot_of(self.servers, key).node.do(command, key, *words)

    def add(self, survey: Survey, shards: int | None = None) -> Registered:
        """Register a survey. The same definition may be added again; another one under the same name is refused.

        Without a number of shards, a new survey gets one, and a registered one keeps those it has.
        """
        number = 1 if shards is None else shards
        if not 1 <= number <= MAXIMUM_SHARDS:
            raise SurveyConflict(what="shards", expected=f"in 1..{MAXIMUM_SHARDS}", got=number)
        self.check_capacity(survey, number)
        if not self._change("HSETNX", survey.name, Registration.new(survey, number).record()):
            known = self.get(survey.name)
            if survey.mechanism.asks_the_same(known.survey.mechanism):
                # Where the file leaves a choice, the registered choice is kept: devices may use it already.
                survey = replace(survey, mechanism=known.survey.mechanism)
            if known.survey.tag != survey.tag:
                keys = ", ".join(differing_keys(known.survey.canonical(), survey.canonical()))
                raise SurveyConflict(
                    f"survey {survey.name} exists with another definition (tag {known.survey.tag8}, "
                    f"this one is {survey.tag8}), which differs in {keys}; delete it first or choose another name"
                )
            if shards not in (None, len(known.active)):
                raise SurveyConflict(
                    f"survey {survey.name} exists with {len(known.active)} shards, got {shards}; "
                    f"change them with: hearsay survey shards {survey.name} {shards}"
                )
            survey = replace(survey, reason=survey.reason or known.survey.reason)
            # `retain` may be new
            self.bind(known, replace(known.registration, survey=survey))
        registered = self.get(survey.name)
        for shard in registered.shards:
            shard.open()
            if survey.windows.in_rounds:
                shard.open_round(1, {})
        return registered

    def check_capacity(self, survey: Survey, shards: int) -> None:
        """Refuse a survey whose state does not fit into memory with those of the others: it would stop all of them.

        The states may not use a reserve of the memory, which incoming reports need.
        """
        limits_known = [node.condition().limit_bytes for node in self.servers.nodes()]
        limit = 0 if 0 in limits_known else sum(limits_known)
        if limit == 0:
            return
        others = [other for other in self.list() if other.survey.name != survey.name]
        planned = sum(state_bytes(other.survey, len(other.shards)) for other in others)
        needed, room = state_bytes(survey, shards), int(limits.STATE_SHARE * limit)
        if planned + needed > room:
            raise ServerError(
                f"survey {survey.name} needs {needed:,} bytes for its state, and {planned:,} are planned for others; "
                f"together they must be at most {room:,} on servers with maxmemory {limit:,}",
                what="bytes of all states together",
                expected=f"at most {room}",
                got=planned + needed,
            )

    def get(self, name: str) -> Registered:
        try:
            record = self.node.do("HGET", self._surveys, name)
        except AWAY:
            record = None if self.servers.alone else self._last.get(name) or self._known.get(name)
            if record is None:
                raise
        if record is None:
            raise self.unknown(name)
        self._last[name] = record
        return self.registered(record)

    def bind(self, known: Registered, changed: Registration) -> bool:
        """Replace the registration that was read; False: another process changed it first."""
        arguments = [known.survey.name, known.record, changed.record()]
        bind = Call("bind", [self._surveys], arguments)
        return bool(self.node.many([bind, Command(("INCR", self._version_key))])[0])

    def is_kept(self) -> bool:
        """Wait briefly until all data of the registry's server is durable; False: not yet, ask again."""
        return is_kept(self.node, Command(("INCR", self._version_key)))

    def several(self, names: Sequence[str]) -> dict[str, Registered]:
        """The surveys of these names that are registered and that this version can read, in one call."""
        registered = {}
        try:
            records = self.node.do("HMGET", self._surveys, *names) if names else []
        except AWAY:
            if self.servers.alone or not (self._known or self._last):
                raise
            records = [self._last.get(name) or self._known.get(name) for name in names]
        for name, record in zip(names, records, strict=True):
            if record is not None:
                self._last[name] = record
                with suppress(CollectorError):
                    registered[name] = self.registered(record)
        return registered

    def unknown(self, name: str) -> UnknownSurvey:
        """The error for a name that is not registered. It names no other surveys, since devices read it too."""
        prefix = "" if self.prefix == keys.PREFIX else f" --prefix {self.prefix}"
        return UnknownSurvey(
            f"survey {name!r} is not registered; hearsay survey list{prefix} shows those that are",
            what="survey",
            expected="the name of a registered survey",
            got=repr(name),
        )

    def names(self) -> list[str]:
        """Every registered name, whether or not this version can read its survey."""
        return list(self.records())

    def list(self) -> list[Registered]:
        """Every survey that this version can read, by name; the others are left out."""
        surveys = []
        for record in self.records().values():
            with suppress(CollectorError):
                surveys.append(self.registered(record))
        return surveys

    def records(self) -> dict[str, bytes]:
        """Every stored registration, by name; `registered` parses one.

        If the registry's node does not reply and the deployment has others, the registrations as last read.
        """
        try:
            version = self.node.do("GET", self._version_key)
            if version != self._known_version or time.monotonic() >= self._read_at + READ_ANEW_S:
                self._read_at = time.monotonic()
                self._known = _by_name(self.node.do("HGETALL", self._surveys))
                self._last = {}
                self._known_version = version  # read before the records, so that a change in between is read next time
        except AWAY:
            if self.servers.alone or not self._known:
                raise
        return self._known

    def close(self, name: str) -> None:
        """Accept no more reports for a survey."""
        self.get(name).close()

    def delete(self, name: str) -> int:
        """Delete a survey with all its keys in Redis; returns how many keys were deleted."""
        if not self.node.do("HEXISTS", self._surveys, name):
            raise self.unknown(name)
        deleted = self._unlink(name)
        deleted += self._unlink(name)  # once more: a script may have added keys meanwhile; without meta no other can
        self._change("HDEL", name)
        return deleted

    def _change(self, command: str, *words: Any) -> Any:
        """Change the registry and increase its version."""
        commands = [Command((command, self._surveys, *words)), Command(("INCR", self._version_key))]
        return self.node.many(commands)[0]

    def _unlink(self, name: str) -> int:
        """Unlink every key of a survey on all nodes. `meta` comes first: without it no script adds keys."""
        keys = [key for node in self.servers.nodes() for key in node.keys(f"{self.prefix}:{{{name}.*")]
        keys.sort(key=lambda key: not key.endswith(":meta"))
        return sum(int(self.do("UNLINK", key)) for key in keys)

    def rewrite_log(self) -> bool:
        """Ask the servers to rewrite their append-only files, which still contain deleted data; False: one refuses."""
        asked = [node.rewrite_log() for node in self.servers.nodes()]
        return all(asked)

    def places(self, name: str) -> tuple[str, ...]:
        """The directories to which estimators have written files of a survey, as `host:directory`."""
        directories: set[bytes] = set()
        for node in self.servers.nodes():
            for key in node.keys(f"{self.prefix}:{{{name}.*:places"):
                directories |= self.do("SMEMBERS", key)
        return tuple(sorted(directory.decode() for directory in directories))

    @cached_property
    def deployment(self) -> str:
        """An identity of these servers and this prefix."""
        return f"{self.servers.identity} {self.prefix}"

    def registered(self, record: bytes) -> Registered:
        """A stored registration, parsed; each is parsed once."""
        known = self._parsed.get(record)
        if known is None:
            row = Registration.parse(record)
            shards = tuple(self.shard(row.survey, number) for number in row.numbers)
            again = partial(self.get, row.survey.name)
            by_number = dict(zip(row.numbers, shards, strict=True))
            known = self._parsed[record] = Registered(row.survey, shards, by_number, row, record, again)
        return known

    def shard(self, survey: Survey, number: int) -> Shard:
        """A shard by its number, whether or not the survey has it."""
        return Shard(self.servers, self.prefix, survey, number)


def state_bytes(survey: Survey, shards: int) -> int:
    """The largest size of a survey's states over all shards: int64 for every window kept, and one more for a merge."""
    return (survey.windows.kept(survey.retain_s) + 1) * 8 * cells_of(survey.mechanism) * shards


def _by_name(records: Mapping[bytes, bytes]) -> dict[str, bytes]:
    return {name.decode(errors="replace"): record for name, record in sorted(records.items())}
