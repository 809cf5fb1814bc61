"""Metrics for Prometheus, from what the estimator's loop saw last; no process keeps counts of its own.

Workers count inside COMMIT, so a count is as exact as the state itself, whichever process was killed when.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import redis
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from hearsay.collector.errors import CollectorError
from hearsay.collector.health.loop import Health
from hearsay.collector.heartbeats import alive
from hearsay.collector.store.look import Look
from hearsay.collector.store.looks.newest import newest_snapshots
from hearsay.collector.store.node import Node, conditions
from hearsay.collector.store.processes import gateway_counts
from hearsay.collector.store.registry import Registry, SurveyLook
from hearsay.collector.store.status import CAUSES
from hearsay.estimator.serving.known import Known

SHARD = ("survey", "shard")
ANSWER_S = 3.0  # the first thing that a scrape asks a server: Prometheus waits ten seconds for all of it


class PipelineMetrics(Collector):
    """Everything that `/metrics` shows. `failures` are this estimator's own, by survey."""

    def __init__(self, registry: Registry, failures: Mapping[str, int], known: Known | None = None) -> None:
        self._registry, self._failures = registry, failures
        self._known = Known(registry, Health()) if known is None else known

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance: registering must not need the server."""
        return []

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "hearsay_up", "Whether the Redis server, or a node of a cluster, answers (1) or not (0)."
        )
        nodes = conditions(self._registry.servers.nodes(), ANSWER_S)  # asked together: those that hang delay it once
        short = {node for node, seen in nodes.items() if seen is not None and seen.short}
        parts: list[Callable[[], list[Metric]]] = [lambda: self._surveys(short)]
        if self._known.has_all():
            parts += [self._gateway, self._processes]
        families: list[Metric] = []
        answered = any(seen is not None for seen in nodes.values())
        for part in parts if answered else []:
            try:
                families += part()
            except (redis.exceptions.RedisError, CollectorError):
                if self._registry.servers.alone:
                    families, answered = [], False
                    break  # of one server all or nothing is known
        up.add_metric([], float(answered))
        yield up
        node_up = GaugeMetricFamily("hearsay_node_up", "Whether a node answers (1) or not (0).", labels=["node"])
        for node, seen in nodes.items():
            node_up.add_metric([node.address], float(seen is not None))
        yield node_up
        yield from families

    def _surveys(self, short: Collection[Node]) -> list[Metric]:
        """`short`: the nodes whose memory is short."""
        families = _Families(short)
        known = self._known.own()
        documents = newest_snapshots(known.surveys, known.failed)
        for seen in known.surveys:
            families.add_survey(seen, documents.get(seen.survey.name))
        failures = CounterMetricFamily(
            "hearsay_survey_failures",
            "Passes in which this estimator could not materialise a survey.",
            labels=["survey"],
        )
        for name, count in dict(self._failures).items():
            failures.add_metric([name], count)
        return [*families.all, failures]

    def _gateway(self) -> list[Metric]:
        """What all gateways together have counted."""
        counted = self._registry.gateway_counts.all()
        plain = {
            gateway_counts.REQUESTS: ("requests", "Requests with reports that reached a gateway."),
            gateway_counts.ACCEPTED: ("reports_accepted", "Reports in requests answered with 202, repeats included."),
            gateway_counts.LOST: ("requests_lost", "Requests that were stored and that the server lost for good."),
        }
        families: list[Metric] = []
        for field, (name, text) in plain.items():
            family = CounterMetricFamily(f"hearsay_gateway_{name}", text)
            family.add_metric([], counted.get(field, 0))
            families.append(family)
        for start, name, label, text in (
            (gateway_counts.REFUSED, "requests_refused", "code", "Requests that gateways refused, by code."),
            (gateway_counts.REJECTED, "reports_rejected", "reason", "Reports that gateways rejected, by reason."),
        ):
            family = CounterMetricFamily(f"hearsay_gateway_{name}", text, labels=[label])
            for field, count in sorted(counted.items()):
                if field.startswith(start):
                    family.add_metric([field.removeprefix(start)], count)
            families.append(family)
        return families

    def _processes(self) -> list[Metric]:
        beats = GaugeMetricFamily(
            "hearsay_heartbeat_timestamp_seconds",
            "When a process was last seen, in seconds since 1970.",
            labels=["role", "process"],
        )
        info = GaugeMetricFamily(
            "hearsay_process_info", "A live process and its release.", labels=["role", "process", "version"]
        )
        now = time.time()
        for process in alive(self._registry):
            beats.add_metric([process.role, process.process], now - process.age_s)
            info.add_metric([process.role, process.process, process.version], 1)
        standing = GaugeMetricFamily(
            "hearsay_standing_still",
            "How many causes of a stall there are, by kind; `hearsay status` shows a line for each.",
            labels=["kind"],
        )
        for kind, count in sorted(Counter(trouble.code for trouble in self._known.troubles()).items()):
            standing.add_metric([kind], count)
        return [
            beats,
            info,
            standing,
            self._summary("hearsay_fold_duration_seconds", "Time to read, fold and commit a range.", "fold", "folds"),
            self._summary(
                "hearsay_materialise_duration_seconds",
                "Time to read, estimate and publish a window.",
                "materialise",
                "materialisations",
            ),
        ]

    def _summary(self, name: str, text: str, kind: str, count: str) -> Metric:
        total_s, number = self._registry.timings.observed(kind, count)
        family = SummaryMetricFamily(name, text)
        family.add_metric([], number, total_s)
        return family


class _Families:
    """The metrics that every survey adds to."""

    def __init__(self, short: Collection[Node]) -> None:
        self._short = short
        self.all: list[Metric] = []
        self.info = self._gauge("survey_info", "A registered survey.", "survey", "mechanism", "tag")
        self.open = self._gauge("survey_open", "Whether a survey takes reports (1) or is closed (0).", "survey")
        self.published = self._counter("reports_published", "Reports that writers appended to the streams.", *SHARD)
        self.entries = self._counter("entries_published", "Stream entries that the server accepted.", *SHARD)
        self.bytes = self._counter("published_bytes", "Payload bytes that the server accepted.", *SHARD)
        self.accepted = self._counter(
            "reports_accepted", "Reports of committed ranges, folded and rejected ones together.", *SHARD
        )
        self.folded = self._counter("reports_folded", "Valid reports of committed ranges.", *SHARD)
        self.merged = self._counter("reports_merged", "Folded reports that are merged into an accumulator.", *SHARD)
        self.rejected = self._counter("reports_rejected", "Reports rejected, by reason.", *SHARD, "reason")
        self.rejected_entries = self._counter(
            "entries_rejected", "Stream entries rejected as a whole or in part, by reason.", *SHARD, "reason"
        )
        self.stream = self._gauge("stream_entries", "Entries in the stream, not trimmed yet.", *SHARD)
        self.backlog = self._gauge("backlog_entries", "Entries that are not cut into ranges yet.", *SHARD)
        self.age = self._gauge("backlog_age_seconds", "Age of the oldest entry that is not cut yet.", *SHARD)
        self.waiting = self._gauge("reports_waiting", "Reports published and neither folded nor rejected yet.", *SHARD)
        self.oldest_range = self._gauge(
            "oldest_range_age_seconds", "Age of the oldest report in a range that is not committed.", *SHARD
        )
        self.outstanding = self._gauge("ranges_outstanding", "Ranges cut and not committed yet.", *SHARD)
        self.quarantined = self._gauge("ranges_quarantined", "Ranges quarantined after too many attempts.", *SHARD)
        self.reissued = self._counter("ranges_reenqueued", "Overdue ranges that were enqueued again.", *SHARD)
        self.quarantines = self._counter("range_quarantines", "How often a range was quarantined.", *SHARD)
        self.deltas = self._gauge("deltas", "Deltas that wait to be merged.", *SHARD)
        self.delta_bytes = self._gauge("delta_bytes", "Size of the deltas that wait to be merged.", *SHARD)
        self.merges = self._counter("merges", "Compactions of deltas into an accumulator.", *SHARD)
        self.dead = self._gauge("dead_letters", "Dead letters kept.", *SHARD)
        self.pressure = self._gauge(
            "pressure", "Whether writers are asked to wait (1), or would be, by cause.", *SHARD, "cause"
        )
        self.round = self._gauge("round", "The newest round, of surveys that have rounds.", *SHARD)
        self.windows = self._gauge("windows", "Windows that hold something.", "survey")
        self.snapshot_time = self._gauge(
            "snapshot_timestamp_seconds", "When the newest window's snapshot was made, in seconds since 1970.", "survey"
        )
        self.snapshot_reports = self._gauge("snapshot_reports", "Reports in the newest window's snapshot.", "survey")
        self.estimate = self._gauge(
            "estimate",
            "Unbiased headline answers of the newest window: fractions of reports, quantiles in domain units, areas.",
            "survey",
            "query",
            "item",
        )
        self.stderr = self._gauge("estimate_stderr", "Standard errors of hearsay_estimate.", "survey", "query", "item")

    def _gauge(self, name: str, text: str, *labels: str) -> GaugeMetricFamily:
        family = GaugeMetricFamily(f"hearsay_{name}", text, labels=labels)
        self.all.append(family)
        return family

    def _counter(self, name: str, text: str, *labels: str) -> CounterMetricFamily:
        family = CounterMetricFamily(f"hearsay_{name}", text, labels=labels)
        self.all.append(family)
        return family

    def add_survey(self, seen: SurveyLook, document: Mapping[str, Any] | None) -> None:
        """Everything about one survey, and the document of its newest window's snapshot."""
        survey = seen.survey
        self.info.add_metric([survey.name, survey.mechanism.ID, survey.tag8], 1)
        for shard, look in zip(seen.registered.shards, seen.shards, strict=True):
            # PUBLISH refuses for memory by what the server says at that moment, whatever a look saw earlier.
            pressure = look.pressure or ("memory" if look.open and shard.node in self._short else None)
            self._add_shard([survey.name, str(shard.shard)], look, pressure)
        self.open.add_metric([survey.name], float(all(look.open for look in seen.shards)))
        self.windows.add_metric([survey.name], len(seen.windows))
        if document is not None:
            self._add_snapshot(survey.name, document)

    def _add_shard(self, labels: list[str], look: Look, pressure: str | None) -> None:
        seen, total = look.status, look.totals
        for family, value in (
            (self.published, seen.published_reports),
            (self.entries, seen.published_entries),
            (self.bytes, seen.published_bytes),
            (self.accepted, total.accounted),
            (self.folded, total.folded),
            (self.merged, total.merged),
            (self.stream, seen.stream_entries),
            (self.backlog, seen.backlog_entries),
            (self.age, seen.backlog_age_s),
            (self.waiting, look.waiting_reports),
            (self.oldest_range, seen.oldest_range_s),
            (self.outstanding, seen.outstanding),
            (self.quarantined, seen.quarantined),
            (self.reissued, seen.reissued),
            (self.quarantines, seen.quarantines),
            (self.deltas, seen.deltas),
            (self.delta_bytes, seen.delta_bytes),
            (self.merges, seen.merges),
            (self.dead, seen.dead_letters),
        ):
            family.add_metric(labels, value)
        for reason, rejected in sorted(total.rejected.items()):
            self.rejected.add_metric([*labels, reason], rejected.reports)
            self.rejected_entries.add_metric([*labels, reason], rejected.entries)
        if seen.round:
            self.round.add_metric(labels, seen.round)
        for cause in CAUSES:
            self.pressure.add_metric([*labels, cause], float(pressure == cause))

    def _add_snapshot(self, name: str, document: Mapping[str, Any]) -> None:
        self.snapshot_time.add_metric([name], datetime.fromisoformat(document["generated_at"]).timestamp())
        self.snapshot_reports.add_metric([name], document["reports"])
        for answer in document["answers"]:
            # A quantile is the same series wherever it lies; a frequent cell is named; an area is about all cells.
            named = None if "band" in answer else answer.get("item", answer.get("cell"))
            item = "" if named is None else _item_text(named)
            unbiased = answer["raw" if "postprocess" in answer else "value"]
            for family, number in ((self.estimate, unbiased), (self.stderr, answer["stderr"])):
                if number is not None:
                    family.add_metric([name, answer["query"], item], number)


def _item_text(item: Any) -> str:
    """A cell in one word: a label, `0.5..1`, or `x=1,y=0.5..1`."""
    if isinstance(item, Mapping):
        return ",".join(f"{axis}={_item_text(part)}" for axis, part in item.items())
    if isinstance(item, list):
        return "..".join(_item_text(end) for end in item)
    # Two fine bins must not have the same text: that would be one series with two values.
    return f"{item:.12g}" if isinstance(item, float) else str(item)
