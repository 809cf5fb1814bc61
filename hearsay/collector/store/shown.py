"""The JSON of a window's newest snapshot, held in a survey's first shard."""

from hearsay.collector.store.shard import Shard


def show(shard: Shard, window: str, version: int, document: bytes, place: str = "") -> bool:
    """Store a snapshot's JSON, if it is newer than the one held; `place` is where its files are written."""
    keys = shard.keys
    names = [keys.snapshot(window), keys.meta, keys.places]
    return bool(shard.scripts("show", names, [version, document, place]))


def shown_version(shard: Shard, window: str) -> int | None:
    """The version of the snapshot held."""
    held = shard.client.hget(shard.keys.snapshot(window), "version")
    return None if held is None else int(held)


def shown(shard: Shard, window: str) -> bytes | None:
    """The JSON held."""
    found: bytes | None = shard.client.hget(shard.keys.snapshot(window), "json")
    return found
