"""Complaints: what keeps a process from its work, for everybody who looks at the pipeline."""

from typing import NamedTuple

from hearsay.collector import limits
from hearsay.collector.store import keys
from hearsay.collector.store.processes.marks import Marks
from hearsay.collector.store.servers.servers import Servers


class Complaint(NamedTuple):
    """What keeps a process of a role from its work on something."""

    role: str
    about: str
    words: str


class Complaints:
    """What processes complain of."""

    def __init__(self, servers: Servers, prefix: str) -> None:
        self._marks = Marks(servers, keys.complaints(prefix))

    def complain(self, role: str, about: str, words: str, ttl_s: int = limits.HEARTBEAT_TTL_S) -> None:
        """Let everybody see what keeps a process from its work; it is forgotten when nobody says it again."""
        self._marks.put(role, about, words, ttl_s)

    def withdraw(self, role: str, about: str) -> None:
        """What a process complained of is over."""
        self._marks.remove(role, about)

    def all(self) -> tuple[Complaint, ...]:
        """What processes complained of lately, by role and about what."""
        return tuple(Complaint(each.role, each.name, each.words) for each in self._marks.all())
