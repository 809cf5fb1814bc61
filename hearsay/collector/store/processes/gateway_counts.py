"""Counters of all gateway processes together, without any address, key or id.

Processes add to them every second; a killed process loses the counts of its last second. Only metrics use them.
"""

from collections.abc import Mapping

from hearsay.collector.store import keys
from hearsay.collector.store.node import Command
from hearsay.collector.store.servers.servers import Servers, slot_of

REQUESTS, ACCEPTED, REFUSED, REJECTED, LOST = "requests", "accepted", "refused:", "rejected:", "lost"


class GatewayCounts:
    """Requests, reports, and refused and rejected ones by code."""

    def __init__(self, servers: Servers, prefix: str) -> None:
        self._key = keys.gateway(prefix)
        self._slot = slot_of(servers, self._key)

    def add(self, counts: Mapping[str, int]) -> None:
        """Add the counts of a process."""
        self._slot.node.many([Command(("HINCRBY", self._key, name, count)) for name, count in counts.items()])

    def all(self) -> dict[str, int]:
        """The counts of all gateways."""
        return {name.decode(): int(count) for name, count in self._slot.node.do("HGETALL", self._key).items()}
