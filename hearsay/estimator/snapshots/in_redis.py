"""The copy of each snapshot's JSON in Redis: what the interface, the metrics and other estimators see.

It also decides which of two estimators was later: a snapshot is stored only over an older one.
"""

import json
import socket
from pathlib import Path
from typing import Any

from hearsay.collector.store.registry import Registered


def put(registered: Registered, window: str, version: int, document: bytes, root: Path | None = None) -> bool:
    """Store a snapshot's JSON, if it is newer than the one held, and under which directory its files are."""
    directory = "" if root is None else f"{socket.gethostname()}:{root.resolve()}"
    return registered.stores[0].put_snapshot(window, version, document, directory)


def held_version(registered: Registered, window: str) -> int | None:
    """The version of the snapshot held."""
    return registered.stores[0].snapshot_version(window)


def get(registered: Registered, window: str) -> dict[str, Any] | None:
    """The snapshot's document, without definition."""
    document = registered.stores[0].snapshot(window)
    return None if document is None else json.loads(document)
