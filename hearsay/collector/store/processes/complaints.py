"""Complaints: what keeps a process from its work, for everybody who looks at the pipeline."""

from typing import NamedTuple

from hearsay.collector import limits
from hearsay.collector.store import keys
from hearsay.collector.store.node import Node


class Complaint(NamedTuple):
    """What keeps a process of a role from its work on something."""

    role: str
    about: str
    words: str


class Complaints:
    """What processes complain of."""

    def __init__(self, node: Node, prefix: str) -> None:
        self._node, self._prefix = node, prefix

    def complain(self, role: str, about: str, words: str, ttl_s: int = limits.HEARTBEAT_TTL_S) -> None:
        """Let everybody see what keeps a process from its work; it is forgotten when nobody says it again."""
        self._node.run("stage", [keys.complaint(self._prefix, role, about)], [words, ttl_s])

    def withdraw(self, role: str, about: str) -> None:
        """What a process complained of is over."""
        self._node.client.delete(keys.complaint(self._prefix, role, about))

    def all(self) -> tuple[Complaint, ...]:
        """What processes complained of lately, by role and about what."""
        names = sorted(self._node.client.scan_iter(match=keys.complaint(self._prefix, "*", "*"), count=1_000))
        texts = self._node.client.mget(names) if names else []
        start = len(keys.complaint(self._prefix, "", "")) - 1
        complaints = [
            (name.decode()[start:].partition(":"), words.decode())
            for name, words in zip(names, texts, strict=True)
            if words
        ]
        return tuple(Complaint(role, about, words) for (role, _, about), words in complaints)
