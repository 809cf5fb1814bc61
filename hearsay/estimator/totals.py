"""Totals of a shard over all its windows, those that were purged included: they never fall, as counters must not."""

from dataclasses import dataclass, field

from hearsay.collector.store.reading import Reading
from hearsay.collector.store.shard import Shard
from hearsay.collector.store.status import GONE

# KEYS accumulator, ARGV reports. Never backwards: of two estimators the slower one may come late.
_RAISE_MERGED = """
if redis.call('HEXISTS', KEYS[1], 'version') == 0 then return end -- purged or deleted in the meantime
local held = redis.call('HGET', KEYS[1], 'reports')
if not held or tonumber(held) < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'reports', ARGV[1]) end
"""


@dataclass
class Totals:
    """Reports of one shard."""

    folded: int = 0
    merged: int = 0
    rejected: dict[str, dict[str, int]] = field(default_factory=dict)  # reason: entries, reports

    def add(self, counters: dict[bytes, bytes], prefix: str = "") -> None:
        """Add a window's counters, or those that a purge left behind under a prefix."""
        for name, count in counters.items():
            words = name.decode()
            if not words.startswith(prefix):
                continue
            kind, *rest = words.removeprefix(prefix).split(":")
            if kind == "folded":
                self.folded += int(count)
                self.merged += int(count) if prefix else 0  # what was purged had been merged, or is gone as well
            elif kind == "rejected" and len(rest) == 2:
                reason, what = rest
                counts = self.rejected.setdefault(reason, {"entries": 0, "reports": 0})
                counts[what] = counts.get(what, 0) + int(count)


def totals(store: Shard, windows: tuple[str, ...]) -> Totals:
    """Add a shard's windows up, with one pipelined read."""
    result = Totals()
    pipeline = store.client.pipeline(transaction=True)  # a purge in between would count a window twice or not at all
    pipeline.hgetall(store.keys.meta)
    for window in windows:
        pipeline.hgetall(store.keys.counters(window))
        pipeline.hget(store.keys.accumulator(window), "reports")
    meta, *rest = pipeline.execute()
    result.add(meta, GONE)
    for counters, merged in zip(rest[::2], rest[1::2], strict=True):
        result.add(counters)
        result.merged += int(merged or 0)
    return result


def record_merged(reading: Reading) -> None:
    """Remember how many reports an accumulator holds, right after all of the reading was merged into it."""
    store = reading.shard
    reports = store.survey.mechanism.reports(reading.state)
    store.client.eval(_RAISE_MERGED, 1, store.keys.accumulator(reading.window), reports)
