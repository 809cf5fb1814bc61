"""The JSON of a window's newest snapshot, which a survey's first shard keeps: what the interface, the metrics and other
estimators read. It also decides which of two estimators was later: a snapshot replaces only an older one."""

import json
from typing import Any

from hearsay.collector.store.shard_base import ShardBase


class ShardSnapshots(ShardBase):
    """The newest snapshot of each window."""

    def put_snapshot(self, window: str, version: int, document: bytes, directory: str = "") -> bool:
        """Store a snapshot's JSON over an older one only; `directory` is where its files are written."""
        keys = self.keys
        names = [keys.snapshot(window), keys.meta, keys.places]
        return bool(self.node.run("show", names, [version, document, directory]))

    def snapshot_version(self, window: str) -> int | None:
        """Ask for the version of the snapshot stored."""
        version = self.node.do("HGET", self.keys.snapshot(window), "version")
        return None if version is None else int(version)

    def snapshot(self, window: str) -> dict[str, Any] | None:
        """Ask for the document stored, which is without its definition; None: there is none."""
        document = self.node.do("HGET", self.keys.snapshot(window), "json")
        return None if document is None else json.loads(document)
