"""All surveys at a glance: one document for every viewer, made at most once a second, and only where somebody looks."""

import json
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import redis

from hearsay.collector.health.loop import Health
from hearsay.collector.health.troubles import Trouble, troubles
from hearsay.collector.heartbeats import Alive, alive
from hearsay.collector.store.condition import why
from hearsay.collector.store.registry import Registry, SurveyLook
from hearsay.estimator.serving.known import Known
from hearsay.estimator.snapshots.content import Newest

AT_MOST_EVERY_S = 1.0
STALE_PASSES = 3  # periods without a pass after which answers are called stale


class Overview:
    """Makes the document; every viewer within a second gets the same bytes."""

    def __init__(
        self,
        registry: Registry,
        health: Health,
        newest: Mapping[str, Newest],
        period_s: float,
        known: Known | None = None,
    ) -> None:
        self._registry, self._health, self._newest = registry, health, newest
        self._known = Known(registry, health) if known is None else known
        self._stale_s = STALE_PASSES * max(period_s, AT_MOST_EVERY_S)
        self._lock = threading.Lock()
        self._made_at = -AT_MOST_EVERY_S
        self._bytes = b""
        self._newest_document: dict[str, Any] | None = None
        self._folded: dict[str, tuple[float, int]] = {}  # by survey: when, and how many reports, at the last look
        self._others: dict[str, Newest] = {}  # by survey: snapshots of other processes

    def document(self) -> bytes:
        """The overview as JSON, at most a second old."""
        with self._lock:
            now = time.monotonic()
            if now - self._made_at >= AT_MOST_EVERY_S:
                self._bytes = json.dumps(self._current(now), allow_nan=False).encode()
                self._made_at = time.monotonic()
            return self._bytes

    def _current(self, now: float) -> dict[str, Any]:
        """Of now; while the server is away what was seen last, with the reason."""
        try:
            self._newest_document = self._make(now)
        except redis.exceptions.RedisError as error:
            if self._newest_document is None:
                raise
            return self._outdated(self._newest_document, why(error))
        return self._newest_document

    def _outdated(self, document: dict[str, Any], reason: str) -> dict[str, Any]:
        state = "stale" if self._health.since_pass_s() > self._stale_s else "still"
        rows = [{**row, "state": state, "rate": None, "troubles": [reason]} for row in document["surveys"]]
        return {**document, "surveys": rows, "troubles": [reason]}

    def _make(self, now: float) -> dict[str, Any]:
        surveys, failed = self._known.seen()
        listed = troubles(self._registry, surveys, failed)
        rows = [self._row(seen, listed, now, seen.survey.name in failed) for seen in surveys]
        self._folded = {seen.survey.name: (now, _folded(seen)) for seen in surveys}
        return {
            "surveys": rows,
            "processes": [process._asdict() for process in self._alive()],
            "troubles": [trouble.words for trouble in listed],
        }

    def _alive(self) -> list[Alive]:
        try:
            return alive(self._registry)
        except redis.exceptions.RedisError:
            if self._registry.servers.alone:
                raise
            return []  # the node that knows it is away, which is among the troubles

    def _row(self, seen: SurveyLook, listed: list[Trouble], now: float, in_part: bool) -> dict[str, Any]:
        survey, folded, newest = seen.survey, _folded(seen), self._newest_of(seen)
        own = [trouble for trouble in listed if trouble.survey in (survey.name, None) and trouble.holds_up]
        earlier = self._folded.get(survey.name)
        return {
            "name": survey.name,
            "kind": survey.mechanism.domain.kind,
            "mechanism": survey.mechanism.ID,
            "epsilon": survey.epsilon,
            "reports": folded,
            "simulated": seen.simulated_reports,
            "rate": None if earlier is None else max(folded - earlier[1], 0) / max(now - earlier[0], 1e-3),
            "waiting": seen.waiting_reports,
            "waiting_age_s": max((look.status.backlog_age_s for look in seen.shards), default=0.0),
            "rejected": sum(look.totals.rejected.reports for look in seen.shards),
            "window": seen.windows[-1].name if seen.windows else None,
            "status": None if newest is None else newest.status,
            "age_s": None if newest is None else max((datetime.now(UTC) - newest.generated_at).total_seconds(), 0.0),
            "state": "stale" if in_part else self._state(seen, bool(own)),
            "headline": None if newest is None else newest.headline,
            "troubles": [trouble.words for trouble in own],
        }

    def _reports(self, seen: SurveyLook) -> int:
        """Of all windows that are kept: what `all` answers from."""
        return sum(each.get("folded", 0) for counters in seen.counted.values() for each in counters)

    def _state(self, seen: SurveyLook, is_incomplete: bool) -> str:
        if self._health.since_pass_s() > self._stale_s:
            return "stale"
        if is_incomplete:
            return "still"
        if not any(look.open for look in seen.shards):
            return "closed"
        reports = self._reports(seen)
        if not reports:
            return "none"
        return "few" if reports < seen.survey.minimum_reports else "live"

    def _newest_of(self, seen: SurveyLook) -> Newest | None:
        """What this process published last; after a restart, or beside another estimator, what stands in Redis."""
        name = seen.survey.name
        own, other = self._newest.get(name), self._others.get(name)
        if not seen.windows:
            return None
        window = seen.windows[-1]
        version = seen.shards[0].at(window).snapshot_version
        for known in (own, other):
            if known is not None and known.window == window.name and known.version >= (version or 0):
                return known
        try:
            document = seen.registered.shards[0].snapshot(window.name)
        except redis.exceptions.RedisError:
            return own
        if document is None:
            return own
        self._others[name] = Newest.stored(document)
        return self._others[name]


def _folded(seen: SurveyLook) -> int:
    """Reports ever folded, windows that were purged included: a rate must not fall below 0 when one goes."""
    return sum(look.totals.folded for look in seen.shards)
