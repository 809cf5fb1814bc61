"""The estimator's pass: what changed is read, compacted, estimated and published; what did not is left alone."""

import logging
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hearsay.collector import limits
from hearsay.collector.agreement import Agreement
from hearsay.collector.errors import ShardsAway, UnknownSurvey
from hearsay.collector.heartbeats import Heartbeat
from hearsay.collector.logs import RepeatedWarnings
from hearsay.collector.queue import MERGE_FORM
from hearsay.collector.roles import ESTIMATOR
from hearsay.collector.sharing import Share
from hearsay.collector.store.looks.survey_look import AWAY
from hearsay.collector.store.reading import Reading
from hearsay.collector.store.registry import Registered, Registry, SurveyLook, look_at
from hearsay.collector.store.state import PACKED_CHUNKS
from hearsay.collector.survey.windows import Window
from hearsay.errors import HearsayError
from hearsay.estimator.attention import Attention
from hearsay.estimator.live import Live
from hearsay.estimator.readings import Readings, WindowProgress
from hearsay.estimator.retention import forget
from hearsay.estimator.rounds import drive
from hearsay.estimator.snapshots import files as snapshot
from hearsay.estimator.snapshots.content import Content, Newest
from hearsay.estimator.snapshots.files import Owner, is_anothers, own, owned

_LOG = logging.getLogger("hearsay.estimator")
ROLE = ESTIMATOR.name
RETENTION_EVERY_S = 10.0
MERGE_PATIENCE_S = 150.0  # for workers to merge a window that is final: a collector looks at it once a minute
MERGE_PATIENCE = 2  # for other windows: how many times as much as is merged may wait for them
# A pass over a large state takes a second, and writes hundreds of megabytes. Such a window is then left alone for three
# times as long, so that it takes a quarter of the estimator's time at most and does not keep small surveys waiting.
LARGE_CELLS = 1 << 20
REST = 3.0


@dataclass
class Pass:
    """What one pass did."""

    materialised: int = 0
    merged: int = 0
    purged: int = 0
    failed: int = 0
    duration_s: float = 0.0  # of what was materialised
    resting: int = 0  # large windows that changed and are left alone for a while
    changed: list[Newest] = field(default_factory=list)  # the snapshots it made
    away: list[str] = field(default_factory=list)  # surveys of which a node did not answer: their last snapshots stay

    @property
    def work(self) -> int:
        """What there was to do."""
        return self.materialised + self.merged + self.purged + self.resting


