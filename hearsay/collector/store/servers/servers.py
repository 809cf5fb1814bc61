"""All servers of a deployment, as one process knows them: which node holds a key now.

Nothing else holds a client. A shard has its place, and asks the node that is there now.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import redis
from redis.crc import key_slot

from hearsay.collector.store.client import Client
from hearsay.collector.store.node import Node
from hearsay.collector.store.servers.cluster import Cluster
from hearsay.collector.store.servers.place import Place
from hearsay.collector.store.servers.plain import PLAIN, timeouts
from hearsay.collector.store.servers.urls import Seed


class Servers(Protocol):
    """One server or many."""

    alone: bool  # whether there is one node only: without it nothing goes on

    @property
    def identity(self) -> str:
        """What tells these servers from others."""

    def place(self, slot: int) -> Place:
        """Where the keys of a slot are, now and later; asks nobody."""

    def nodes(self) -> Sequence[Node]:
        """Every node that takes writes, as known now."""

    def troubles(self) -> list[str]:
        """Ask what is wrong with all of them together, in words."""

    def disconnect(self) -> None:
        """Give all connections back."""


class One:
    """One server, or one that Sentinel names."""

    alone = True

    def __init__(self, node: Node) -> None:
        self._place = Place(node)

    @property
    def identity(self) -> str:
        return self._place.node.address

    def place(self, slot: int) -> Place:
        return self._place

    def nodes(self) -> Sequence[Node]:
        return (self._place.node,)

    def troubles(self) -> list[str]:
        return []

    def disconnect(self) -> None:
        self._place.node.disconnect()


def slot_of(key: str) -> int:
    """The slot of a key, as a cluster counts it."""
    return int(key_slot(key.encode()))


def place_of(servers: Servers, key: str) -> Place:
    """Where a key is."""
    return servers.place(slot_of(key))


def servers_of(given: "Servers | Client") -> Servers:
    """Servers behind a client of redis-py; servers as they are."""
    if isinstance(given, (One, Cluster)):
        return given
    if isinstance(given, redis.RedisCluster):
        known: dict[str, Any] = given.nodes_manager.connection_kwargs
        seeds = [Seed(str(node.host), int(node.port)) for node in given.nodes_manager.nodes_cache.values()]
        kept = {name: known[name] for name in ("username", "password") if known.get(name)}
        return Cluster(seeds, lambda seed, timeout_s: plain_client(seed, timeout_s, kept))
    return One(Node(cast(Client, given)))


def plain_client(seed: Seed, timeout_s: float | None, how: Mapping[str, Any]) -> Client:
    """A client of one server that never repeats a command by itself."""
    return cast(Client, redis.Redis(host=seed.host, port=seed.port, **PLAIN, **timeouts(timeout_s), **how))
