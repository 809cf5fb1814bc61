"""All servers of a deployment, as one process knows them: which node has a key now.

Only nodes have clients. A shard has its slot, and sends its calls to the node of the slot.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import redis
from redis.crc import key_slot

from hearsay.collector.store.client import Client
from hearsay.collector.store.node import Node
from hearsay.collector.store.servers.cluster import Cluster
from hearsay.collector.store.servers.plain import PLAIN, timeouts
from hearsay.collector.store.servers.slot import Slot
from hearsay.collector.store.servers.urls import Seed


class Servers(Protocol):
    """One server or many."""

    alone: bool  # whether there is only one node

    @property
    def identity(self) -> str:
        """A text that identifies these servers."""

    def slot(self, number: int) -> Slot:
        """The slot of this number, whose node stays up to date; asks no server."""

    def nodes(self) -> Sequence[Node]:
        """Every master, as known now."""

    def troubles(self) -> list[str]:
        """Ask what is wrong with the servers together; messages."""

    def disconnect(self) -> None:
        """Close all connections."""


class One:
    """One server, or one that Sentinel names."""

    alone = True

    def __init__(self, node: Node) -> None:
        self._slot = Slot(node)

    @property
    def identity(self) -> str:
        return self._slot.node.address

    def slot(self, number: int) -> Slot:
        return self._slot

    def nodes(self) -> Sequence[Node]:
        return (self._slot.node,)

    def troubles(self) -> list[str]:
        return []

    def disconnect(self) -> None:
        self._slot.node.disconnect()


def silent(servers: Servers) -> str:
    """The address of the server, or of the nodes of a cluster that do not reply, for a log line about trouble."""
    return ", ".join(node.address for node in servers.nodes() if node.away) or servers.identity


def slot_number(key: str) -> int:
    """The number of a key's slot, as in a Redis Cluster."""
    return int(key_slot(key.encode()))


def slot_of(servers: Servers, key: str) -> Slot:
    """The slot of a key."""
    return servers.slot(slot_number(key))


def servers_of(given: "Servers | Client") -> Servers:
    """The servers of a client of redis-py; servers are returned unchanged."""
    if isinstance(given, (One, Cluster)):
        return given
    if isinstance(given, redis.RedisCluster):
        parameters: dict[str, Any] = given.nodes_manager.connection_kwargs
        seeds = [Seed(str(node.host), int(node.port)) for node in given.nodes_manager.nodes_cache.values()]
        user = {name: parameters[name] for name in ("username", "password") if parameters.get(name)}
        return Cluster(seeds, lambda seed, timeout_s: plain_client(seed, timeout_s, user))
    return One(Node(cast(Client, given)))


def plain_client(seed: Seed, timeout_s: float | None, user: Mapping[str, Any]) -> Client:
    """A client of one server that never repeats a command by itself."""
    return cast(Client, redis.Redis(host=seed.host, port=seed.port, **PLAIN, **timeouts(timeout_s), **user))
