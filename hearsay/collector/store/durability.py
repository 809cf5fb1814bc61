"""How safe a stored batch is before its writer is told: in the server's memory, on its disk, or on a replica.

The server answers two questions on one connection: which batch of a writer it has, and whether a write that comes after
that batch is on disk or on a replica. A server that took over meanwhile answers for itself, so that a batch which it
never had is not taken for safe.
"""

import redis

from hearsay.collector.errors import ServerError
from hearsay.collector.limits import DISK_WAIT_MS
from hearsay.collector.store.node import Command, Node
from hearsay.collector.store.shard_base import ShardBase

LEVELS = MEMORY, DISK, REPLICA = ("memory", "disk", "replica")  # each safer than the one before
_REPLICA_WAIT_MS = 500


def safest(*levels: str | None) -> str:
    """The highest of some levels; None asks for nothing."""
    return max((level for level in levels if level is not None), key=LEVELS.index, default=MEMORY)


def is_kept(node: Node, writing: Command) -> bool:
    """Wait for a moment until all that a server holds is on its disk, and on a replica where it has one.

    False: it is not yet, ask again. `writing` changes nothing that counts: a server waits for what the same connection
    wrote. True also where the server keeps no log, or is too old to tell: then nobody can wait for it.
    """
    flushing = Command(("WAITAOF", 1, 0, DISK_WAIT_MS))
    replication, written, flushed = node.many([Command(("INFO", "replication")), writing, flushing], raise_errors=False)
    if isinstance(written, redis.exceptions.RedisError):
        raise written
    if not isinstance(flushed, redis.exceptions.ResponseError):
        if isinstance(flushed, redis.exceptions.RedisError):
            raise flushed
        if flushed[0] < 1:
            return False
    if not isinstance(replication, dict) or not replication.get("connected_slaves"):
        return True
    _, replicas = node.many([writing, Command(("WAIT", 1, _REPLICA_WAIT_MS))])
    return bool(replicas >= 1)


class ShardDurability(ShardBase):
    """What a shard's server can say about it."""

    def is_kept(self) -> bool:
        """Wait for a moment until all that the shard's server holds outlives it; False: not yet, ask again."""
        node = self.node
        kept = is_kept(node, Command(("HSET", self.keys.published, "flushed", 1)))
        return kept and self.node is node  # else the shard has moved, and another server was waited for

    def durable_up_to(self, writer: str, level: str) -> int | None:
        """Wait for a moment; the writer's last batch that is safe at this level. None: it is not yet, ask again."""
        node = self.node
        waiting = ("WAITAOF", 1, 0, DISK_WAIT_MS) if level == DISK else ("WAIT", 1, _REPLICA_WAIT_MS)
        calls = [
            Command(("HGET", self.keys.writers, writer)),
            Command(("HSET", self.keys.published, "flushed", 1)),  # the wait is for what this connection wrote
            Command(waiting),
        ]
        last_batch, written, waited = node.many(calls, raise_errors=False)
        for reply in (last_batch, written, waited):
            if isinstance(reply, redis.exceptions.RedisError):
                raise reply
        if self.node is not node:
            return None  # the shard has moved, and another server was waited for
        is_safe = (waited[0] if level == DISK else waited) >= 1
        return int(last_batch.split()[0] if last_batch else 0) if is_safe else None

    def check_durable(self, level: str) -> None:
        """ServerError where the shard's server cannot keep what the level promises."""
        check_durable(self.node, level)


def check_durable(node: Node, level: str) -> None:
    """ServerError where a server cannot keep what the level promises."""
    if level == MEMORY:
        return
    refused, promise = (
        f"durable {level} cannot be promised by server {node.address}",
        f"a server that keeps {level}",
    )

    def error(why: str) -> ServerError:
        return ServerError(f"{refused}: {why}", what="durable", expected=promise, got=node.address)

    if level == DISK:
        if not node.client.info("persistence").get("aof_enabled"):
            raise error("it keeps no log; set appendonly yes")
        try:
            node.do("WAITAOF", 0, 0, 1)
        except redis.exceptions.ResponseError:
            raise error("it is older than Redis 7.2 and has no WAITAOF") from None
    elif not node.client.info("replication").get("connected_slaves"):
        raise error("it has no replica")
