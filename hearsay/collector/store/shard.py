"""One shard in Redis: its steps, each of which is one script, and what can be read from it.

Every change of a count is part of a script. So after any retries, duplicates and crashes, accumulator plus deltas equal
a single fold of the accepted entries.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from hearsay.collector import limits
from hearsay.collector.errors import CollectorError
from hearsay.collector.store.client import Entry
from hearsay.collector.store.dead_letters import DeadLetter, ShardDeadLetters
from hearsay.collector.store.durability import ShardDurability
from hearsay.collector.store.node import Call, Command
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.reading import ShardReading
from hearsay.collector.store.rounds import ShardRounds
from hearsay.collector.store.state import Delta
from hearsay.collector.wire.rejections import Rejections

NO_IDS: Mapping[int, bytes] = {}


@dataclass(frozen=True)
class Published:
    """The reply of PUBLISH. `status` is ok, hello, duplicate, gap, forgotten, known, closed, pressure or unknown.

    `last` is the number of the writer's last stored batch, `observed_ms` the observed time. `known` maps the positions
    of request ids that are stored already to their stored digests; an empty digest means that the server has deleted
    it.
    """

    status: str
    last: int
    cause: str = ""
    observed_ms: int = 0
    known: Mapping[int, bytes] = field(default_factory=dict)


@dataclass
class Commit:
    """The result of folding a range."""

    window: str
    delta: bytes
    folded: int
    rejected: Rejections = field(default_factory=Rejections)
    dead_letters: Sequence[DeadLetter] = ()


class Shard(ShardReading, ShardRounds, ShardDeadLetters, ShardDurability):
    """One stream of one survey with its ledger and accumulators."""

    def open(self) -> None:
        """Let the shard accept reports, and store the limits for PUBLISH; an existing shard keeps its state."""
        meta = self.keys.meta
        settings = {
            "dedup_ms": limits.DEDUP_WINDOW_S * 1_000,
            "max_entries": limits.BACKLOG_ENTRIES,
            "max_bytes": limits.BACKLOG_BYTES,
            "memory_share": limits.MEMORY_SHARE,
        }
        commands = [("HSET", meta, *(word for pair in settings.items() for word in pair))]
        commands += [
            ("HSETNX", meta, "birth", secrets.token_hex(8)),
            ("HSETNX", meta, "open", "1"),
        ]  # `open` comes last
        self.node.many([Command(words) for words in commands])

    def begin_as(self, first: Self) -> None:
        """Open a shard that is added to a survey, in the round of its first shard; it may be repeated."""
        self.open()
        for each in first.rounds().rounds:
            self.open_round(each.number, each.parameters)
            if each.last_entry is not None:
                self.close_round(each.number)
        if not first.look().open:
            self.close()

    def publish(
        self,
        writer: str,
        number: int,
        entries: Sequence[tuple[bytes, bytes]],
        reports: int,
        round_number: int | None = None,
        seen_ms: int = 0,
        ids: Mapping[int, bytes] = NO_IDS,
    ) -> Published:
        """Append a writer's batch of (field, payload) once; in a survey with rounds all are of one round.

        `seen_ms` is `observed_ms` of the last reply to this writer. Number 0 without entries only asks for `last`.
        `ids` are the request ids of the batch, by hour: 8 bytes of each id and 4 bytes of its digest, joined.
        """
        arguments: list[object] = [writer, number, reports, seen_ms, "" if round_number is None else round_number]
        arguments.append(len(ids))
        for pair in (*ids.items(), *entries):
            arguments += pair
        keys = self.keys
        names = [keys.stream, keys.writers, keys.meta, keys.rounds, keys.marks, keys.hours, keys.published]
        names += map(keys.ids, ids)
        status, last, cause, observed_ms, known = self.node.run("publish", names, arguments)
        named = {position - 1: digest for position, digest in zip(known[::2], known[1::2], strict=True)}
        return Published(status.decode(), int(last), cause.decode(), int(observed_ms), named)

    def leave(self, writer: str) -> None:
        """Note that a writer has ended after all its batches were stored."""
        self.node.run("leave", [self.keys.writers, self.keys.meta], [writer, limits.LEFT_WRITER_S * 1_000])

    def cut(self, age_ms: int = limits.CUT_AGE_MS) -> Range | str:
        """The next range, or why there is none: empty, young or deltas."""
        return self.cut_from(self.node.run(*self.cut_call(age_ms)))

    def cut_call(self, age_ms: int = limits.CUT_AGE_MS) -> Call:
        """The call of `cut`, to be sent with others; `cut_from` parses its reply."""
        keys = self.keys
        return Call(
            "cut",
            [keys.stream, keys.cursor, keys.ranges, keys.deltas, keys.meta, keys.rounds, keys.marks, keys.published],
            [
                secrets.token_hex(8),
                self.survey.windows.every_ms,
                limits.RANGE_FRAMES,
                limits.RANGE_SINGLES,
                limits.RANGE_BYTES,
                age_ms,
                limits.DELTAS_LIMIT,
                limits.DELTA_BYTES_LIMIT,
            ],
        )

    def cut_from(self, reply: Sequence[Any]) -> Range | str:
        """The result of `cut` from the reply to `cut_call`."""
        if reply[0] != b"cut":
            return str(reply[0].decode())
        return Range.parse(reply[1], reply[2])

    def range(self, seq: int) -> Range | None:
        """The range with this number, if it is outstanding or quarantined."""
        record = self.node.do("HGET", self.keys.ranges, str(seq))
        return None if record is None else Range.parse(seq, record)

    def range_command(self, seq: int) -> Command:
        """The command that reads the record of a range, to be sent with others."""
        return Command(("HGET", self.keys.ranges, seq))

    def ranges(self) -> list[Range]:
        """Every outstanding or quarantined range, oldest first."""
        records = self.node.do("HGETALL", self.keys.ranges)
        return sorted(
            (Range.parse(seq, record) for seq, record in records.items()), key=lambda entry_range: entry_range.seq
        )

    def entries(self, entry_range: Range) -> list[Entry]:
        """The entries of a range; an error if some are missing."""
        return self.checked(entry_range, self.node.do("XRANGE", self.keys.stream, entry_range.first, entry_range.last))

    def entries_command(self, entry_range: Range) -> Command:
        """The command that reads the entries of a range, to be sent with others; `checked` checks its reply."""
        return Command(("XRANGE", self.keys.stream, entry_range.first, entry_range.last))

    def checked(self, entry_range: Range, entries: list[Entry]) -> list[Entry]:
        """The entries of a range that were read; an error if some are missing."""
        if len(entries) != entry_range.entries:
            where = f"range {entry_range.seq} of {self.survey.name}"
            raise CollectorError(what=where, must=f"have {entry_range.entries} entries", got=len(entries))
        return entries

    def commit(self, entry_range: Range, commit: Commit) -> str:
        """Store the result of a range once: returns ok, or gone, stale or parts if nothing was stored."""
        answer: bytes = self.node.run(*self.commit_call(entry_range, commit))
        return answer.decode()

    def commit_call(self, entry_range: Range, commit: Commit) -> Call:
        """The call of `commit`, to be sent with others; a large delta is staged now."""
        keys = self.keys
        delta = self._staged(commit.delta)
        counters: list[object] = ["folded", commit.folded]
        for name, count in commit.rejected.counters().items():
            counters += (name, count)
        arguments: list[object] = [
            entry_range.seq,
            entry_range.nonce,
            commit.window,
            delta.blob(),
            delta.size,
            limits.DEAD_LETTERS_KEPT,
            len(counters) // 2,
            *counters,
        ]
        for letter in commit.dead_letters[: limits.DEAD_LETTERS_PER_COMMIT]:
            arguments += (letter.entry, letter.reason, letter.length, letter.sha256, letter.payload)
        names = [keys.ranges, keys.deltas, keys.counters(commit.window), keys.meta, keys.dead, keys.windows]
        return Call("commit", [*names, *delta.parts], arguments)

    def _staged(self, delta: bytes) -> Delta:
        """The delta for COMMIT; a large one is first stored in parts, which expire unless COMMIT follows."""
        if len(delta) <= limits.PART_BYTES:
            return Delta(delta, (), len(delta))
        parts: list[str] = []
        nonce = secrets.token_hex(8)
        for start in range(0, len(delta), limits.PART_BYTES):
            parts.append(self.keys.part(nonce, len(parts)))
            self._stage(parts[-1], delta[start : start + limits.PART_BYTES])
        return Delta(b"", tuple(parts), len(delta))

    def _stage(self, name: str, content: bytes) -> None:
        self.node.run("stage", [name], [content, limits.STAGED_TTL_S])

    def reissue(self, entry_range: Range, lease_s: float, retry: bool = False) -> tuple[str, int]:
        """Begin the next attempt at an overdue range; with `retry` also at a quarantined one."""
        arguments = [
            entry_range.seq,
            entry_range.nonce,
            entry_range.attempt,
            limits.ATTEMPTS,
            int(lease_s * 1_000),
            int(retry),
        ]
        reply = self.node.run("reissue", [self.keys.ranges, self.keys.meta], arguments)
        return reply[0].decode(), int(reply[1]) if len(reply) > 1 else entry_range.attempt

    def trim(self) -> int:
        """Delete entries that no range needs any more; returns how many."""
        return int(self.node.run(*self.trim_call()))

    def trim_call(self, longest_step_s: float = limits.LONGEST_STEP_S) -> Call:
        """The call of `trim`, to be sent with others. It adds the time since the last one, at most `longest_step_s`."""
        keys = self.keys
        names = [keys.stream, keys.cursor, keys.ranges, keys.writers, keys.meta, keys.hours]
        return Call("trim", names, [int(longest_step_s * 1_000), limits.WRITERS_AT_ONCE, keys.ids("")])

    def close(self) -> None:
        """Accept no more reports; accepted ones are still folded."""
        self._close("survey", 0, "all")

    def skip_backlog(self, window: str) -> int:
        """Skip the entries that are not cut yet, and count them as skipped in `window`; returns how many."""
        return self._close("backlog", 0, window)

    def skip_range(self, entry_range: Range) -> int:
        """Skip one range; returns the number of its entries, 0 if it was gone."""
        return self._close("range", entry_range.seq, entry_range.window(self.survey.windows).name)

    def _close(self, what: str, seq: int, window: str) -> int:
        keys = self.keys
        names = [keys.stream, keys.cursor, keys.ranges, keys.meta, keys.skipped]
        names += [keys.counters(window), keys.windows, keys.marks, keys.published]
        reply = self.node.run("close", names, [what, seq, window])
        return int(reply[1]) if what != "survey" else 0

    def set_pressure(self, cause: str | None) -> None:
        """Set or remove the back-pressure of a cause that PUBLISH cannot see by itself."""
        self.node.run(*self.pressure_call(cause))

    def pressure_call(self, cause: str | None) -> Call:
        """The call of `set_pressure`, to be sent with others."""
        return Call("pressure", [self.keys.meta], [cause or "", limits.PRESSURE_TTL_S * 1_000])

    def purge_window(self, window: str, retain_s: int = 0) -> bool:
        """Delete a window and add its counters to the totals, atomically. False: it is not `retain_s` old yet."""
        keys = self.keys
        names = [keys.meta, keys.deltas, keys.accumulator(window), keys.counters(window), keys.snapshot(window)]
        return bool(self.node.run("purge", [*names, keys.windows], [window, retain_s * 1_000]) != b"young")
