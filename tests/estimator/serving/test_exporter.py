import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import redis
from prometheus_client.parser import text_string_to_metric_families

from hearsay.collector.health.loop import Health
from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registered, Registry
from hearsay.estimator.materialise import Materialiser
from hearsay.estimator.retention import forget
from hearsay.estimator.serving.exporter import PipelineMetrics, _item_text
from hearsay.estimator.serving.known import Known
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.release import release
from tests.cluster import frozen
from tests.estimator.running import estimator, wait_until
from tests.estimator.surveys import colours, deliver, state_of
from tests.pipeline import cut_all, fold_all, singles, watched

HOUR_MS = 3_600_000
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(text: str, name: str, **labels: str) -> float:
    return samples(text)[name, frozenset(labels.items())]


@pytest.fixture
def busy(registry: Registry) -> Registered:
    """A survey with something of everything."""
    registered = registry.add(colours(), shards=2)
    deliver(registered, 300, seed=1)
    deliver(registered, 200, seed=2, shard=1)
    store = registered.shards[0]
    store.publish("bad", 1, [(b"r", b"\xc1"), (b"f", b"nonsense")], 2)
    fold_all(store)
    store.publish("waiting", 1, singles(store, [0, 1, 2]), 3)
    cut_all(store)
    store.publish("later", 1, singles(store, [0, 1]), 2)
    store.set_pressure("memory")
    return registered


@pytest.fixture
def http(registry: Registry, busy: Registered, tmp_path: Path) -> Iterator[httpx.Client]:
    with estimator(registry, tmp_path) as running:
        wait_until(lambda: "hearsay_snapshot_reports" in running.get("/metrics").text)
        yield running


def test_a_scrape_says_what_is_going_on(http: httpx.Client, registry: Registry, client: redis.Redis) -> None:
    registry.heartbeats.mark("worker", "host:a-1", 30)
    text = http.get("/metrics").text
    first, second = ({"survey": "colours", "shard": str(each.shard)} for each in registry.get("colours").shards)
    assert value(text, "hearsay_up") == 1
    assert value(text, "hearsay_reports_published_total", **first) == 307
    assert value(text, "hearsay_reports_published_total", **second) == 200
    assert value(text, "hearsay_reports_folded_total", **first) == 300
    assert value(text, "hearsay_backlog_entries", **first) == 2
    assert value(text, "hearsay_backlog_age_seconds", **first) > 0
    assert value(text, "hearsay_ranges_outstanding", **first) == 1
    assert value(text, "hearsay_ranges_quarantined", **first) == 0
    assert value(text, "hearsay_ranges_reenqueued_total", **first) == 0
    assert value(text, "hearsay_pressure", **first, cause="memory") == 1
    assert value(text, "hearsay_pressure", **first, cause="backlog") == 0
    assert value(text, "hearsay_snapshot_reports", survey="colours") == 500
    assert value(text, "hearsay_fold_duration_seconds_count") == 3
    assert value(text, "hearsay_materialise_duration_seconds_count") >= 1
    assert 0 < value(text, "hearsay_estimate", survey="colours", query="top 10", item="red") < 2
    assert value(text, "hearsay_estimate_stderr", survey="colours", query="top 10", item="red") > 0
    roles = {dict(labels)["role"] for name, labels in samples(text) if name == "hearsay_heartbeat_timestamp_seconds"}
    assert value(text, "hearsay_process_info", role="worker", process="host:a-1", version=release()) == 1
    assert roles == {"estimator", "worker"}
    rejected = [count for (name, labels), count in samples(text).items() if name == "hearsay_entries_rejected_total"]
    assert sum(rejected) == 2


def test_what_gateways_count_is_exported(http: httpx.Client, registry: Registry) -> None:
    registry.gateway_counts.add({"requests": 9, "accepted": 700, "refused:rate": 2, "rejected:outside-domain": 3})
    registry.gateway_counts.add({"requests": 1})
    text = http.get("/metrics").text
    assert value(text, "hearsay_gateway_requests_total") == 10
    assert value(text, "hearsay_gateway_reports_accepted_total") == 700
    assert value(text, "hearsay_gateway_requests_lost_total") == 0
    assert value(text, "hearsay_gateway_requests_refused_total", code="rate") == 2
    assert value(text, "hearsay_gateway_reports_rejected_total", reason="outside-domain") == 3


