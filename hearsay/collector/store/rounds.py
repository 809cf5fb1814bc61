"""Rounds of a shard: which one accepts reports, where each began and ended, and its published parameters.

A round is opened once and closed once. Every step has the number of its round, and a step for another round changes
nothing. So any process may repeat any step.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from hearsay.collector.store.shard_base import ShardBase


@dataclass(frozen=True)
class Round:
    """One round.

    `observed_ms` is the observed time (docs/reference/data-model.md, TRIM) at which it was opened, `reports_before` the
    number of reports published until then. `last_entry` is the id of its last stream entry; None: it is open.
    """

    number: int
    parameters: Mapping[str, Any]
    observed_ms: int
    reports_before: int
    last_entry: str | None


@dataclass(frozen=True)
class StoredRounds:
    """All rounds of a shard, the first one first."""

    rounds: tuple[Round, ...] = ()
    open: bool = False

    @property
    def number(self) -> int:
        """The number of the newest round; 0: there is none yet."""
        return len(self.rounds)

    @property
    def newest(self) -> Round:
        return self.rounds[-1]

    def history(self, number: int) -> tuple[Mapping[str, Any], ...]:
        """The argument of `Mechanism.in_round` for a round: the parameters of all rounds from the second up to it."""
        return tuple(each.parameters for each in self.rounds[1:number])

    def last_entry(self, number: int) -> str | None:
        """The id of the last entry of a round; None: it is open, or was never opened."""
        return self.rounds[number - 1].last_entry if 1 <= number <= self.number else None

    @classmethod
    def parse(cls, fields: Mapping[str, str]) -> Self:
        """From the fields of the shard's hash `rounds`."""
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


NO_ROUNDS = StoredRounds()


class ShardRounds(ShardBase):
    """The steps of a shard that concern its rounds.

    A step returns `ok`; `known` if it was done before; `stale` if it is not this round's turn; `gone` if the survey was
    deleted. Only `ok` changes something.
    """

    def rounds(self) -> StoredRounds:
        """Read all rounds of the shard."""
        fields = self.node.do("HGETALL", self.keys.rounds)
        return StoredRounds.parse({name.decode(): value.decode() for name, value in fields.items()})

    def open_round(self, number: int, parameters: Mapping[str, Any]) -> str:
        """Accept reports of round `number`; `stale` unless the round before it is the newest one, and closed."""
        return self._step("open", number, json.dumps(dict(parameters), sort_keys=True, allow_nan=False))

    def close_round(self, number: int) -> str:
        """Accept no more reports of round `number`; `stale` unless it is the newest one."""
        return self._step("close", number, "")

    def _step(self, action: str, number: int, parameters: str) -> str:
        keys = self.keys
        names = [keys.rounds, keys.meta, keys.stream, keys.cursor, keys.published]
        return str(self.node.run("round", names, [action, number, parameters]).decode())
