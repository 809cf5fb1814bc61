"""Rounds of a shard: which one takes reports, where each began and ended, and what was made public for it.

A round is closed once and opened once, fenced by its number, so that any process may repeat any step.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import redis

from hearsay.collector.limits import DISK_WAIT_MS
from hearsay.collector.store.node import Command
from hearsay.collector.store.shard_base import ShardBase


@dataclass(frozen=True)
class Round:
    """One round. `closed` is the id of its last entry; `reports_before` counts what was published before it.

    `observed_ms` is the time that the collector had watched go by when it was opened.
    """

    number: int
    parameters: Mapping[str, Any]
    observed_ms: int
    reports_before: int
    closed: str | None


@dataclass(frozen=True)
class RoundsHeld:
    """All rounds of a shard, the first one first."""

    rounds: tuple[Round, ...] = ()
    open: bool = False

    @property
    def number(self) -> int:
        """The newest round; 0: none yet."""
        return len(self.rounds)

    @property
    def newest(self) -> Round:
        return self.rounds[-1]

    def history(self, number: int) -> tuple[Mapping[str, Any], ...]:
        """What `Mechanism.in_round` needs for this round: the parameters of all rounds from the second up to it."""
        return tuple(each.parameters for each in self.rounds[1:number])

    def closed(self, number: int) -> str | None:
        """The id of the last entry of a round; None: it is open, or not there."""
        return self.rounds[number - 1].closed if 1 <= number <= self.number else None

    @classmethod
    def parse(cls, fields: Mapping[str, str]) -> Self:
        """As the shard stores them."""
        rounds = tuple(
            Round(
                number,
                json.loads(fields[f"parameters:{number}"]),
                int(fields.get(f"observed_ms:{number}", 0)),
                int(fields[f"reports:{number}"]),
                fields.get(f"closed:{number}"),
            )
            for number in range(1, int(fields.get("number", 0)) + 1)
        )
        return cls(rounds, fields.get("open") == "1")


NO_ROUNDS = RoundsHeld()


class ShardRounds(ShardBase):
    """What may be done to the rounds of a shard."""

    def rounds(self) -> RoundsHeld:
        """Ask what the shard knows of its rounds."""
        fields = self.node.do("HGETALL", self.keys.rounds)
        return RoundsHeld.parse({name.decode(): value.decode() for name, value in fields.items()})

    def open_round(self, number: int, parameters: Mapping[str, Any]) -> str:
        """Let reports of round `number` in: ok, known where it was opened before, stale where another one is due."""
        return self._step("open", number, json.dumps(dict(parameters), sort_keys=True, allow_nan=False))

    def close_round(self, number: int) -> str:
        """Take no more reports of round `number`: ok, known where it is closed, stale where it is not the newest."""
        return self._step("close", number, "")

    def _step(self, what: str, number: int, parameters: str) -> str:
        keys = self.keys
        names = [keys.rounds, keys.meta, keys.stream, keys.cursor, keys.published]
        return str(self.node.run("round", names, [what, number, parameters]).decode())

    def is_on_disk(self) -> bool:
        """Wait for a moment until all that the server holds is on its disk; False: it is not yet, ask again.

        True also where the server keeps no log, or is too old to tell: then nobody can wait for it.
        """
        node = self.node
        # WAITAOF waits for what was written on the same connection.
        writing = Command(("HSET", self.keys.published, "flushed", 1))
        written, flushed = node.many([writing, Command(("WAITAOF", 1, 0, DISK_WAIT_MS))], raise_errors=False)
        if isinstance(written, redis.exceptions.RedisError):
            raise written
        if self.node is not node:
            return False  # the shard has moved, and another one's log was waited for
        if isinstance(flushed, redis.exceptions.ResponseError):
            return True
        if isinstance(flushed, redis.exceptions.RedisError):
            raise flushed
        return bool(flushed[0] >= 1)
