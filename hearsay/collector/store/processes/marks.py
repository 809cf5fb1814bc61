"""Marks: fields of a hash that count until their time is up, when nobody renews them.

They are together in one key, so that nobody has to look through all keys of a server for them.
"""

from typing import NamedTuple

from hearsay.collector.store.servers.servers import Servers, place_of


class Mark(NamedTuple):
    """A role's process, or what it complains about; how long that still counts, and what it says."""

    role: str
    name: str
    left_ms: int
    words: str


class Marks:
    """The marks of one key."""

    def __init__(self, servers: Servers, key: str) -> None:
        self._key = key
        self._place = place_of(servers, key)

    def put(self, role: str, name: str, words: str, ttl_s: int) -> None:
        """Let a mark count for so long; on a full server too."""
        self._place.node.run("mark", [self._key], [f"{role}:{name}", ttl_s * 1_000, words])

    def remove(self, role: str, name: str) -> None:
        """Take a mark away."""
        self._place.node.do("HDEL", self._key, f"{role}:{name}")

    def all(self) -> list[Mark]:
        """Every mark that counts, by role and name."""
        now, *flat = self._place.node.run("marks", [self._key])
        listed = []
        for field, value in sorted(zip(flat[::2], flat[1::2], strict=True)):
            until, _, words = value.decode().partition(" ")
            role, _, name = field.decode().partition(":")
            if (left_ms := int(until) - int(now)) > 0:
                listed.append(Mark(role, name, left_ms, words))
        return listed