def test_a_frozen_server_is_told_before_a_scrape_times_out(own_server: EmbeddedServer, tmp_path: Path) -> None:
    """Prometheus waits ten seconds: later, the estimator would seem to be away, and not the server."""
    with connect(own_server.url) as client, estimator(Registry(client, "frozen"), tmp_path) as running:
        with frozen(own_server):
            for _ in range(2):
                started = time.monotonic()
                text = running.get("/metrics", timeout=30).text
                assert time.monotonic() - started < 5
                assert value(text, "hearsay_up") == 0
                assert [count for (name, _), count in samples(text).items() if name == "hearsay_node_up"] == [0]
        wait_until(lambda: value(running.get("/metrics", timeout=30).text, "hearsay_up") == 1)


def test_short_memory_is_pressure_though_the_survey_sleeps(own_server: EmbeddedServer, tmp_path: Path) -> None:
    """A full server takes nothing, so that a survey that sleeps looks as if nobody waited."""
    with connect(own_server.url) as client:
        registry = Registry(client, "short")
        registry.add(colours())
        registry.add(colours(name="closed"))
        registry.close("closed")
        materialiser = Materialiser(registry, tmp_path)
        materialiser.run_once()
        health = Health()
        health.passed()
        metrics = PipelineMetrics(registry, {}, Known(registry, health, materialiser.attention))

        def waiting() -> list[dict[str, str]]:
            (family,) = [family for family in metrics.collect() if family.name == "hearsay_pressure"]
            return [sample.labels for sample in family.samples if sample.value]

        assert waiting() == []
        client.config_set("maxmemory", int(int(client.info("memory")["used_memory"]) / 0.7))
        assert waiting() == [{"survey": "colours", "shard": "0", "cause": "memory"}]


def test_every_metric_has_the_prefix_and_help(http: httpx.Client) -> None:
    families = list(text_string_to_metric_families(http.get("/metrics").text))
    assert len(families) > 25
    assert all(family.name.startswith("hearsay_") and family.documentation for family in families)


def test_promtool_accepts_a_live_scrape(http: httpx.Client) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed; it comes with Debian's package prometheus")
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=http.get("/metrics").content, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_merged_reports_follow_compaction(registry: Registry, tmp_path: Path) -> None:
    registered = registry.add(colours(domain={"kind": "categorical", "size": 1 << 14}))
    deliver(registered, 40)
    materialiser = Materialiser(registry, tmp_path)
    metrics = PipelineMetrics(registry, materialiser.failures)

    def merged() -> float:
        (family,) = [family for family in metrics.collect() if family.name == "hearsay_reports_merged"]
        return family.samples[0].value

    materialiser.run_once()
    assert merged() == 0
    registry.close("colours")
    materialiser.run_once()
    assert merged() == 40


def test_totals_never_fall_when_windows_go(registry: Registry, client: redis.Redis, tmp_path: Path) -> None:
    registered = registry.add(colours(window={"every": "1h", "retain": "2h"}))
    this_hour = registered.shards[0].now_ms() // HOUR_MS * HOUR_MS
    for hours_ago in (5, 1):
        deliver(registered, 100, seed=hours_ago, at_ms=this_hour - hours_ago * HOUR_MS)
    materialiser = Materialiser(registry, tmp_path)
    materialiser._next_retention = float("inf")
    materialiser.run_once()

    def totals() -> dict[str, float]:
        families = PipelineMetrics(registry, {}).collect()
        return {sample.name: sample.value for family in families for sample in family.samples if "total" in sample.name}

    before = totals()
    assert before["hearsay_reports_folded_total"] == before["hearsay_reports_merged_total"] == 200
    watched(client, registered.shards[0], 2 * 3_600)
    assert len(forget(registered, tmp_path)) == 1
    after = totals()
    assert after == before


def test_failures_are_counted_by_survey(registry: Registry) -> None:
    families = {family.name: family for family in PipelineMetrics(registry, {"broken": 3}).collect()}
    (sample,) = families["hearsay_survey_failures"].samples
    assert (sample.labels, sample.value) == ({"survey": "broken"}, 3)


def test_estimates_are_unbiased_whatever_the_survey_does_to_its_answers(registry: Registry, tmp_path: Path) -> None:
    survey = colours(answers={"postprocess": "simplex"})
    deliver(registry.add(survey), 40)
    Materialiser(registry, tmp_path).run_once()
    families = {family.name: family for family in PipelineMetrics(registry, {}).collect()}
    shown = {sample.labels["item"]: sample.value for sample in families["hearsay_estimate"].samples}
    raw = survey.mechanism.estimate(state_of(survey, 40)).estimate
    assert shown == pytest.approx(dict(zip(["red", "green", "blue"], raw, strict=True)))


def test_items_are_one_word() -> None:
    assert _item_text({"x": 1, "y": [0.5, 1.0]}) == "x=1,y=0.5..1"
    assert _item_text("light blue") == "light blue"
    assert _item_text([48.00001, 48.00002]) == "48.00001..48.00002"
