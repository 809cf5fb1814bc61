"""A look at a shard: all that a pass, a query or the status table needs to know of it, read atomically in one call.

What follows from a look (is a window final, how much waits, what was counted) is computed here, without asking a
server.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hearsay.collector import limits
from hearsay.collector.store.node import Call, Command
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.rounds import NO_ROUNDS, StoredRounds
from hearsay.collector.store.shard_base import ShardBase
from hearsay.collector.store.status import Status
from hearsay.collector.survey.windows import Window, Windows
from hearsay.collector.wire.rejections import Rejections

GONE = "gone:"  # in a shard's meta: counters of purged windows, so that totals never decrease


@dataclass(frozen=True)
class WindowLook:
    """A window of a shard: its counters, the last merge of its accumulator, and the deltas that are not merged yet."""

    counters: Mapping[str, int]
    version: int = 0  # of the accumulator
    fence: str = ""  # the nonce of the accumulator's last merge
    merged: int = 0  # reports in the accumulator
    snapshot_version: int | None = None
    deltas: frozenset[str] = frozenset()


NOTHING = WindowLook({})


def version_of(counters: Iterable[Mapping[str, int]], final: bool) -> int:
    """A number that increases with every commit and skip, and once more when the window becomes final."""
    changes = sum(each.get("commits", 0) + each.get("rejected:skipped:entries", 0) for each in counters)
    return 2 * changes + final


@dataclass
class Totals:
    """Reports of one shard over all its windows, including purged ones: totals never decrease."""

    folded: int = 0
    merged: int = 0
    rejected: Rejections = field(default_factory=Rejections)

    @property
    def accounted(self) -> int:
        """Reports that were processed: folded or rejected."""
        return self.folded + self.rejected.reports


@dataclass(frozen=True)
class Look:
    """A shard at one moment. `run_id` is the run of the server; `windows` are all that have data, oldest first.

    The value of a window that the caller did not ask about is None.
    """

    kind: Windows
    run_id: str
    now_ms: int
    meta: Mapping[str, str]
    cut_entries: int
    stream_entries: int
    dead_letters: int
    ranges: tuple[Range, ...]
    delta_names: tuple[str, ...]
    rounds: StoredRounds
    mark: str  # of the oldest batch that is not cut; '': none
    stray: str  # the id of an entry after the cursor that is in no batch; '': none
    oldest_mark_ms: int | None
    windows: Mapping[Window, WindowLook | None]

    @property
    def birth(self) -> str | None:
        """A random text that distinguishes this survey from a deleted one of the same name and tag; None: deleted."""
        return self.meta.get("birth")

    @property
    def open(self) -> bool:
        """Whether the survey accepts reports."""
        return self.meta.get("open") == "1"

    @property
    def open_round(self) -> int:
        """The round that accepts reports; 0: none."""
        return self.rounds.number if self.rounds.open else 0

    @property
    def observed_ms(self) -> int:
        """The observed time (docs/reference/data-model.md, TRIM)."""
        return int(self.meta.get("observed_ms", 0))

    @property
    def published_reports(self) -> int:
        return int(self.meta.get("reports_in", 0))

    @property
    def simulated_reports(self) -> int:
        """The published reports of simulated devices."""
        return int(self.meta.get("simulated_in", 0))

    def at(self, window: Window) -> WindowLook:
        """The look at a window; an empty one if the window has no data."""
        return self.windows.get(window) or NOTHING

    def is_final(self, window: Window) -> bool:
        """Whether nothing can be added to a window any more: it has ended, and all its entries are committed."""
        if not self.kind.is_over(window, self.now_ms, self) or self._waits(window):
            return False
        return all(each.window(self.kind) != window for each in self.ranges)

    def _waits(self, window: Window) -> bool:
        """Whether an entry after the cursor may belong to the window."""
        if window.end_ms is not None:
            times = [self.oldest_mark_ms, _id(self.stray)[0] if self.stray else None]
            return any(time_ms is not None and time_ms < window.end_ms for time_ms in times)
        first = self.stray or self.mark.partition(" ")[0]  # ids increase, so the first entry is enough
        if not first:
            return False
        last_entry = self.rounds.last_entry(window.number)
        return last_entry is None or _id(first) <= _id(last_entry)

    @cached_property
    def totals(self) -> Totals:
        """The reports of all windows; valid only if the look includes all of them."""
        purged = {name.removeprefix(GONE): int(count) for name, count in self.meta.items() if name.startswith(GONE)}
        result = Totals()
        counted = [(window.counters, window.merged) for window in self.windows.values() if window is not None]
        # Reports of purged windows were merged, or are gone.
        for counters, merged in [*counted, (purged, purged.get("folded", 0))]:
            result.folded += counters.get("folded", 0)
            result.merged += merged
            result.rejected += Rejections.from_counters(counters)
        return result

    @property
    def deleted_reports(self) -> int:
        """Folded reports of windows that were deleted."""
        return int(self.meta.get(f"{GONE}folded", 0))

    @property
    def waiting_reports(self) -> int:
        """Reports that were published and are in no answer yet, by the writers' own counts.

        The reports of an entry that was rejected as a whole cannot be counted otherwise.
        """
        return max(self.published_reports - self.totals.accounted, 0) if self.waiting_entries else 0

    @property
    def backlog_entries(self) -> int:
        """Entries that were published and are in no range yet."""
        return int(self.meta.get("entries_in", 0)) - self.cut_entries

    @property
    def waiting_entries(self) -> int:
        """Entries that are in no range yet, or in a range that is not committed."""
        return self.backlog_entries + sum(each.entries for each in self.ranges)

    @cached_property
    def status(self) -> Status:
        """The counters and gauges for the status table and the metrics."""
        number = {name: int(self.meta.get(name, 0)) for name in _NUMBERS}
        quarantined = sum(each.quarantined for each in self.ranges)
        # The time of a batch is in its mark: ids may be ahead of the clock.
        oldest_ms = int(self.mark.split()[-1]) if self.mark else _id(self.stray)[0] if self.stray else self.now_ms
        stored_ms = [min(_id(each.first)[0], each.time_ms) for each in self.ranges if not each.quarantined]
        return Status(
            open=self.open,
            published_reports=self.published_reports,
            published_entries=number["entries_in"],
            published_bytes=number["bytes_in"],
            stream_entries=self.stream_entries,
            backlog_entries=self.backlog_entries,
            backlog_age_s=max(self.now_ms - oldest_ms, 0) / 1_000,
            outstanding=len(self.ranges) - quarantined,
            oldest_range_s=max(self.now_ms - min(stored_ms, default=self.now_ms), 0) / 1_000,
            waiting_entries=self.waiting_entries,
            quarantined=quarantined,
            reissued=number["reissues"],
            quarantines=number["quarantines"],
            deltas=len(self.delta_names),
            delta_bytes=number["delta_bytes"],
            merges=number["merges"],
            dead_letters=self.dead_letters,
            pressure=self.pressure,
            windows=tuple(window.name for window in self.windows),
            round=self.rounds.number,
            open_round=self.open_round,
        )

    @property
    def pressure(self) -> str | None:
        """Why writers are asked to wait, if they are. A mark that has expired or is from the future is ignored."""
        if "pressure" in self.meta and self._is_recent("pressure_at", limits.PRESSURE_TTL_S):
            return self.meta["pressure"]
        if self._is_recent("memory_at", limits.REFUSED_FOR_S):
            return "memory"
        backlog_bytes = int(self.meta.get("bytes_in", 0)) - int(self.meta.get("bytes_out", 0))
        full = self.stream_entries >= limits.BACKLOG_ENTRIES or backlog_bytes >= limits.BACKLOG_BYTES
        return "backlog" if full else None

    def _is_recent(self, name: str, within_s: float) -> bool:
        return name in self.meta and 0 <= self.now_ms - int(self.meta[name]) < within_s * 1_000


_NUMBERS = (
    "entries_in",
    "bytes_in",
    "reissues",
    "quarantines",
    "delta_bytes",
    "merges",
)


class ShardLook(ShardBase):
    """The questions that a shard answers."""

    def look_call(self, known: Collection[str] = ()) -> Call:
        """The call that looks at the shard, to be sent with others; the windows `known` are left out."""
        names, arguments = self._look_call
        return Call("look", names, [*arguments, *known])

    @cached_property
    def _look_call(self) -> tuple[list[str], list[Any]]:
        keys = self.keys
        names = [keys.meta, keys.cursor, keys.stream, keys.ranges, keys.deltas, keys.dead]
        names += [keys.windows, keys.rounds, keys.marks, keys.published]
        return names, [keys.base, int(self.survey.windows.timed)]

    def look_from(self, reply: Sequence[Any] | Exception) -> Look:
        """The look from the reply to `look_call`; an error is raised."""
        if isinstance(reply, Exception):
            raise reply
        now, meta, _, cut, length, ranges, deltas, dead, rounds, mark, stray, oldest, windows, run_id = reply
        kind, names = self.survey.windows, [name.decode() for name in deltas]
        by_window: dict[str, list[str]] = {}
        for name in names:
            by_window.setdefault(name.partition(":")[0], []).append(name)
        seen = {kind.named(each[0].decode()): _window(each, by_window) for each in windows}
        return Look(
            kind=kind,
            run_id=run_id.decode(),
            now_ms=int(now),
            meta={name.decode(): value.decode() for name, value in _pairs(meta)},
            cut_entries=int(cut),
            stream_entries=int(length),
            dead_letters=int(dead),
            ranges=tuple(sorted((Range.parse(seq, each) for seq, each in _pairs(ranges)), key=lambda one: one.seq)),
            delta_names=tuple(names),
            rounds=StoredRounds.parse({name.decode(): value.decode() for name, value in _pairs(rounds)})
            if rounds
            else NO_ROUNDS,
            mark=mark.decode(),
            stray=stray.decode(),
            oldest_mark_ms=int(oldest) if oldest else None,
            windows={window: seen[window] for window in sorted(seen)},
        )

    def look(self, known: Collection[str] = ()) -> Look:
        """Look at the shard; the windows `known` are left out."""
        call = self.look_call(known)
        return self.look_from(self.node.run(*call))

    def waiting_command(self) -> Command:
        """The command that returns how many batches are not cut yet, to be sent with others."""
        return Command(("LLEN", self.keys.marks))

    def published_command(self) -> Command:
        """The command for how many entries were published so far, and when one was refused for memory, to be sent with
        others."""
        return Command(("HMGET", self.keys.published, "entries_in", "memory_at"))

    def status(self) -> Status:
        """The counters and gauges of the shard now."""
        return self.look().status

    def is_final(self, window: Window) -> bool:
        """Whether nothing can be added to a window any more."""
        return self.look().is_final(window)

    def now_ms(self) -> int:
        """The server's clock, by which windows, leases and ages are measured."""
        return int(self.node.run("now", [self.keys.meta])[0])

    def observed_ms(self) -> int:
        """The observed time, which decides when data is deleted for ever."""
        return int(self.node.run("now", [self.keys.meta])[1])


def _window(reply: Sequence[Any], deltas: Mapping[str, Sequence[str]]) -> WindowLook | None:
    if len(reply) == 1:
        return None
    name, counters, (version, fence, merged), snapshot = reply
    return WindowLook(
        {each.decode(): int(count) for each, count in _pairs(counters)},
        int(version or 0),
        (fence or b"").decode(),
        int(merged or 0),
        int(snapshot) if snapshot else None,
        frozenset(deltas.get(name.decode(), ())),
    )


def _pairs(flat: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The fields of a hash as scripts return it: field, value, field, value, ..."""
    return zip(flat[::2], flat[1::2], strict=True)


def _id(name: str) -> tuple[int, int]:
    milliseconds, number = name.split("-")
    return int(milliseconds), int(number)
