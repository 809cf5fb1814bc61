"""What gateways count, all processes together. No address, key or id is in it.

Processes write every second; a killed process loses the counts of its last second. Only metrics use them.
"""

from collections.abc import Mapping

from hearsay.collector.store import keys
from hearsay.collector.store.node import Command
from hearsay.collector.store.servers.servers import Servers, place_of

REQUESTS, ACCEPTED, REFUSED, REJECTED, LOST = "requests", "accepted", "refused:", "rejected:", "lost"


class GatewayCounts:
    """Requests, reports, and those refused or rejected, by code."""

    def __init__(self, servers: Servers, prefix: str) -> None:
        self._key = keys.gateway(prefix)
        self._place = place_of(servers, self._key)

    def add(self, counts: Mapping[str, int]) -> None:
        """Add a process's counts to those of all."""
        self._place.node.many([Command(("HINCRBY", self._key, name, count)) for name, count in counts.items()])

    def all(self) -> dict[str, int]:
        """What all gateways have counted."""
        return {name.decode(): int(count) for name, count in self._place.node.do("HGETALL", self._key).items()}
