"""A survey as it is now, straight from accumulators and deltas; no estimator process is needed.

Windows and shards are added as states, never as estimates: the estimate of a sum is exact, a sum of estimates is not.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hearsay.collector.store.reading import Reading, read
from hearsay.collector.store.registry import Registered
from hearsay.collector.store.state import Vector, unflatten
from hearsay.collector.store.status import is_final
from hearsay.collector.survey.survey import Survey
from hearsay.collector.survey.windows import ALL, Whole, Window
from hearsay.collector.wire.rejections import Rejections
from hearsay.estimator.snapshots.content import Content, compose
from hearsay.mechanisms import State
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.roles import EstimatorSide


@dataclass(frozen=True)
class Live:
    """The sum of some windows over all shards. `version` grows with everything that was added."""

    survey: Survey
    window: str
    version: int
    final: bool
    state: State
    rejected: Rejections
    left_out: tuple[str, ...] = ()  # windows below the survey's minimum, which a sum leaves out

    def estimate(self) -> Estimate:
        return self.survey.mechanism.estimate(self.state)

    def content(self) -> Content:
        """What a snapshot of it would say."""
        return compose(
            self.survey, self.window, self.state, version=self.version, final=self.final, rejected=self.rejected
        )


def live(registered: Registered, window: str = ALL) -> Live:
    """Read what a window (its name, `all`, or `last:N`) holds at this moment."""
    chosen = choose(registered, window)
    survey = survey_in(registered, chosen)
    pairs = [(store, each) for each in chosen for store in registered.stores]
    # Before reading: then nothing is missed. All windows together are final only when no other can begin.
    ended = isinstance(survey.windows, Whole) or window != ALL or registered.closed
    final = ended and bool(pairs) and all(is_final(store, each) for store, each in pairs)
    readings = {each.name: [read(store, each.name) for store in registered.stores] for each in chosen}
    left_out = _too_small(survey, readings)
    if chosen and len(left_out) == len(chosen):
        raise QueryError(
            f"answers are withheld until a window has {survey.minimum_reports} reports, all {len(chosen)} have fewer"
        )
    kept = [reading for name, found in readings.items() if name not in left_out for reading in found]
    return replace(add(survey, window, kept, final), left_out=left_out)


def _too_small(survey: Survey, readings: Mapping[str, Sequence[Reading]]) -> tuple[str, ...]:
    """Windows that a sum leaves out: with them, the difference of two sums would say what a small one alone must not.

    Rounds are parts of one question and are never asked apart.
    """
    if len(readings) < 2 or survey.windows.cumulative:
        return ()
    held = {name: sum(reading.folded for reading in found) for name, found in readings.items()}
    return tuple(name for name, reports in held.items() if reports < survey.minimum_reports)


def add(survey: Survey, window: str, readings: Sequence[Reading], final: bool) -> Live:
    """Add readings up. The state of a single one is not copied."""
    total: Vector | None = None
    for reading in readings:
        total = reading.vector if total is None else total + reading.vector
    mechanism: EstimatorSide = survey.mechanism
    state = mechanism.empty() if total is None else unflatten(mechanism, total)
    rejected = Rejections()
    for reading in readings:
        rejected += reading.rejected
    version = version_of((reading.counters for reading in readings), final)
    return Live(survey, window, version, final, state, rejected)


def version_of(counters: Iterable[Mapping[str, int]], final: bool) -> int:
    """A number that grows with every commit, with every skip, and once more when the window becomes final."""
    changes = sum(each.get("commits", 0) + each.get("rejected:skipped:entries", 0) for each in counters)
    return 2 * changes + final


def choose(registered: Registered, window: str) -> list[Window]:
    """The windows that `window` names: one by its name, `all` of them, or the `last:N` that hold something.

    A round is nothing without those before it: its name means all of them up to it.
    """
    known = registered.windows
    if window == ALL:
        return known
    last = re.fullmatch(r"last:([1-9]\d{0,8})", window, re.ASCII)
    if last and not registered.survey.windows.cumulative:
        return known[-int(last[1]) :]
    for found in known:
        if found.name == window:
            return up_to(registered, found)
    newest = ", ".join(each.name for each in known[-3:]) or "none yet"
    allowed = "all or a round" if registered.survey.windows.cumulative else "all, last:N or a window"
    raise QueryError(f"window must be {allowed} with reports (newest: {newest}), got {window}")


def up_to(registered: Registered, window: Window) -> list[Window]:
    """The windows that a window's estimate stands on: itself, and where it is a round, all before it."""
    if not registered.survey.windows.cumulative:
        return [window]
    return [each for each in registered.windows if each <= window]


def survey_in(registered: Registered, windows: Sequence[Window]) -> Survey:
    """The survey as the newest of these windows asked it."""
    survey = registered.survey
    if not survey.windows.cumulative or not windows:
        return survey
    return survey.in_round(registered.rounds.history(windows[-1].number))
