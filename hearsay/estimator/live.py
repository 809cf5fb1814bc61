"""A survey as it is now, straight from accumulators and deltas; no estimator process is needed.

Windows and shards are added as states, never as estimates: the estimate of a sum is exact, a sum of estimates is not.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hearsay.collector.store.reading import Reading, read
from hearsay.collector.store.registry import Registered
from hearsay.collector.store.shard import Shard
from hearsay.collector.store.state import Vector, unflatten
from hearsay.collector.store.status import is_final
from hearsay.collector.survey.survey import Survey
from hearsay.collector.survey.windows import ALL
from hearsay.estimator.snapshots.content import Content, compose
from hearsay.mechanisms import State
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Estimate

Rejected = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Live:
    """The sum of some windows over all shards. `version` grows with everything that was added."""

    survey: Survey
    window: str
    version: int
    final: bool
    state: State
    rejected: Rejected

    def estimate(self) -> Estimate:
        return self.survey.mechanism.estimate(self.state)

    def content(self) -> Content:
        """What a snapshot of it would say."""
        return compose(
            self.survey, self.window, self.state, version=self.version, final=self.final, rejected=self.rejected
        )


def live(registered: Registered, window: str = ALL) -> Live:
    """Read what a window (its name, `all`, or `last:N`) holds at this moment."""
    chosen = choose(registered, window)
    pairs = [(store, name) for name in chosen for store in registered.stores]
    # Before reading: then nothing is missed. All windows together are final only when no other can begin.
    ended = registered.survey.every_s is None or window != ALL or registered.closed
    final = ended and bool(pairs) and all(is_final(store, name) for store, name in pairs)
    return add(registered.survey, window, [read(store, name) for store, name in pairs], final)


def live_estimate(registered: Registered, window: str = ALL) -> Estimate:
    """The estimate for a window (its name, `all`, or `last:N`) at this moment."""
    return live(registered, window).estimate()


def add(survey: Survey, window: str, readings: Sequence[Reading], final: bool) -> Live:
    """Add readings up. The state of a single one is not copied."""
    total: Vector | None = None
    for reading in readings:
        total = reading.vector if total is None else total + reading.vector
    state = survey.mechanism.empty() if total is None else unflatten(survey.mechanism, total)
    rejected: Rejected = {}
    for reading in readings:
        for reason, counts in reading.rejected.items():
            entries, reports = rejected.get(reason, (0, 0))
            rejected[reason] = (entries + counts["entries"], reports + counts["reports"])
    version = version_of((reading.counters for reading in readings), final)
    return Live(survey, window, version, final, state, rejected)


def version_of(counters: Iterable[Mapping[str, int]], final: bool) -> int:
    """A number that grows with every commit, with every skip, and once more when the window becomes final."""
    changes = sum(each.get("commits", 0) + each.get("rejected:skipped:entries", 0) for each in counters)
    return 2 * changes + final


def counters_of(store: Shard, window: str) -> dict[str, int]:
    """A window's counters, without its state."""
    held = store.client.hgetall(store.keys.counters(window))
    return {name.decode(): int(count) for name, count in held.items()}


def windows_of(registered: Registered) -> list[str]:
    """Every window that holds something, oldest first."""
    return sorted({name.decode() for store in registered.stores for name in store.client.smembers(store.keys.windows)})


def choose(registered: Registered, window: str) -> list[str]:
    """The windows that `window` names: one by its name, `all` of them, or the `last:N` that hold something."""
    known = windows_of(registered)
    if window == ALL:
        return known
    last = re.fullmatch(r"last:([1-9]\d{0,8})", window, re.ASCII)
    if last:
        return known[-int(last[1]) :]
    if window not in known:
        newest = ", ".join(known[-3:]) or "none yet"
        raise QueryError(f"window must be all, last:N or a window with reports (newest: {newest}), got {window}")
    return [window]
