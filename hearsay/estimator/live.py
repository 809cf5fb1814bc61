"""A survey as it is now, straight from accumulators and deltas; no estimator process is needed.

Windows and shards are added as states, never as estimates: the estimate of a sum is exact, a sum of estimates is not.
"""

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hearsay.collector.errors import NotAllowed
from hearsay.collector.store.look import version_of
from hearsay.collector.store.registry import SurveyLook
from hearsay.collector.survey.survey import Survey
from hearsay.collector.survey.windows import Window
from hearsay.collector.wire.rejections import Rejections
from hearsay.estimator.snapshots.content import Content, compose
from hearsay.mechanisms import State
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.queries.answer import Answer


@dataclass
class Sum:
    """Some windows over all shards, added up. The estimate is made once, by whoever asks first."""

    survey: Survey
    state: State
    counters: tuple[Mapping[str, int], ...]  # of each window and shard
    cells: int  # of the domain
    repeats: int = 1  # windows in which devices may have sent the same report again
    source: tuple[object, ...] = ()  # the survey's birth, the runs of its servers, the windows' names
    headline: Sequence[Answer] = ()  # once a snapshot was made of it
    _estimate: Estimate | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def reports(self) -> int:
        return self.survey.mechanism.reports(self.state)

    @cached_property
    def rejected(self) -> Rejections:
        totals: Counter[str] = Counter()
        for each in self.counters:
            totals.update(each)
        return Rejections.from_counters(totals)

    @cached_property
    def identity(self) -> str:
        """Tells what was added up from anything else that the same survey ever held."""
        counted = [sorted(each.items()) for each in self.counters]
        return hashlib.sha256(repr((self.source, counted)).encode()).hexdigest()

    def answered(self, text: str) -> list[Answer]:
        """The answers to a question that the headline asks too; else none."""
        return [each for each in self.headline if each.query == text]

    @property
    def cost(self) -> int:
        """What it takes in a memory of estimates, in cells."""
        return self.cells if self._estimate is None else self._estimate.cost

    def estimate(self) -> Estimate:
        """What the state says."""
        with self._lock:
            if self._estimate is None:
                self.survey.mechanism.check_state(self.state)
                self._estimate = self.survey.mechanism.estimate(self.state)
                object.__setattr__(self._estimate, "repeats", self.repeats)
            return self._estimate


@dataclass(frozen=True)
class Live:
    """The sum of some windows over all shards, under the name by which they were asked for.

    `version` grows with everything that was added.
    """

    sum: Sum
    window: str
    is_final: Callable[[], bool]
    left_out: tuple[str, ...] = ()  # windows below the survey's minimum, which a sum leaves out
    simulated: bool = False  # simulated devices reported to the survey

    @cached_property
    def final(self) -> bool:
        """Whether nothing can be added any more."""
        return self.is_final()

    @cached_property
    def version(self) -> int:
        return version_of(self.sum.counters, self.final)

    @property
    def survey(self) -> Survey:
        return self.sum.survey

    @property
    def state(self) -> State:
        return self.sum.state

    @property
    def rejected(self) -> Rejections:
        return self.sum.rejected

    @property
    def reports(self) -> int:
        return self.sum.reports

    def estimate(self) -> Estimate:
        return self.sum.estimate()

    @cached_property
    def _content(self) -> Content:
        content = compose(
            self.survey,
            self.window,
            self.state,
            version=self.version,
            final=self.final,
            rejected=self.rejected,
            reports=self.sum.reports,
            estimate=self.sum.estimate,
            simulated=self.simulated,
        )
        self.sum.headline = content.answers
        return content

    def content(self) -> Content:
        """What a snapshot of it says."""
        return self._content


def choose(seen: SurveyLook, window: str) -> list[Window]:
    """The windows that `window` names: one by its name, `all` of them, or the `last:N` that hold something."""
    try:
        return seen.survey.windows.choose(window, seen.windows)
    except NotAllowed as error:
        raise QueryError(str(error), **error.fields) from None


def survey_in(seen: SurveyLook, windows: Sequence[Window]) -> Survey:
    """The survey as the newest of these windows asked it."""
    survey = seen.survey
    if not survey.windows.in_rounds or not windows:
        return survey
    return survey.in_round(seen.rounds.history(windows[-1].number))


def too_small(seen: SurveyLook, windows: Sequence[Window]) -> tuple[str, ...]:
    """Windows that a sum leaves out: with them, the difference of two sums would say what a small one alone must not.

    Rounds are parts of one question and are never asked apart.
    """
    survey = seen.survey
    if len(windows) < 2 or survey.windows.in_rounds:
        return ()
    reports = {each.name: sum(one.get("folded", 0) for one in seen.counted[each]) for each in windows}
    left_out = tuple(name for name, number in reports.items() if number < survey.minimum_reports)
    if len(left_out) == len(windows):
        raise QueryError(
            f"answers are withheld until a window has {survey.minimum_reports} reports, all {len(windows)} have fewer"
        )
    return left_out
