"""Which servers take reports now. A gateway is ready only where at least one does: else it refuses every request."""

from collections.abc import Mapping
from typing import NamedTuple

from redis.exceptions import RedisError

from hearsay.collector.limits import MEMORY_SHARE
from hearsay.collector.store.durability import why_not_durable
from hearsay.collector.store.node import Node
from hearsay.collector.store.servers.servers import Servers


class Taking(NamedTuple):
    """`refusing` has why a node takes no reports, by its address. Everybody may read the reasons."""

    nodes: int
    refusing: Mapping[str, str]

    def reasons(self) -> str:
        """Each reason once."""
        return "; ".join(dict.fromkeys(self.refusing.values()))

    def trouble(self) -> str | None:
        """Why no report can be taken; None: some can."""
        return f"no reports can be taken: {self.reasons()}" if len(self.refusing) == self.nodes else None

    def of_parts(self) -> list[str]:
        """What cannot be taken while the rest can."""
        return (
            [f"{len(self.refusing)} of {self.nodes} nodes take no reports: {self.reasons()}"] if self.refusing else []
        )


def taking(servers: Servers, durable: str) -> Taking:
    """Ask every node; `durable` is the level that reports must reach. A server that is alone and away is an error."""
    nodes, refusing = servers.nodes(), {}
    for node in nodes:
        try:
            reason = _why_not(node, durable)
        except RedisError:
            if servers.alone:
                raise
            reason = "a node does not answer"
        if reason is not None:
            refusing[node.address] = reason
    return Taking(len(nodes), refusing)


def _why_not(node: Node, durable: str) -> str | None:
    seen = node.condition()
    if not seen.writes:
        return "the server cannot write to its disk"
    if seen.short:
        return f"the server's memory is above {MEMORY_SHARE:.0%} of its limit"
    reason = why_not_durable(node, durable)
    return None if reason is None else f"durable = {durable} is promised, and the server {reason}"
