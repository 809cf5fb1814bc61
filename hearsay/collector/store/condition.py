"""The condition of a server: how full its memory is, and whether it can write its log.

A server with full memory accepts no jobs, and one whose disk fails accepts no writes. Services distinguish both from a
server that cannot be reached.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import redis

from hearsay.collector.limits import MEMORY_SHARE, MIB


class Informed(Protocol):
    """A client of a server, for data or for the queue."""

    def info(self, section: str | None = None) -> Any: ...


KEEPS = "noeviction"


@dataclass(frozen=True)
class Condition:
    """Memory and log of a server. `limit_bytes` 0 is no limit; `used_bytes` is what the server compares with the limit.

    `policy` is what the server does at the limit: with any but `noeviction` it deletes keys, and so loses counts.
    """

    used_bytes: int
    limit_bytes: int
    writes: bool
    policy: str = KEEPS

    @property
    def full(self) -> bool:
        """Whether commands that take memory are refused."""
        return 0 < self.limit_bytes <= self.used_bytes

    @property
    def short(self) -> bool:
        """Whether writers are asked to wait."""
        return 0 < self.limit_bytes * MEMORY_SHARE <= self.used_bytes

    def words(self) -> str:
        """How much of its memory is used."""
        share = 100 * self.used_bytes / max(self.limit_bytes, 1)
        return f"{self.used_bytes / MIB:,.1f} of {self.limit_bytes / MIB:,.1f} MiB ({share:.0f}%)"


def condition(client: Informed) -> Condition:
    """Ask the server for its condition."""
    information = {**client.info("memory"), **client.info("persistence")}
    # Buffers of the log and of replicas do not count towards the limit.
    used = int(information["used_memory"]) - int(information.get("mem_not_counted_for_evict", 0))
    writes = all(information.get(name, "ok") == "ok" for name in ("aof_last_write_status", "rdb_last_bgsave_status"))
    policy = str(information.get("maxmemory_policy", KEEPS))
    return Condition(used, int(information.get("maxmemory", 0)), writes, policy)


def is_disk_trouble(error: redis.exceptions.RedisError) -> bool:
    """Whether the server refused a command because it cannot write its log."""
    return str(error).startswith("MISCONF")


def why(error: redis.exceptions.RedisError, server: str = "the Redis server") -> str:
    """A message why a server does not serve a command; `server` names it, where people may know which it is."""
    if isinstance(error, redis.exceptions.OutOfMemoryError):
        return f"{server}'s memory is full"
    if is_disk_trouble(error):
        return f"{server} cannot write to its disk and takes nothing until it can"
    if isinstance(error, redis.exceptions.NoPermissionError):
        return f"{server} does not let this user do what the role needs; see hearsay redis acl"
    return f"{server} cannot be reached"
