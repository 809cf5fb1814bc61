"""What was rejected, by reason: as counted by a worker, stored by COMMIT, shown by snapshots, metrics and `status`."""

from collections.abc import Mapping
from typing import NamedTuple, Self

_KIND = "rejected:"


class RejectedCount(NamedTuple):
    """Stream entries rejected as a whole, and reports rejected; an entry that cannot be read has no known reports."""

    entries: int = 0
    reports: int = 0


class Rejections(dict[str, RejectedCount]):
    """Reason to what was rejected for it. The reason is a stable code and also a metric's label."""

    def add(self, reason: str, entries: int, reports: int) -> None:
        before = self.get(reason, RejectedCount())
        self[reason] = RejectedCount(before.entries + entries, before.reports + reports)

    def __iadd__(self, other: Mapping[str, RejectedCount]) -> Self:
        for reason, rejected in other.items():
            self.add(reason, *rejected)
        return self

    @classmethod
    def from_counters(cls, counters: Mapping[str, int], prefix: str = "") -> Self:
        """From a window's counters, or from those that a purge left behind under a prefix; other counters stay out."""
        result, start = cls(), prefix + _KIND
        for name, count in counters.items():
            reason, _, what = name.removeprefix(start).rpartition(":")
            if name.startswith(start) and what in RejectedCount._fields:
                result.add(reason, *RejectedCount(**{what: count}))
        return result

    def counters(self) -> dict[str, int]:
        """The counters that COMMIT raises."""
        return {
            f"{_KIND}{reason}:{what}": count
            for reason, rejected in self.items()
            for what, count in rejected._asdict().items()
        }

    def table(self) -> dict[str, dict[str, int]]:
        """As a document shows it, by reason."""
        return {reason: rejected._asdict() for reason, rejected in sorted(self.items())}

    @property
    def reports(self) -> int:
        """Reports rejected for any reason."""
        return sum(rejected.reports for rejected in self.values())
