"""Dead letters: which entries were rejected, why and when; the payload only where the operator asked to keep it."""

from collections.abc import Iterator
from typing import NamedTuple

from hearsay.collector.store.shard import DeadLetter, Shard

_PAGE = 500


class Rejected(NamedTuple):
    """When the server stored a dead letter, and the letter."""

    time_ms: int
    letter: DeadLetter


def newest(shard: Shard, limit: int) -> list[Rejected]:
    """The newest dead letters of a shard, the newest first."""
    return [
        Rejected(
            int(identity.split(b"-")[0]),
            DeadLetter(
                fields[b"entry"].decode(),
                fields[b"reason"].decode(),
                int(fields[b"length"]),
                fields[b"sha256"].decode(),
                fields.get(b"payload", b""),
            ),
        )
        for identity, fields in shard.client.xrevrange(shard.keys.dead, count=limit)
    ]


def forget(shard: Shard, retain_s: int) -> int:
    """Delete letters older than `retain_s` of the time that the collector has watched; returns how many."""
    oldest, dropped = shard.observed_ms() - retain_s * 1_000, 0
    while page := shard.client.xrange(shard.keys.dead, count=_PAGE):
        old = list(_older(page, oldest))
        if old:
            dropped += int(shard.client.xdel(shard.keys.dead, *old))
        if len(old) < len(page):
            break
    return dropped


def _older(page: list[tuple[bytes, dict[bytes, bytes]]], oldest: int) -> Iterator[bytes]:
    for identity, fields in page:
        if int(fields.get(b"observed_ms", 0)) >= oldest:
            return
        yield identity
