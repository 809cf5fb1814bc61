"""The estimator's pass: what changed is read, compacted, estimated and published; what did not is left alone."""

import logging
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis

from hearsay.collector import limits
from hearsay.collector.errors import CollectorError, UnknownSurvey
from hearsay.collector.roles import ESTIMATOR
from hearsay.collector.store.counters import counters_of, has_deltas
from hearsay.collector.store.reading import Reading, compact, read
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.shard import Shard
from hearsay.collector.store.status import is_final
from hearsay.collector.store.totals import record_merged
from hearsay.collector.survey.windows import Window
from hearsay.estimator.errors import EstimatorError
from hearsay.estimator.live import add, survey_in, up_to, version_of
from hearsay.estimator.retention import forget
from hearsay.estimator.rounds import drive
from hearsay.estimator.snapshots import directory as snapshot
from hearsay.estimator.snapshots import in_redis as published
from hearsay.estimator.snapshots.owner import Owner, is_anothers, own, owned

_LOG = logging.getLogger("hearsay.estimator")
ROLE = ESTIMATOR.name
RETENTION_EVERY_S = 10.0
MERGE_SHARE = 4  # deltas above a quarter of the accumulator are merged into it
MERGE_DELTAS = limits.DELTAS_LIMIT // 8  # many small deltas too, long before CUT has to wait for them
MERGE_BYTES = limits.DELTA_BYTES_LIMIT // 8  # and a few huge ones, whose quarter may be above CUT's limit
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


