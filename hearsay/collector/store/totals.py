"""Totals of a shard over all its windows, those that were purged included: they never fall, as counters must not."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hearsay.collector.store import counters
from hearsay.collector.store.reading import Reading
from hearsay.collector.store.shard import Shard
from hearsay.collector.store.status import Status
from hearsay.collector.wire.rejections import Rejections


@dataclass
class Totals:
    """Reports of one shard."""

    folded: int = 0
    merged: int = 0
    rejected: Rejections = field(default_factory=Rejections)

    @property
    def accounted(self) -> int:
        """Reports that were looked at: folded or refused."""
        return self.folded + self.rejected.reports


def totals(store: Shard, windows: Iterable[str]) -> Totals:
    """Add a shard's windows up."""
    purged, held = counters.counted(store, windows)
    result = Totals()
    for found, merged in [*held, (purged, purged.get("folded", 0))]:  # what was purged had been merged, or is gone
        result.folded += found.get("folded", 0)
        result.merged += merged
        result.rejected += Rejections.from_counters(found)
    return result


def waiting_reports(seen: Status, total: Totals) -> int:
    """Reports of a shard that were published and are in no answer yet; 0 where no entry waits.

    By the number that writers gave: an entry that was refused as a whole had reports that nobody could count.
    """
    return max(seen.published_reports - total.accounted, 0) if seen.waiting_entries else 0


def record_merged(reading: Reading) -> None:
    """Remember how many reports an accumulator holds, right after all of the reading was merged into it."""
    store = reading.shard
    counters.record_merged(store, reading.window, store.survey.mechanism.reports(reading.state))
