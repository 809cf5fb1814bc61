"""Dead letters: which entries were rejected, why and when; with the payload only if the operator asked for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from hearsay.collector.store.client import Entry
from hearsay.collector.store.shard_base import ShardBase

_PAGE = 500


@dataclass(frozen=True)
class DeadLetter:
    """A rejected entry: its id, reason and length; its payload only if the operator asked for it."""

    entry: str
    reason: str
    length: int
    sha256: str
    payload: bytes = b""


class StoredLetter(NamedTuple):
    """When the server stored a dead letter, and the letter."""

    time_ms: int
    letter: DeadLetter


class ShardDeadLetters(ShardBase):
    """The dead letters of a shard."""

    def newest_dead_letters(self, limit: int) -> list[StoredLetter]:
        """The newest dead letters, at most `limit`, the newest first."""
        return [
            StoredLetter(
                int(identity.split(b"-")[0]),
                DeadLetter(
                    fields[b"entry"].decode(),
                    fields[b"reason"].decode(),
                    int(fields[b"length"]),
                    fields[b"sha256"].decode(),
                    fields.get(b"payload", b""),
                ),
            )
            for identity, fields in self.node.do("XREVRANGE", self.keys.dead, "+", "-", "COUNT", limit)
        ]

    def forget_dead_letters(self, observed_ms: int, retain_s: int) -> int:
        """Delete letters older than `retain_s` by the observed time `observed_ms`; returns how many."""
        oldest, dropped = observed_ms - retain_s * 1_000, 0
        while page := self.node.do("XRANGE", self.keys.dead, "-", "+", "COUNT", _PAGE):
            old = list(_older(page, oldest))
            if old:
                dropped += int(self.node.do("XDEL", self.keys.dead, *old))
            if len(old) < len(page):
                break
        return dropped


def _older(page: list[Entry], oldest: int) -> Iterator[bytes]:
    for identity, fields in page:
        if int(fields.get(b"observed_ms", 0)) >= oldest:
            return
        yield identity