class Materialiser:
    """Keeps the snapshots of every survey up to date. Several may run: they share the surveys.

    Where two do the same for a moment, the newest version wins and merges are fenced.
    """

    def __init__(self, registry: Registry, root: Path | None, readings: Readings | None = None) -> None:
        self.registry, self.root = registry, root
        self.readings = Readings() if readings is None else readings
        self.failures: Counter[str] = Counter()
        self.attention = Attention()
        self._complained: dict[str, RepeatedWarnings] = {}
        self._next_retention = 0.0
        self.agreement = Agreement(registry)
        self.heartbeat = Heartbeat(registry, ESTIMATOR.name)
        self.share = Share(self.heartbeat)
        self._retained: dict[str, float] = {}  # by tag: when windows that were kept long enough were last looked for

    def run_once(self) -> Pass:
        """One pass over every survey. A survey that fails is counted and does not stop the others."""
        result = Pass()
        records = self.registry.records()
        for seen in self._look(records, result):
            survey, failures, done = seen.survey.name, result.failed, result.work
            with self._counted(survey, result):
                with self._counted(survey, result):  # a disk that is full for snapshots must not stop a round
                    self._materialise_survey(seen, result)
                if seen.survey.windows.in_rounds:
                    drive(seen.registered, seen=seen, readings=self.readings)
                if self._retention_is_due(seen):
                    self._retain(seen, result)
            failed = result.failed > failures
            self.attention.looked(seen, failed or result.work > done)
            if not failed and survey in self._complained:
                with self._unless_away():
                    self.registry.complaints.withdraw(ESTIMATOR.name, survey)
                    del self._complained[survey]
        with self._unless_away():
            if result.materialised:
                self.registry.timings.observe("materialise", "materialisations", result.duration_s, result.materialised)
        if time.monotonic() >= self._next_retention:
            self._next_retention = time.monotonic() + RETENTION_EVERY_S
            self._remove_deleted(set(records))
        return result

    def _retention_is_due(self, seen: SurveyLook) -> bool:
        now, tag = time.monotonic(), seen.survey.tag
        if now < self._retained.get(tag, 0.0):
            return False
        self._retained[tag] = now + RETENTION_EVERY_S
        return True

    def _look(self, records: Mapping[str, bytes], result: Pass) -> list[SurveyLook]:
        """Look at the surveys that this version can read, where it is time.

        What is settled is not looked into, but for rounds.
        """
        surveys: list[Registered] = []
        for name, record in records.items():
            with self._counted(name, result):
                surveys.append(self.registry.registered(record))
        tags = {each.survey.tag: each for each in surveys}
        self.readings.forget_all_but(set(tags))
        settled = {tag: self.readings.settled(tag) for tag, each in tags.items() if not each.survey.windows.in_rounds}
        mine = surveys
        if not self.share.alone:
            mine = [each for each in surveys if self.share.is_mine(each.survey.name)]
        self.attention.forget_all_but(mine)
        failed: dict[str, Exception] = {}
        looks = look_at(self.attention.due(mine), settled, failed)
        for name, error in failed.items():
            self.attention.lost(name, error)
            with self._counted(name, result):
                raise error
        return looks

    @contextmanager
    def _unless_away(self) -> Iterator[None]:
        """What may be left out while one of several nodes is away."""
        try:
            yield
        except AWAY:
            if self.registry.servers.alone:
                raise

    @contextmanager
    def _counted(self, survey: str, result: Pass) -> Iterator[None]:
        """A step for a survey: where it fails, that is counted and said to everybody who looks at the pipeline."""
        try:
            yield
        except AWAY:
            if self.registry.servers.alone:
                raise  # the server is away: that is nobody's survey
            result.away.append(survey)  # the last snapshot stays
        except ShardsAway:
            result.away.append(survey)
        except UnknownSurvey:
            pass  # it was deleted in the meantime
        except Exception as error:
            self.failures[survey] += 1
            result.failed += 1
            warnings = self._complained.setdefault(survey, RepeatedWarnings(_LOG))
            if isinstance(error, HearsayError):  # a full disk, another deployment's folder: no fault of the program
                words = str(error)
                warnings.warning(f"survey {survey}: {words}", survey=survey, error=words)
            else:
                words = type(error).__name__
                _LOG.exception("survey failed", extra={"survey": survey, "error": words})
            with self._unless_away():
                self.registry.complaints.complain(ESTIMATOR.name, survey, words)

    def _materialise_survey(self, seen: SurveyLook, result: Pass) -> None:
        for window in seen.windows:
            progress = self.readings.progress(seen, window)
            if window.end_ms is not None and seen.now_ms < window.end_ms:
                # The clock went back: it was final for a while, and is open again.
                progress.settled, progress.final_at = False, None
            if not progress.settled:
                self._materialise_window(seen, window, progress, result)

    def _materialise_window(self, seen: SurveyLook, window: Window, progress: WindowProgress, result: Pass) -> None:
        parts, final, version = seen.basis(window)
        if final and progress.final_at is None:
            progress.final_at = time.monotonic()
        by_workers = self.agreement.forms.jobs >= MERGE_FORM and not _is_overdue(progress)
        if progress.published == version:
            if not final:
                return
            if not any(look.at(part).deltas for look in seen.shards for part in parts):
                self._settle(seen, window, progress)
                return
            if by_workers:
                return
        if not final and time.monotonic() < progress.resting_until:
            result.resting += 1
            return
        if final and progress.published is None and self._was_settled(seen, window, version):
            progress.settled = True
            return
        started = time.monotonic()
        total, _ = self.readings.read(seen, parts)
        layout = self.agreement.forms.accumulators
        compaction = self.readings.compact(
            seen, parts, lambda reading: _is_due(reading, final, layout, by_workers), layout, final
        )
        result.merged += compaction.merged
        current = Live(total, window.name, lambda: final, simulated=seen.simulated_reports > 0)
        self._publish(seen, current.content())
        result.changed.append(Newest.of(current.content()))
        if compaction.merged == compaction.due:  # else look again, though nothing changes: CUT may wait for a merge
            progress.published = current.version
        result.materialised += 1
        duration_s = time.monotonic() - started
        result.duration_s += duration_s
        if len(parts) * sum(shard.cells for shard in seen.registered.shards) >= LARGE_CELLS:
            progress.resting_until = time.monotonic() + REST * duration_s
        if final and not compaction.waiting:
            self._settle(seen, window, progress)

    def _settle(self, seen: SurveyLook, window: Window, progress: WindowProgress) -> None:
        progress.settled = True
        self.readings.drop_window(seen, window)

    def _publish(self, seen: SurveyLook, content: Content) -> None:
        """Redis first: what stands there decides which of two estimators was later."""
        first, window = seen.registered.shards[0], content.window
        directory = "" if self.root is None else f"{socket.gethostname()}:{self.root.resolve()}"
        first.put_snapshot(window, content.version, content.short_json(), directory)
        if self.root is not None:
            own(self.root, seen.survey.name, self._owner(seen))
            snapshot.publish(self.root, content, lambda: first.snapshot_version(window) == content.version)

    def _was_settled(self, seen: SurveyLook, window: Window, version: int) -> bool:
        """Whether an earlier process already published this final window and merged its deltas."""
        if seen.shards[0].at(window).snapshot_version != version:
            return False
        if self.root is not None and not snapshot.holds(self.root, seen.survey, window.name, version, final=True):
            return False
        return not any(look.at(window).deltas for look in seen.shards)

    def _owner(self, seen: SurveyLook) -> Owner:
        return Owner(self.registry.deployment, seen.birth)

    def _retain(self, seen: SurveyLook, result: Pass) -> None:
        root = self.root
        if root is not None and is_anothers(root, seen.survey.name, self._owner(seen)):
            root = None  # another deployment wrote the files there: they stay
        for window in forget(seen.registered, root, seen):
            result.purged += 1
            self.readings.forget_window(seen, seen.survey.windows.named(window))

    def _remove_deleted(self, names: set[str]) -> None:
        """Remove snapshots of surveys that were deleted, from wherever that was done."""
        if self.root is None:
            return
        for name in sorted({*owned(self.root, self.registry.deployment)} - names):
            snapshot.remove_survey(self.root, name)
            _LOG.info("snapshots of a deleted survey removed", extra={"survey": name})


def _is_overdue(progress: WindowProgress) -> bool:
    """Whether workers had time enough to merge a final window."""
    return progress.final_at is not None and time.monotonic() > progress.final_at + MERGE_PATIENCE_S


def _is_due(reading: Reading, final: bool, layout: int, by_workers: bool) -> bool:
    """Whether this process should merge a window's deltas now, or pack a final one; `by_workers`: they merge."""
    if final and reading.whole and layout >= PACKED_CHUNKS > reading.layout:
        return True
    bytes_due = min(8 * reading.vector.size // limits.MERGE_SHARE, limits.MERGE_BYTES)
    if by_workers:
        bytes_due = max(bytes_due, limits.MERGE_LEAST_BYTES)
    times = MERGE_PATIENCE if by_workers else 1
    many = reading.delta_bytes > times * bytes_due or len(reading.deltas) >= times * limits.MERGE_DELTAS
    return bool(reading.deltas) and (many or (final and not by_workers))
