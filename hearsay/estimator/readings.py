"""What this process knows of every survey's windows, read once for all who need it.

The estimator's pass, the interface and the page share one `Readings`. Of each window the last reading is kept, so that
only new deltas are fetched, whoever asks; a sum of windows and its estimate are made once for each version.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hearsay.collector.errors import StateError
from hearsay.collector.store.look import NOTHING
from hearsay.collector.store.reading import Reading
from hearsay.collector.store.registry import Registered, SurveyLook
from hearsay.collector.store.state import WHOLE_CHUNKS, Vector, unflatten
from hearsay.collector.survey.participation import MEMOISED
from hearsay.collector.survey.windows import ALL, Window
from hearsay.estimator.live import Live, Sum, choose, survey_in, too_small

SUMS = 64
_TRIES = 20
_UNKNOWN = "?"  # the fence of a reading that is to be made anew
SUM_CELLS = 1 << 22  # of all estimates together: one of so many cells takes 200 MB or more
Counters = Mapping[str, int]
_Key = tuple[str, tuple[Window, ...]]  # the survey's tag, and windows


@dataclass
class WindowProgress:
    """How far the estimator's pass is with a window."""

    published: int | None = None  # the version of the last snapshot
    settled: bool = False  # final, merged and published: it need not be looked at again
    resting_until: float = 0.0  # when a large one is looked at again
    final_at: float | None = None  # when it was first seen to be final


class Compaction(NamedTuple):
    """How many readings were merged, how many were due, and whether deltas are left."""

    merged: int
    due: int
    waiting: bool


class _Base(NamedTuple):
    """That part of a sum which will not change: the windows that are final, added up, and the counters of each."""

    vector: Vector | None
    counters: dict[Window, tuple[Counters, ...]]


class _Kept(NamedTuple):
    """A sum with its base."""

    sum: Sum
    seen: SurveyLook  # the newest look at which it was up to date
    base: _Base


@dataclass
class _Memory:
    """What is known of one survey. Whoever brings readings up to date has the lock."""

    birth: str | None
    run_ids: tuple[str, ...]
    cells: int  # of the domain
    lock: threading.RLock = field(default_factory=threading.RLock)
    asked_at: float = 0.0  # of the newest look that something was read by
    readings: dict[Window, list[Reading]] = field(default_factory=dict)  # of all shards; they share one vector, the sum
    progress: dict[Window, WindowProgress] = field(default_factory=dict)


