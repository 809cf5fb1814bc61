"""How safe a stored batch is before its writer is acknowledged: in the server's memory, on its disk, or on a replica.

Two questions go over one connection: which batch of the writer the server has, and whether a write after that batch is
on disk or on a replica. If another server took over in between, the answer is about that server, so a batch that it
never had is not acknowledged.
"""

import redis

from hearsay.collector.errors import ServerError
from hearsay.collector.limits import DISK_WAIT_MS
from hearsay.collector.store.node import Command, Node
from hearsay.collector.store.shard_base import ShardBase

LEVELS = MEMORY, DISK, REPLICA = ("memory", "disk", "replica")  # each safer than the one before
_REPLICA_WAIT_MS = 500


def safest(*levels: str | None) -> str:
    """The safest of some levels; None is ignored."""
    return max((level for level in levels if level is not None), key=LEVELS.index, default=MEMORY)


def is_kept(node: Node, writing: Command) -> bool:
    """Wait briefly until all data of a server is on its disk, and on a replica if it has one; False: not yet.

    A server waits only for what the same connection wrote, so `writing` is sent first; it changes no count. True also
    if the server has no log, or is too old to wait for it.
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
    """Waiting until the data of a shard is durable."""

    def is_kept(self) -> bool:
        """Wait briefly until all data of the shard's server is durable; False: not yet, ask again."""
        node = self.node
        kept = is_kept(node, Command(("HSET", self.keys.published, "flushed", 1)))
        return kept and self.node is node  # otherwise the shard has moved to another server than the one that was asked

    def durable_up_to(self, writer: str, level: str) -> int | None:
        """Wait briefly; returns the writer's last batch that is durable at this level. None: not yet, ask again."""
        node = self.node
        waiting = ("WAITAOF", 1, 0, DISK_WAIT_MS) if level == DISK else ("WAIT", 1, _REPLICA_WAIT_MS)
        calls = [
            Command(("HGET", self.keys.writers, writer)),
            Command(("HSET", self.keys.published, "flushed", 1)),  # the server waits for what this connection wrote
            Command(waiting),
        ]
        last_batch, written, waited = node.many(calls, raise_errors=False)
        for reply in (last_batch, written, waited):
            if isinstance(reply, redis.exceptions.RedisError):
                raise reply
        if self.node is not node:
            return None  # the shard has moved to another server than the one that was asked
        is_safe = (waited[0] if level == DISK else waited) >= 1
        return int(last_batch.split()[0] if last_batch else 0) if is_safe else None

    def check_durable(self, level: str) -> None:
        """Raise ServerError if the shard's server cannot provide this level."""
        check_durable(self.node, level)

    def why_not_durable(self, level: str) -> str | None:
        """Why the shard's server cannot provide this level; None: it can."""
        return why_not_durable(self.node, level)


def check_durable(node: Node, level: str) -> None:
    """Raise ServerError if a server cannot provide this level."""
    if reason := why_not_durable(node, level):
        raise ServerError(
            f"durable {level} cannot be promised by server {node.address}: it {reason}",
            what="durable",
            expected=f"a server that keeps {level}",
            got=node.address,
        )


def why_not_durable(node: Node, level: str) -> str | None:
    """What a server lacks for this level; None: nothing."""
    if level == DISK:
        if not node.keeps_log():
            return "keeps no log; set appendonly yes"
        try:
            node.do("WAITAOF", 0, 0, 1)
        except redis.exceptions.ResponseError:
            return "is older than Redis 7.2 and has no WAITAOF"
    elif level == REPLICA and not node.replicas():
        return "has no replica"
    return None
