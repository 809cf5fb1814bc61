"""Marks: fields of one Redis hash, each with an expiry time of its own. Heartbeats and complaints are marks.

All are in one key, so that reading them does not scan all keys of a server.
"""

from typing import NamedTuple

from hearsay.collector.limits import HEARTBEAT_TTL_S
from hearsay.collector.store.servers.servers import Servers, slot_of


class Mark(NamedTuple):
    """The field `role:name`, which expires in `left_ms`, and its text.

    `name` is a process in a heartbeat, and what a complaint is about in a complaint.
    """

    role: str
    name: str
    left_ms: int
    words: str


class Marks:
    """All marks in one key."""

    def __init__(self, servers: Servers, key: str) -> None:
        self._key = key
        self._slot = slot_of(servers, key)

    def put(self, role: str, name: str, words: str, ttl_s: int) -> None:
        """Set or renew a mark for `ttl_s` seconds, also on a server whose memory is full.

        It also shortens marks that would last longer than a heartbeat, which the server's clock causes when it goes
        back.
        """
        arguments = [f"{role}:{name}", ttl_s * 1_000, words, HEARTBEAT_TTL_S * 1_000]
        self._slot.node.run("mark", [self._key], arguments)

    def remove(self, role: str, name: str) -> None:
        """Delete a mark before it expires."""
        self._slot.node.do("HDEL", self._key, f"{role}:{name}")

    def all(self) -> list[Mark]:
        """The marks that have not expired, sorted by role and name."""
        now_ms, *fields_and_values = self._slot.node.run("marks", [self._key])
        marks = []
        for field, value in sorted(zip(fields_and_values[::2], fields_and_values[1::2], strict=True)):
            until_ms, _, words = value.decode().partition(" ")
            role, _, name = field.decode().partition(":")
            if (left_ms := int(until_ms) - int(now_ms)) > 0:
                marks.append(Mark(role, name, left_ms, words))
        return marks
