"""A survey with its shards, and a look at many surveys: one call for each node, all nodes side by side."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Self

from redis.exceptions import ConnectionError, RedisError, TimeoutError

from hearsay.collector.errors import ShardsAway
from hearsay.collector.store.look import Look
from hearsay.collector.store.node import Node, NodeAway
from hearsay.collector.store.rounds import StoredRounds
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.registration import Registration
from hearsay.collector.survey.survey import Survey
from hearsay.collector.survey.windows import ALL, Window

AWAY = (ConnectionError, TimeoutError)
PATIENCE_S = 2.0  # how much later than the first a node may answer: one that hangs must not hold up the others
_NODES = 64
Known = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class Registered:
    """A survey and where it is collected. `shards` are all that count: the active ones, then those that are retired.

    `record` is the registration as it is stored; `again` reads the registry once more.
    """

    survey: Survey
    shards: tuple[Shard, ...]
    by_number: Mapping[int, Shard]
    registration: Registration
    record: bytes = field(repr=False)
    again: "Callable[[], Registered]" = field(compare=False, repr=False)

    @property
    def active(self) -> tuple[Shard, ...]:
        """The shards that writers go to."""
        return self.shards[: len(self.registration.active)]

    def close(self) -> None:
        """Take no more reports."""
        for shard in self.shards:
            shard.close()

    def for_request(self, time_ms: int, random: int) -> Shard:
        """The shard of a request, by what its id says."""
        return self.by_number[self.registration.for_request(time_ms, random)]

    def look(self, known: Collection[str] = ()) -> "SurveyLook":
        """Ask all shards once for what may be needed; `known`: windows that are not looked into."""
        (seen,) = look_at([self], {self.survey.tag: known})
        return seen


@dataclass(frozen=True)
class SurveyLook:
    """A survey at one moment: one look for each shard. Nothing here asks the server.

    `asked_at` is this process's monotonic clock before the servers were asked. `birth` tells this survey from a deleted
    one of the same definition (None: it is being deleted), `run_ids` the runs of its servers: one that restarted may
    have lost its last second. `rounds` are those of the first shard; the others follow it. `counted` has every window
    that holds something in a shard, the oldest first, with its counters, shard by shard.
    """

    registered: Registered
    shards: tuple[Look, ...]
    asked_at: float
    survey: Survey
    birth: str | None
    run_ids: tuple[str, ...]
    now_ms: int
    closed: bool
    rounds: StoredRounds
    windows: list[Window]
    counted: Mapping[Window, tuple[Mapping[str, int], ...]]
    published_reports: int
    simulated_reports: int  # of the published ones those of simulated devices

    @classmethod
    def of(cls, registered: Registered, shards: tuple[Look, ...], asked_at: float) -> Self:
        """All that follows from the looks."""
        first, windows = shards[0], sorted({window for look in shards for window in look.windows})
        return cls(
            registered,
            shards,
            asked_at,
            registered.survey,
            first.birth,
            tuple(look.run_id for look in shards),
            first.now_ms,
            not first.open,
            first.rounds,
            windows,
            {window: tuple(look.at(window).counters for look in shards) for window in windows},
            sum(look.published_reports for look in shards),
            sum(look.simulated_reports for look in shards),
        )

    @cached_property
    def final(self) -> frozenset[Window]:
        """Windows to which nothing can be added any more, in no shard."""
        return frozenset(window for window in self.windows if self.is_final(window))

    def is_final(self, window: Window) -> bool:
        """Whether nothing can be added to a window any more, in no shard; it need not hold anything."""
        return all(look.is_final(window) for look in self.shards)

    def are_final(self, name: str, windows: Sequence[Window]) -> bool:
        """Whether nothing can be added to these windows, asked for by `name`.

        All windows together are final only when no other can begin.
        """
        if name == ALL and self.survey.windows.may_begin_another(not self.closed):
            return False
        return bool(windows) and self.final.issuperset(windows)

    @cached_property
    def waiting_reports(self) -> int:
        """Reports that were published and are in no answer yet; 0 where nothing waits."""
        return sum(look.waiting_reports for look in self.shards)


def look_at(
    surveys: Iterable[Registered], known: Known | None = None, failed: dict[str, Exception] | None = None
) -> list[SurveyLook]:
    """Look at all shards of these surveys with one call for each node; `known` by the survey's tag.

    With `failed`, a survey that cannot be read as a whole goes there by its name, and does not stop the others.
    """
    surveys, asked_at = list(surveys), time.monotonic()
    looks, seen = _ask(surveys, known or {}), []
    for registered in surveys:
        answers = [looks[id(shard)] for shard in registered.shards]
        whole = tuple(look for look in answers if isinstance(look, Look))
        if len(whole) == len(answers):
            seen.append(SurveyLook.of(registered, whole, asked_at))
            continue
        error = _why(registered, answers)
        if failed is None:
            raise error
        failed[registered.survey.name] = error
    return seen


def look_at_parts(surveys: Iterable[Registered], failed: dict[str, Exception] | None = None) -> list[SurveyLook]:
    """The same for tables and metrics: of a survey with shards that do not answer, a look at the others.

    `failed` has why; a survey of which no shard answers is only there.
    """
    surveys, asked_at = list(surveys), time.monotonic()
    looks, seen = _ask(surveys, {}), []
    for registered in surveys:
        answers = [looks[id(shard)] for shard in registered.shards]
        answered = [shard for shard, look in zip(registered.shards, answers, strict=True) if isinstance(look, Look)]
        whole = tuple(look for look in answers if isinstance(look, Look))
        if len(whole) < len(answers) and failed is not None:
            failed[registered.survey.name] = _why(registered, answers)
        if whole:
            some = registered if len(whole) == len(answers) else replace(registered, shards=tuple(answered))
            seen.append(SurveyLook.of(some, whole, asked_at))
    return seen


def by_node(shards: Iterable[Shard]) -> list[tuple[Node, list[Shard]]]:
    """Shards with the node that each is on now."""
    groups: dict[int, tuple[Node, list[Shard]]] = {}
    for shard in shards:
        node = shard.node
        groups.setdefault(id(node), (node, []))[1].append(shard)
    return list(groups.values())


def _ask(surveys: Sequence[Registered], known: Known) -> dict[int, Look | Exception]:
    groups = by_node(shard for registered in surveys for shard in registered.shards)
    if len(groups) == 1:
        return _looks(*groups[0], known)
    asked: dict[Future[dict[int, Look | Exception]], tuple[Node, list[Shard]]] = {
        _pool().submit(_looks, node, shards, known): (node, shards) for node, shards in groups
    }
    wait(asked, return_when="FIRST_COMPLETED")
    wait(asked, PATIENCE_S)
    looks: dict[int, Look | Exception] = {}
    for future, (node, shards) in asked.items():
        if future.done():
            looks |= future.result()
        else:
            node.give_up()
            looks |= dict.fromkeys(map(id, shards), NodeAway(f"node {node.address} does not answer"))
    return looks


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_NODES, thread_name_prefix="hearsay-look")


def _looks(node: Node, shards: Sequence[Shard], known: Known) -> dict[int, Look | Exception]:
    """What one node says of its shards, each by its identity."""
    calls = [shard.look_call(known.get(shard.survey.tag, ())) for shard in shards]
    try:
        replies = node.many(calls, raise_errors=False)
    except RedisError as error:
        if shards[0].servers.alone:
            raise
        return dict.fromkeys(map(id, shards), error)
    looks: dict[int, Look | Exception] = {}
    for shard, reply in zip(shards, replies, strict=True):
        try:
            looks[id(shard)] = shard.look_from(reply)
        except (RedisError, ValueError, KeyError) as error:  # the server's answer, or a record of another program
            looks[id(shard)] = error
    return looks


def _why(registered: Registered, answers: Sequence[Look | Exception]) -> Exception:
    """Why a survey cannot be read as a whole."""
    pairs = zip(registered.shards, answers, strict=True)
    errors = {shard: error for shard, error in pairs if isinstance(error, Exception)}
    other = next((error for error in errors.values() if not isinstance(error, AWAY)), None)
    if other is not None or len(errors) == len(answers) == 1:
        return other or next(iter(errors.values()))
    numbers = ", ".join(str(shard.shard) for shard in errors)
    nodes = ", ".join(sorted({shard.node.address for shard in errors}))
    return ShardsAway(
        f"survey {registered.survey.name}: shards {numbers} do not answer (node {nodes}); its answers need them, "
        "and wait until the node is back"
    )
