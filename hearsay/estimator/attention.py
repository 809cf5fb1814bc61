"""Which surveys a pass looks at: those that lately had something to do, and of the others those that changed.

A survey that sleeps is asked every two seconds whether anything was published to it, or refused for memory. It is
looked at once a minute, or more often if its windows are deleted sooner. What was seen last stays known, for metrics
and checks of health.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hearsay.collector import limits
from hearsay.collector.store.look import Look
from hearsay.collector.store.node import ask
from hearsay.collector.store.registry import Registered, SurveyLook

ASLEEP_AFTER_S = 5.0  # without anything to do
PROBE_S = 2.0
LOOK_S = 60.0


@dataclass
class _Attention:
    """What is known of one survey."""

    awake_until: float
    looked_at: float = 0.0
    probed_at: float = 0.0
    published: tuple[object, ...] = ()  # what was published and refused, by shard, when it was asked last
    window_end: float | None = None  # when, by this process's clock, its window ends


class Attention:
    """The surveys of a process, with the last look at each."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, _Attention] = {}  # by tag
        self.looks: dict[str, SurveyLook] = {}  # by name; all windows are looked into
        self.failed: dict[str, Exception] = {}  # by name: surveys that could not be looked at as a whole

    def due(self, surveys: Sequence[Registered]) -> list[Registered]:
        """Those to look at now."""
        now, due, asleep = self._clock(), [], []
        for registered in surveys:
            known = self._known.get(registered.survey.tag)
            if known is None:
                known = self._known[registered.survey.tag] = _Attention(now + ASLEEP_AFTER_S)
            if known.window_end is not None and known.window_end <= now:
                known.awake_until, known.window_end = now + ASLEEP_AFTER_S, None
            if known.awake_until > now or known.looked_at + _look_s(registered) <= now:
                due.append(registered)
            elif known.probed_at + PROBE_S <= now:
                known.probed_at = now
                asleep.append(registered)
        return [*due, *self._changed(asleep)] if asleep else due

    def _changed(self, surveys: Sequence[Registered]) -> list[Registered]:
        """Those to which something was published, or refused for memory, and those that do not answer."""
        shards = [shard for registered in surveys for shard in registered.shards]
        replies = ask((shard.node, shard.published_command()) for shard in shards)
        answers = dict(zip(shards, replies, strict=True))
        changed = []
        for registered in surveys:
            known = self._known[registered.survey.tag]
            published = tuple(answers[shard] for shard in registered.shards)
            if published != known.published:
                changed.append(registered)
        return changed

    def looked(self, seen: SurveyLook, busy: bool) -> None:
        """What a pass saw of a survey; `busy`: it had something to do there."""
        name, now = seen.survey.name, self._clock()
        known = self._known[seen.survey.tag]
        known.looked_at = now
        known.published = tuple(_published(look) for look in seen.shards)
        waits = any(look.mark or look.stray or look.ranges or look.rounds.open for look in seen.shards)
        # Under pressure nothing is published, and the metrics say why.
        if busy or waits or any(look.pressure for look in seen.shards):
            known.awake_until = now + ASLEEP_AFTER_S
        windows = seen.survey.windows
        if windows.timed and (end_ms := windows.of(seen.now_ms, None).end_ms) is not None:
            known.window_end = now + (end_ms - seen.now_ms) / 1_000
        self.looks[name] = _filled(seen, self.looks.get(name))
        self.failed.pop(name, None)

    def lost(self, name: str, error: Exception) -> None:
        """A survey could not be looked at; what was seen of it last stays."""
        self.failed[name] = error

    def forget_all_but(self, surveys: Iterable[Registered]) -> None:
        """Forget surveys that were deleted."""
        names, tags = set(), set()
        for registered in surveys:
            names.add(registered.survey.name)
            tags.add(registered.survey.tag)
        self._known = {tag: each for tag, each in self._known.items() if tag in tags}
        self.looks = {name: each for name, each in self.looks.items() if name in names and each.survey.tag in tags}
        self.failed = {name: each for name, each in self.failed.items() if name in names}


def _look_s(registered: Registered) -> float:
    """How long a survey that sleeps is not looked at."""
    retain_s = registered.survey.retain_s
    return LOOK_S if retain_s is None else min(LOOK_S, retain_s / limits.LOOKS_PER_RETAIN)


def _published(look: Look) -> list[bytes | None]:
    """As the shard stores it, and `published_command` returns it."""
    fields = (look.meta.get(name) for name in ("entries_in", "memory_at"))
    return [None if field is None else field.encode() for field in fields]


def _filled(seen: SurveyLook, before: SurveyLook | None) -> SurveyLook:
    """With what was seen before of windows that a pass does not look into any more, since they are settled."""
    if before is None or before.birth != seen.birth or len(before.shards) != len(seen.shards):
        return seen
    if not any(None in look.windows.values() for look in seen.shards):
        return seen
    shards = []
    for look, earlier in zip(seen.shards, before.shards, strict=True):
        windows = {window: each or earlier.windows.get(window) for window, each in look.windows.items()}
        shards.append(replace(look, windows=windows))
    return SurveyLook.of(seen.registered, tuple(shards), seen.asked_at)
