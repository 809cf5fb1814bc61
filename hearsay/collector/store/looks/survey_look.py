"""A survey with its shards, and a look at many surveys: one call for each node, all nodes at the same time."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Self

from redis.exceptions import ConnectionError, RedisError, TimeoutError

from hearsay.collector.errors import ShardsAway
from hearsay.collector.store.look import Look, version_of
from hearsay.collector.store.node import ask
from hearsay.collector.store.rounds import StoredRounds
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.registration import Registration
from hearsay.collector.survey.survey import Survey
from hearsay.collector.survey.windows import ALL, Window

AWAY = (ConnectionError, TimeoutError)
Known = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class Registered:
    """A survey and its shards: `shards` has the active ones, then the retired ones, which still count.

    `record` is the stored registration; `again` reads the registry once more.
    """

    survey: Survey
    shards: tuple[Shard, ...]
    by_number: Mapping[int, Shard]
    registration: Registration
    record: bytes = field(repr=False)
    again: "Callable[[], Registered]" = field(compare=False, repr=False)

    @property
    def active(self) -> tuple[Shard, ...]:
        """The shards to which writers publish."""
        return self.shards[: len(self.registration.active)]

    def close(self) -> None:
        """Accept no more reports."""
        for shard in self.shards:
            shard.close()

    def for_request(self, time_ms: int, random: int) -> Shard:
        """The shard of a request, by the time and the random bits of its id."""
        return self.by_number[self.registration.for_request(time_ms, random)]

    def look(self, known: Collection[str] = ()) -> "SurveyLook":
        """Look at all shards; the windows `known` are left out."""
        (seen,) = look_at([self], {self.survey.tag: known})
        return seen


class Basis(NamedTuple):
    """The windows that a window's estimate is computed from, whether all are final, and their version."""

    windows: list[Window]
    final: bool
    version: int


@dataclass(frozen=True)
class SurveyLook:
    """A survey at one moment: one look for each shard. Nothing here asks the server.

    `asked_at` is this process's monotonic clock before the servers were asked. `birth` distinguishes this survey from a
    deleted one of the same definition (None: it is being deleted). `run_ids` are the runs of its servers: a server that
    restarted may have lost its last second. `rounds` are those of the first shard, which the others follow. `counted`
    has every window with data in a shard, the oldest first, with its counters of each shard.
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
    simulated_reports: int  # the published ones of simulated devices

    @classmethod
    def of(cls, registered: Registered, shards: tuple[Look, ...], asked_at: float) -> Self:
        """The look at a survey from the looks at its shards."""
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
        """The windows to which nothing can be added any more in any shard."""
        return frozenset(window for window in self.windows if self.is_final(window))

    def is_final(self, window: Window) -> bool:
        """Whether nothing can be added to a window any more in any shard; the window may be empty."""
        return all(look.is_final(window) for look in self.shards)

    def are_final(self, name: str, windows: Sequence[Window]) -> bool:
        """Whether nothing can be added to these windows, which a query named `name`.

        `all` is final only if no further window can begin.
        """
        if name == ALL and self.survey.windows.may_begin_another(not self.closed):
            return False
        return bool(windows) and self.final.issuperset(windows)

    def basis(self, window: Window) -> Basis:
        """What the estimate of one of `windows` is computed from now."""
        windows = self.survey.windows.up_to(window, self.windows)
        final = self.final.issuperset(windows)
        return Basis(windows, final, version_of((each for one in windows for each in self.counted[one]), final))

    @cached_property
    def waiting_reports(self) -> int:
        """Reports that were published and are in no answer yet."""
        return sum(look.waiting_reports for look in self.shards)


def look_at(
    surveys: Iterable[Registered], known: Known | None = None, failed: dict[str, Exception] | None = None
) -> list[SurveyLook]:
    """Look at all shards of these surveys with one call for each node; `known` by the survey's tag.

    With `failed`, the error of a survey with a shard that cannot be read is put there, by the survey's name, instead of
    being raised.
    """
    surveys, asked_at = list(surveys), time.monotonic()
    looks, seen = _ask(surveys, known or {}), []
    for registered in surveys:
        answers = [looks[shard] for shard in registered.shards]
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
    """`look_at` for tables and metrics: if some shards of a survey do not answer, a look at the others.

    The reason is put into `failed`. A survey without any shard that answers is in `failed` only.
    """
    surveys, asked_at = list(surveys), time.monotonic()
    looks, seen = _ask(surveys, {}), []
    for registered in surveys:
        answers = [looks[shard] for shard in registered.shards]
        answered = [shard for shard, look in zip(registered.shards, answers, strict=True) if isinstance(look, Look)]
        whole = tuple(look for look in answers if isinstance(look, Look))
        if len(whole) < len(answers) and failed is not None:
            failed[registered.survey.name] = _why(registered, answers)
        if whole:
            some = registered if len(whole) == len(answers) else replace(registered, shards=tuple(answered))
            seen.append(SurveyLook.of(some, whole, asked_at))
    return seen


def _ask(surveys: Sequence[Registered], known: Known) -> dict[Shard, Look | Exception]:
    """A look at each shard, or the error instead."""
    shards = [shard for registered in surveys for shard in registered.shards]
    looks: dict[Shard, Look | Exception] = {}
    replies = ask((shard.node, shard.look_call(known.get(shard.survey.tag, ()))) for shard in shards)
    for shard, reply in zip(shards, replies, strict=True):
        if isinstance(reply, AWAY) and shard.servers.alone:
            raise reply
        try:
            looks[shard] = shard.look_from(reply)
        except (RedisError, ValueError, KeyError) as error:  # an error of the server, or a record of another program
            looks[shard] = error
    return looks


def _why(registered: Registered, answers: Sequence[Look | Exception]) -> Exception:
    """The error for a survey with a shard that cannot be read."""
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