class Readings:
    """One per process. Sums with their estimates are bounded together; what was not used longest goes first."""

    def __init__(self, sums: int = SUMS, cells: int = SUM_CELLS) -> None:
        self._sums, self._cells = sums, cells
        self._surveys: dict[str, _Memory] = {}  # by tag
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._lock = threading.Lock()  # of these two

    def live(self, registered: Registered, window: str = ALL, seen: SurveyLook | None = None) -> Live:
        """What a window (its name, `all`, or `last:N`) holds now, or as `seen`; QueryError where it cannot be told."""
        seen = registered.look() if seen is None else seen
        chosen = choose(seen, window)
        left_out = too_small(seen, chosen)
        kept = [each for each in chosen if each.name not in left_out]
        total, seen = self.read(seen, kept)
        return Live(total, window, lambda: seen.are_final(window, chosen), left_out, seen.simulated_reports > 0)

    def progress(self, seen: SurveyLook, window: Window) -> WindowProgress:
        """How far the pass is with a window."""
        return self._memory(seen).progress.setdefault(window, WindowProgress())

    def settled(self, tag: str) -> list[str]:
        """Names of the windows that the pass need not look at again."""
        memory = self._surveys.get(tag)
        return [] if memory is None else [window.name for window, each in memory.progress.items() if each.settled]

    def read(self, seen: SurveyLook, windows: Sequence[Window]) -> tuple[Sum, SurveyLook]:
        """The sum of these windows, at `seen` or later, and the look that it was read by."""
        memory, key = self._memory(seen), (seen.survey.tag, tuple(windows))
        with memory.lock:
            with self._lock:
                kept = self._kept.pop(key, None)
            if kept is None or kept.seen.asked_at < seen.asked_at:
                if memory.asked_at > seen.asked_at or not _is_known(seen, windows):
                    seen = seen.registered.look()  # else what others have read since would be read once more
                if kept is not None and kept.sum.counters == _counters(seen, windows):
                    kept = kept._replace(seen=seen)
                else:
                    base = self._nearest_base(seen, windows) if kept is None else kept.base
                    kept = None  # let go first: of a large domain two may not fit into memory
                    self._make_room(memory.cells)
                    memory.asked_at = seen.asked_at
                    kept = self._add(memory, seen, windows, base)
            with self._lock:
                self._kept[key] = kept
            return kept.sum, kept.seen

    def compact(
        self,
        seen: SurveyLook,
        windows: Sequence[Window],
        is_due: Callable[[Reading], bool],
        layout: int = WHOLE_CHUNKS,
        pack: bool = False,
    ) -> Compaction:
        """Merge the deltas of those readings that are due. `layout`: as it may be written; `pack`: all of it."""
        memory, merged, due = self._memory(seen), 0, 0
        with memory.lock:
            waiting = False
            for window in windows:
                readings = memory.readings.get(window, [])
                for number, reading in enumerate(readings):
                    if is_due(reading):
                        due += 1
                        merged += _compact(seen, number, readings, layout, pack)
                waiting |= any(reading.deltas for reading in readings)
                if any(reading.fence == _UNKNOWN for reading in readings):
                    del memory.readings[window]
            return Compaction(merged, due, waiting)

    def drop_window(self, seen: SurveyLook, window: Window) -> None:
        """Forget the readings of a window that nobody adds to any more; what was made of them stays."""
        memory = self._memory(seen)
        with memory.lock:
            memory.readings.pop(window, None)

    def forget_window(self, seen: SurveyLook, window: Window) -> None:
        """Forget a window that was purged."""
        memory = self._memory(seen)
        with memory.lock:
            self.drop_window(seen, window)
            memory.progress.pop(window, None)
            with self._lock:
                for key in [key for key in self._kept if key[0] == seen.survey.tag and window in key[1]]:
                    del self._kept[key]

    def forget_all_but(self, tags: set[str]) -> None:
        """Forget surveys that were deleted."""
        with self._lock:
            for tag in self._surveys.keys() - tags:
                self._forget(tag)

    def _memory(self, seen: SurveyLook) -> _Memory:
        """Of a survey; empty where it was deleted and added again, or a server restarted and may have lost data."""
        tag = seen.survey.tag
        with self._lock:
            memory = self._surveys.get(tag)
            if memory is None or (memory.birth, memory.run_ids) != (seen.birth, seen.run_ids):
                self._forget(tag)
                memory = self._surveys[tag] = _Memory(seen.birth, seen.run_ids, seen.survey.mechanism.domain.size)
            return memory

    def _forget(self, tag: str) -> None:
        self._surveys.pop(tag, None)
        for key in [key for key in self._kept if key[0] == tag]:
            del self._kept[key]

    def _add(self, memory: _Memory, seen: SurveyLook, windows: Sequence[Window], base: _Base) -> _Kept:
        """Read what is new and add it up. The vector is a new one: readings change when they are brought up to date.

        Of several windows those that are final are read once; their sum stays.
        """
        if len(windows) > 1:
            base = self._add_final(memory, seen, windows, base)
        total = None if base.vector is None else base.vector.copy()
        counters: list[Counters] = []
        for window in windows:
            if window in base.counters:
                counters += base.counters[window]
                continue
            readings = _read(memory, window, seen)
            counters += [reading.counters for reading in readings]
            total = _added(total, readings[0].vector)
        survey = survey_in(seen, windows)
        state = survey.mechanism.empty() if total is None else unflatten(survey.mechanism, total)
        repeats = len(windows) if survey.participation.repeat == MEMOISED else 1
        source = (seen.birth, seen.run_ids, tuple(window.name for window in windows))
        return _Kept(Sum(survey, state, tuple(counters), memory.cells, repeats, source), seen, base)

    def _nearest_base(self, seen: SurveyLook, windows: Sequence[Window]) -> _Base:
        """Of sums that are kept, the most final windows among these: with each new window `all` is another sum."""
        if len(windows) < 2:
            return _Base(None, {})
        with self._lock:
            bases = [kept.base for (tag, _), kept in self._kept.items() if tag == seen.survey.tag]
        wanted = set(windows)
        within = (base for base in bases if base.counters.keys() <= wanted)
        nearest = max(within, key=lambda base: len(base.counters), default=_Base(None, {}))
        return _Base(None if nearest.vector is None else nearest.vector.copy(), dict(nearest.counters))

    def _add_final(self, memory: _Memory, seen: SurveyLook, windows: Sequence[Window], base: _Base) -> _Base:
        """The base with all of these windows that are final."""
        final = {window: seen.counted[window] for window in windows if window in seen.final}
        if not all(final.get(window) == counters for window, counters in base.counters.items()):
            base = _Base(None, {})  # the clock went back, or something was given up by command
        vector = base.vector
        for window, counters in final.items():
            if window in base.counters:
                continue
            needed = window in memory.readings  # by the pass
            vector = _added(vector, _read(memory, window, seen)[0].vector)
            if not needed:
                del memory.readings[window]
            base.counters[window] = counters
        return _Base(vector, base.counters)

    def _make_room(self, cells: int) -> None:
        """Let sums that were not used longest go until one of so many cells fits; readings stay."""
        with self._lock:
            total = sum(kept.sum.cost for kept in self._kept.values())
            while self._kept and (len(self._kept) >= self._sums or cells + total > self._cells):
                _, kept = self._kept.popitem(last=False)
                total -= kept.sum.cost


