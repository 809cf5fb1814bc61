"""Complaints: reasons why a process cannot work, for the status table, the metrics and the page."""

from typing import NamedTuple

from hearsay.collector import limits
from hearsay.collector.store import keys
from hearsay.collector.store.processes.marks import Marks
from hearsay.collector.store.servers.servers import Servers


class Complaint(NamedTuple):
    """Why a process of a role cannot work, and on what."""

    role: str
    about: str
    words: str


class Complaints:
    """The complaints of all processes."""

    def __init__(self, servers: Servers, prefix: str) -> None:
        self._marks = Marks(servers, keys.complaints(prefix))

    def complain(self, role: str, about: str, words: str, ttl_s: int = limits.HEARTBEAT_TTL_S) -> None:
        """Publish why a process cannot work; the complaint expires unless it is repeated."""
        self._marks.put(role, about, words, ttl_s)

    def withdraw(self, role: str, about: str) -> None:
        """Delete a complaint before it expires."""
        self._marks.remove(role, about)

    def all(self) -> tuple[Complaint, ...]:
        """The complaints that have not expired, sorted by role and subject."""
        return tuple(Complaint(each.role, each.name, each.words) for each in self._marks.all())
