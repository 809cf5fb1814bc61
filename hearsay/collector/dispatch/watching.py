"""Which shards of a node need attention: those that lately had something are asked in every pass, the others seldom.

A shard that sleeps is asked for the number of its waiting batches several times a second, and looked at once a minute.
Nothing is written to it but the time that went by: every ten minutes, and at each look where windows are deleted by it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hearsay.collector import limits
from hearsay.collector.store.look import Look
from hearsay.collector.store.node import Node
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.shard import Shard

ASLEEP_AFTER_S = 5.0  # without anything to do
PROBE_S = 0.3  # between two questions to a shard that sleeps: a report that comes is folded within half a second
LOOK_S = 60.0
TRIM_S = 600.0
_SLACK_S = float(limits.LONGEST_STEP_S)


@dataclass
class _Attention:
    """What is known of one shard."""

    awake_until: float
    probed_at: float = 0.0
    looked_at: float | None = None
    trimmed_at: float | None = None


class Watching:
    """The shards of one node, as one process sees them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, _Attention] = {}  # by their names

    def _of(self, shard: Shard) -> _Attention:
        name = shard.name
        if name not in self._known:  # awake until something is known of it
            self._known[name] = _Attention(self._clock() + ASLEEP_AFTER_S)
        return self._known[name]

    def awake(self, node: Node, shards: Sequence[Shard]) -> list[Shard]:
        """Those to cut now; asks the others, where it is time, whether batches wait."""
        now, awake, asked = self._clock(), [], []
        for shard in shards:
            known = self._of(shard)
            if known.awake_until > now:
                awake.append(shard)
            elif known.probed_at + PROBE_S <= now:
                asked.append(shard)
                known.probed_at = now
        if asked:
            for shard, waiting in zip(asked, node.many([shard.waiting_command() for shard in asked]), strict=True):
                if waiting:
                    self.wake(shard)
                    awake.append(shard)
        return awake

    def wake(self, shard: Shard) -> None:
        """Something is to be done there."""
        self._of(shard).awake_until = self._clock() + ASLEEP_AFTER_S

    def heard(self, shard: Shard, answer: Range | str | Exception) -> None:
        """What CUT answered."""
        if answer != "empty":
            self.wake(shard)

    def to_look_at(self, shards: Sequence[Shard], every: bool) -> list[Shard]:
        """Those whose chores are due."""
        now = self._clock()
        due = []
        for shard in shards:
            known = self._of(shard)
            if every or known.looked_at is None or known.awake_until > now or known.looked_at + _look_s(shard) <= now:
                due.append(shard)
        return due

    def looked(self, shard: Shard, look: Look) -> None:
        """What a look showed: a shard with something to do stays awake."""
        self._of(shard).looked_at = self._clock()
        if look.ranges or look.stream_entries or look.mark or look.stray or "pressure" in look.meta or look.open_round:
            self.wake(shard)

    def trim_step_s(self, shard: Shard) -> float | None:
        """How much time one TRIM of a shard that was just looked at may add, by this process's clock; None: not due."""
        known, now = self._of(shard), self._clock()
        since = None if known.trimmed_at is None else now - known.trimmed_at
        sleeps = known.awake_until <= now and shard.survey.retain_s is None
        if since is not None and sleeps and since < TRIM_S:
            return None
        known.trimmed_at = now
        return _SLACK_S + (since or 0.0)

    def forget_all_but(self, shards: Sequence[Shard]) -> None:
        """Shards that were deleted, or moved elsewhere."""
        kept = {shard.name for shard in shards}
        for name in self._known.keys() - kept:
            del self._known[name]


def _look_s(shard: Shard) -> float:
    """How long a shard that sleeps is not looked at."""
    retain_s = shard.survey.retain_s
    return LOOK_S if retain_s is None else min(LOOK_S, retain_s / limits.LOOKS_PER_RETAIN)