def _read(memory: _Memory, window: Window, seen: SurveyLook) -> list[Reading]:
    """A window of all shards, added into one vector; what was read before is continued where that can be."""
    for _ in range(_TRIES):
        # Taken out while it is brought up to date: half of an update must not be remembered.
        kept: Sequence[Reading | None] | None = memory.readings.pop(window, None)
        shards = seen.registered.shards
        if kept is None or kept[0] is None:
            vector, kept = np.zeros(shards[0].cells, dtype=np.int64), [None] * len(shards)
        else:
            vector = kept[0].vector
        readings = []
        for shard, reading, look in zip(shards, kept, seen.shards, strict=True):
            seen_now = look.windows.get(window) or NOTHING
            reading = shard.add_to(vector, window.name, reading, seen_now, own=len(shards) == 1)
            if reading is None:
                break
            readings.append(reading)
        else:
            memory.readings[window] = readings
            return readings
        if kept[0] is None:
            seen = seen.registered.look()  # a merge came in between
    raise StateError(f"window {window.name} of {seen.survey.name} changed under {_TRIES} attempts to read it")


def _compact(seen: SurveyLook, number: int, readings: Sequence[Reading], layout: int, pack: bool) -> bool:
    """Merge a shard's deltas. Where the vector is a sum of several shards, this one is read by itself for it."""
    shard, reading = seen.registered.shards[number], readings[number]
    if len(readings) == 1:
        return shard.compact(reading, layout, pack)
    window = seen.survey.windows.named(reading.window)
    own = shard.read(reading.window, seen=seen.shards[number].windows.get(window))
    deltas = list(own.deltas)
    if not shard.compact(own, layout, pack):
        return False
    if reading.deltas.keys() >= set(deltas):
        reading.merged(deltas, own.fence, own.layout)
        reading.whole = own.whole
    else:  # something newer was merged too
        reading.fence = _UNKNOWN
    return True


def _counters(seen: SurveyLook, windows: Sequence[Window]) -> tuple[Counters, ...]:
    return tuple(counters for window in windows for counters in seen.counted[window])


def _is_known(seen: SurveyLook, windows: Sequence[Window]) -> bool:
    """Whether the look went into these windows: the pass leaves out what is settled."""
    return all(look.windows.get(window, look) is not None for window in windows for look in seen.shards)


def _added(total: Vector | None, vector: Vector) -> Vector:
    """In place, but for the first one."""
    if total is None:
        return vector.copy()
    total += vector
    return total


def live(registered: Registered, window: str = ALL) -> Live:
    """Read what a window (its name, `all`, or `last:N`) holds at this moment."""
    return Readings().live(registered, window)
