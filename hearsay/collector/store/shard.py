"""One shard in Redis: what may be done to it, each as one script, and what can be read from it.

Everything that changes a count goes through a script, so that any mixture of retries, duplicates and crashes leaves
accumulator plus deltas equal to a single fold of the accepted entries.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from hearsay.collector import limits
from hearsay.collector.errors import CollectorError
from hearsay.collector.store.client import Entry
from hearsay.collector.store.dead_letters import ShardDeadLetters
from hearsay.collector.store.durability import ShardDurability
from hearsay.collector.store.node import Call, Command
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.reading import ShardReading
from hearsay.collector.store.rounds import ShardRounds
from hearsay.collector.store.state import Delta
from hearsay.collector.wire.rejections import Rejections

NO_IDS: Mapping[int, bytes] = {}


@dataclass(frozen=True)
class DeadLetter:
    """A rejected entry: its id, reason and length; the payload only where the operator asked to keep it."""

    entry: str
    reason: str
    length: int
    sha256: str
    payload: bytes = b""


@dataclass(frozen=True)
class Published:
    """What PUBLISH answered: ok, hello, duplicate, gap, forgotten, known, closed, pressure or unknown.

    `last` is the writer's last stored number, `observed_ms` the time that the collector has watched go by. `known` has
    the positions of ids that the server has, each with the digest that it has them with; empty: it has forgotten them.
    """

    status: str
    last: int
    cause: str = ""
    observed_ms: int = 0
    known: Mapping[int, bytes] = field(default_factory=dict)


@dataclass
class Commit:
    """All that a folded range adds."""

    window: str
    delta: bytes
    folded: int
    rejected: Rejections = field(default_factory=Rejections)
    dead_letters: Sequence[DeadLetter] = ()


class Shard(ShardReading, ShardRounds, ShardDeadLetters, ShardDurability):
    """One stream of one survey with its ledger and accumulators."""

    def open(self) -> None:
        """Let PUBLISH in, and tell it the limits; a shard that exists already stays as it is."""
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
        """Open a shard that a survey gets later, in the round that its first one is in; again changes nothing."""
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
        """Append a writer's batch of (field, payload) once, all of one round where there are rounds.

        `seen_ms` is `observed_ms` of the last answer that this writer got. Number 0 with no entries says hello.
        `ids` are those of the requests that the batch holds, by hour: 8 bytes of each id and 4 of its digest, joined.
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
        """A writer ends in good order."""
        self.node.run("leave", [self.keys.writers, self.keys.meta], [writer, limits.LEFT_WRITER_S * 1_000])

    def cut(self, age_ms: int = limits.CUT_AGE_MS) -> Range | str:
        """The next range, or why there is none: empty, young, deltas."""
        return self.cut_from(self.node.run(*self.cut_call(age_ms)))

    def cut_call(self, age_ms: int = limits.CUT_AGE_MS) -> Call:
        """The call that cuts, to be sent with others; `cut_from` reads its answer."""
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
        """What the answer to `cut_call` says."""
        if reply[0] != b"cut":
            return str(reply[0].decode())
        return Range.parse(reply[1], reply[2])

    def range(self, seq: int) -> Range | None:
        """A range that is still outstanding or quarantined."""
        record = self.node.do("HGET", self.keys.ranges, str(seq))
        return None if record is None else Range.parse(seq, record)

    def range_command(self, seq: int) -> Command:
        """The command that asks for a range's record, to be sent with others."""
        return Command(("HGET", self.keys.ranges, seq))

    def ranges(self) -> list[Range]:
        """Every outstanding or quarantined range, oldest first."""
        records = self.node.do("HGETALL", self.keys.ranges)
        return sorted((Range.parse(seq, record) for seq, record in records.items()), key=lambda found: found.seq)

    def entries(self, found: Range) -> list[Entry]:
        """A range's entries; an error where the server does not hold them all."""
        return self.checked(found, self.node.do("XRANGE", self.keys.stream, found.first, found.last))

    def entries_command(self, found: Range) -> Command:
        """The command that reads a range's entries, to be sent with others; `checked` looks at its answer."""
        return Command(("XRANGE", self.keys.stream, found.first, found.last))

    def checked(self, found: Range, entries: list[Entry]) -> list[Entry]:
        """A range's entries as they were read; an error where some are missing."""
        if len(entries) != found.entries:
            raise CollectorError(
                f"range {found.seq} of {self.survey.name} must have {found.entries} entries, got {len(entries)}"
            )
        return entries

    def commit(self, found: Range, commit: Commit) -> str:
        """Store what a range adds, once: ok, or gone, stale or parts, after which nothing was stored."""
        answer: bytes = self.node.run(*self.commit_call(found, commit))
        return answer.decode()

    def commit_call(self, found: Range, commit: Commit) -> Call:
        """The call that commits, to be sent with others; a large delta is staged at once."""
        keys = self.keys
        delta = self._staged(commit.delta)
        counters: list[object] = ["folded", commit.folded]
        for name, count in commit.rejected.counters().items():
            counters += (name, count)
        arguments: list[object] = [
            found.seq,
            found.nonce,
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
        """The delta as COMMIT takes it; a large one is stored in parts first, which go away if COMMIT never comes."""
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

    def reissue(self, found: Range, lease_s: float, retry: bool = False) -> tuple[str, int]:
        """Take the next attempt at an overdue range; `retry` takes a quarantined one back."""
        arguments = [found.seq, found.nonce, found.attempt, limits.ATTEMPTS, int(lease_s * 1_000), int(retry)]
        reply = self.node.run("reissue", [self.keys.ranges, self.keys.meta], arguments)
        return reply[0].decode(), int(reply[1]) if len(reply) > 1 else found.attempt

    def trim(self) -> int:
        """Drop entries that no range can need any more; answers how many."""
        return int(self.node.run(*self.trim_call()))

    def trim_call(self, longest_step_s: float = limits.LONGEST_STEP_S) -> Call:
        """The call that does so, to be sent with others; of the time since the last one at most so much counts."""
        keys = self.keys
        names = [keys.stream, keys.cursor, keys.ranges, keys.writers, keys.meta, keys.hours]
        return Call("trim", names, [int(longest_step_s * 1_000), limits.WRITERS_AT_ONCE, keys.ids("")])

    def close(self) -> None:
        """Take no more reports; what was accepted is still folded."""
        self._close("survey", 0, "all")

    def skip_backlog(self, window: str) -> int:
        """Give up entries that are not cut yet, counted as skipped in `window`; answers how many."""
        return self._close("backlog", 0, window)

    def skip_range(self, found: Range) -> int:
        """Give up one range; answers its entries, 0 where it was gone."""
        return self._close("range", found.seq, found.window(self.survey.windows).name)

    def _close(self, what: str, seq: int, window: str) -> int:
        keys = self.keys
        names = [keys.stream, keys.cursor, keys.ranges, keys.meta, keys.skipped]
        names += [keys.counters(window), keys.windows, keys.marks, keys.published]
        reply = self.node.run("close", names, [what, seq, window])
        return int(reply[1]) if what != "survey" else 0

    def set_pressure(self, cause: str | None) -> None:
        """Mark the shard as under pressure for a cause that PUBLISH cannot see by itself, or take the mark away."""
        self.node.run(*self.pressure_call(cause))

    def pressure_call(self, cause: str | None) -> Call:
        """The call that does so, to be sent with others."""
        return Call("pressure", [self.keys.meta], [cause or "", limits.PRESSURE_TTL_S * 1_000])

    def purge_window(self, window: str, retain_s: int = 0) -> bool:
        """Forget a window; its counters go into the totals in the same step. False: not kept for `retain_s` yet."""
        keys = self.keys
        names = [keys.meta, keys.deltas, keys.accumulator(window), keys.counters(window), keys.snapshot(window)]
        return bool(self.node.run("purge", [*names, keys.windows], [window, retain_s * 1_000]) != b"young")
