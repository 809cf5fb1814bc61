"""The copy of each snapshot's JSON in Redis: what the interface, the metrics and other estimators see.

It also decides which of two estimators was later: a snapshot is stored only over an older one.
"""

import json
from typing import Any

from hearsay.collector.store.registry import Registered

# KEYS snapshot meta, ARGV version json. Versions stay far below 2^53, up to which Lua numbers are exact.
_PUT_IF_NEWER = """
if redis.call('HEXISTS', KEYS[2], 'open') == 0 then return 0 end -- the survey was deleted
local held = redis.call('HGET', KEYS[1], 'version')
if held and tonumber(held) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'json', ARGV[2])
return 1
"""


def put(registered: Registered, window: str, version: int, document: bytes) -> bool:
    """Store a snapshot's JSON, if it is newer than the one held."""
    store = registered.stores[0]
    return bool(store.client.eval(_PUT_IF_NEWER, 2, store.keys.snapshot(window), store.keys.meta, version, document))


def held_version(registered: Registered, window: str) -> int | None:
    """The version of the snapshot held."""
    store = registered.stores[0]
    held = store.client.hget(store.keys.snapshot(window), "version")
    return None if held is None else int(held)


def get(registered: Registered, window: str) -> dict[str, Any] | None:
    """The snapshot's document, without definition."""
    store = registered.stores[0]
    held = store.client.hget(store.keys.snapshot(window), "json")
    return None if held is None else json.loads(held)