class Materialiser:
    """Keeps the snapshots of every survey up to date. Several may run: the newest version wins, merges are fenced."""

    def __init__(self, registry: Registry, root: Path | None) -> None:
        self.registry, self.root = registry, root
        self.failures: Counter[str] = Counter()
        self._complained: set[str] = set()
        self._births: dict[str, bytes | None] = {}  # tag: which survey of this definition is remembered
        self._readings: dict[tuple[str, int, str], Reading] = {}  # tag, shard, window
        self._done: dict[tuple[str, str], int] = {}  # tag, window: the version last published
        self._settled: set[tuple[str, str]] = set()  # final, merged and published: never looked at again
        self._resting: dict[tuple[str, str], float] = {}  # tag, window: when a large one is looked at again
        self._server: str | None = None
        self._next_retention = 0.0

    def run_once(self) -> Pass:
        """One pass over every survey. A survey that fails is counted and does not stop the others."""
        self._forget_after_restart()
        result = Pass()
        retention_due = time.monotonic() >= self._next_retention
        tags = set()
        for survey in self.registry.names():
            failed = result.failed
            with self._counted(survey, result):
                registered = self.registry.get(survey)
                tags.add(registered.survey.tag)
                self._forget_after_deletion(registered)
                with self._counted(survey, result):  # a disk that is full for snapshots must not stop a round
                    self._materialise_survey(registered, result)
                drive(registered)
                if retention_due:
                    self._retain(registered, result)
            if result.failed == failed and survey in self._complained:
                self._complained.discard(survey)
                self.registry.content(ROLE, survey)
        if retention_due:
            self._next_retention = time.monotonic() + RETENTION_EVERY_S
            self._remove_deleted()
        self._drop_all_but(tags)
        return result

    @contextmanager
    def _counted(self, survey: str, result: Pass) -> Iterator[None]:
        """A step for a survey: where it fails, that is counted and said to everybody who looks at the pipeline."""
        try:
            yield
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
            raise  # the server is away: that is nobody's survey
        except UnknownSurvey:
            pass  # it was deleted in the meantime
        except Exception as error:
            self.failures[survey] += 1
            result.failed += 1
            _LOG.exception("survey failed", extra={"survey": survey, "error": type(error).__name__})
            words = str(error) if isinstance(error, (CollectorError, EstimatorError)) else type(error).__name__
            self.registry.complain(ROLE, survey, words)
            self._complained.add(survey)

    def _forget_after_restart(self) -> None:
        """A server that restarted may have lost its last second: nothing remembered about it holds."""
        server = self.registry.server_run()
        if server != self._server:
            self._readings.clear()
            self._done.clear()
            self._settled.clear()
            self._resting.clear()
            self._server = server

    def _forget_after_deletion(self, registered: Registered) -> None:
        """A survey that was deleted and added again between two passes begins with nothing."""
        tag, birth = registered.survey.tag, registered.birth
        if self._births.get(tag, birth) != birth:
            self._drop_all_but(self._births.keys() - {tag})
        self._births[tag] = birth

    def _materialise_survey(self, registered: Registered, result: Pass) -> None:
        now_ms = registered.stores[0].now_ms()
        for window in registered.windows:
            key = (registered.survey.tag, window.name)
            if window.end_ms is not None and now_ms < window.end_ms:
                self._settled.discard(key)  # the clock went back: it was final for a while, and is open again
            if key not in self._settled:
                self._materialise_window(registered, window, result)

    def _materialise_window(self, registered: Registered, window: Window, result: Pass) -> None:
        survey, name = registered.survey, window.name
        key = (survey.tag, name)
        parts = up_to(registered, window)
        pairs = [(store, part) for part in parts for store in registered.stores]
        final = all(is_final(store, part) for store, part in pairs)  # before reading: then nothing is missed
        version = version_of((counters_of(store, part.name) for store, part in pairs), final)
        if self._done.get(key) == version:
            return
        if not final and time.monotonic() < self._resting.get(key, 0.0):
            return
        if final and key not in self._done and self._was_settled(registered, name, version):
            self._settled.add(key)
            return
        started = time.monotonic()
        readings = [self._read(store, part.name) for store, part in pairs]
        due = [reading for reading in readings if _is_due(reading, final)]
        merged = sum(self._compact(reading) for reading in due)
        result.merged += merged
        current = add(survey_in(registered, parts), name, readings, final)
        content = current.content()
        published.put(registered, name, content.version, content.short_json(), self.root)
        if self.root is not None:
            own(self.root, survey.name, self._owner(registered))
            snapshot.publish(self.root, content, lambda: published.held_version(registered, name) == content.version)
        if merged == len(due):  # else look again, though nothing changes: CUT may be waiting for a merge
            self._done[key] = content.version
        result.materialised += 1
        duration_s = time.monotonic() - started
        if sum(reading.vector.size for reading in readings) >= LARGE_CELLS:
            self._resting[key] = time.monotonic() + REST * duration_s
        self.registry.observe("materialise", "materialisations", duration_s)
        if final and not any(reading.deltas for reading in readings):
            self._settled.add(key)
            if not survey.windows.cumulative:  # a later round reads it again
                for store in registered.stores:
                    self._readings.pop((survey.tag, store.shard, name), None)

    def _was_settled(self, registered: Registered, window: str, version: int) -> bool:
        """Whether an earlier process already published this final window and merged its deltas."""
        survey = registered.survey
        if published.held_version(registered, window) != version:
            return False
        if self.root is not None and not snapshot.holds(self.root, survey, window, version, final=True):
            return False
        return not any(has_deltas(store, window) for store in registered.stores)

    def _read(self, store: Shard, window: str) -> Reading:
        place = (store.survey.tag, store.shard, window)
        # Taken out while it is brought up to date: half of an update must not be remembered.
        reading = read(store, window, self._readings.pop(place, None))
        self._readings[place] = reading
        return reading

    def _compact(self, reading: Reading) -> bool:
        if not compact(reading):
            return False  # another estimator was first, or the server lost what was read; the next reading starts anew
        record_merged(reading)
        return True

    def _owner(self, registered: Registered) -> Owner:
        return Owner.of(self.registry.deployment, registered.birth)

    def _retain(self, registered: Registered, result: Pass) -> None:
        root = self.root
        if root is not None and is_anothers(root, registered.survey.name, self._owner(registered)):
            root = None  # what another deployment keeps there is none of ours to forget
        for window in forget(registered, root):
            result.purged += 1
            key = (registered.survey.tag, window)
            self._done.pop(key, None)
            self._resting.pop(key, None)
            self._settled.discard(key)

    def _remove_deleted(self) -> None:
        """Remove snapshots of surveys that were deleted, from wherever that was done."""
        if self.root is None:
            return
        written = owned(self.root, self.registry.deployment)
        for name in sorted({*written} - {*self.registry.names()}):
            snapshot.remove_survey(self.root, name)
            _LOG.info("snapshots of a deleted survey removed", extra={"survey": name})

    def _drop_all_but(self, tags: set[str]) -> None:
        """Forget surveys that were deleted."""
        self._births = {tag: birth for tag, birth in self._births.items() if tag in tags}
        self._readings = {key: reading for key, reading in self._readings.items() if key[0] in tags}
        self._done = {key: version for key, version in self._done.items() if key[0] in tags}
        self._settled = {key for key in self._settled if key[0] in tags}
        self._resting = {key: until for key, until in self._resting.items() if key[0] in tags}


def _is_due(reading: Reading, final: bool) -> bool:
    """Whether a window's deltas should be merged now."""
    large = reading.delta_bytes > min(8 * reading.vector.size // MERGE_SHARE, MERGE_BYTES)
    return bool(reading.deltas) and (final or large or len(reading.deltas) >= MERGE_DELTAS)
