"""Dead letters: what was refused, why and when; the payload only where the operator asked to keep it."""

from collections.abc import Iterator
from dataclasses import dataclass

from hearsay.collector.store.shard import Shard

_PAGE = 500


@dataclass(frozen=True)
class Refusal:
    """A dead letter as it is kept. `time_ms` is when it was refused, `entry` the id that it had in the stream."""

    time_ms: int
    entry: str
    reason: str
    length: int
    sha256: str
    payload: bytes


def newest(shard: Shard, limit: int) -> list[Refusal]:
    """The newest dead letters of a shard, the newest first."""
    return [
        Refusal(
            int(identity.split(b"-")[0]),
            fields[b"entry"].decode(),
            fields[b"reason"].decode(),
            int(fields[b"length"]),
            fields[b"sha256"].decode(),
            fields.get(b"payload", b""),
        )
        for identity, fields in shard.client.xrevrange(shard.keys.dead, count=limit)
    ]


def forget(shard: Shard, retain_s: int) -> int:
    """Forget those kept for so long, by the time that the collector has watched go by; answers how many."""
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
