import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import redis

from hearsay.collector.errors import ServeError
from hearsay.collector.health import troubles
from hearsay.collector.health.loop import STUCK_AFTER_S, Health
from hearsay.collector.http.server import HttpServer
from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.estimator.materialise import Materialiser, Pass
from hearsay.estimator.rounds import drive
from hearsay.estimator.serving.service import EstimatorSettings, loop, serve
from hearsay.estimator.snapshots import loading
from hearsay.mechanisms.questions import answer, parse_text
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.producer import Device
from tests.estimator.running import estimator, wait_until
from tests.estimator.snapshots.test_files import VALIDATOR
from tests.estimator.surveys import colours, deliver
from tests.pipeline import cut_all, singles

HOUR_MS = 3_600_000
ONE = 1_738_328_400_000  # 2025-01-31 13:00 UTC


@pytest.fixture
def hourly(registry: Registry) -> Registered:
    registered = registry.add(colours(window={"every": "1h"}, answers={"minimum_reports": 150}))
    for hour in range(3):
        deliver(registered, 100 + 50 * hour, seed=hour, at_ms=ONE + hour * HOUR_MS)
    return registered


@pytest.fixture
def http(registry: Registry, hourly: Registered, tmp_path: Path) -> Iterator[httpx.Client]:
    with estimator(registry, tmp_path) as running:
        yield running


def error_of(response: httpx.Response, code: int) -> str:
    assert response.status_code == code
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert set(document) == {"type", "title", "status", "detail", "code", "error"}
    assert document["type"] == f"urn:hearsay:problem:{document['code']}"
    assert (document["status"], document["detail"]) == (code, document["error"])
    return str(document["error"])


class TestInterface:
    def test_surveys(self, http: httpx.Client) -> None:
        (found,) = http.get("/api/surveys").json()
        assert found["name"] == "colours"
        assert found["windows"] == ["20250131T130000Z", "20250131T140000Z", "20250131T150000Z"]
        assert found["closed"] is False

    def test_one_survey(self, http: httpx.Client, hourly: Registered) -> None:
        found = http.get("/api/surveys/colours").json()
        assert found["definition"] == hourly.survey.canonical()
        assert found["reason"] is None, "its mechanism was not left to choose"
        assert "e^2" in found["guarantee"]["words"]
        assert found["status"][0]["outstanding"] == 0
        assert "'nowhere' is not registered" in error_of(http.get("/api/surveys/nowhere"), 404)

    def test_windows_and_snapshots(self, http: httpx.Client) -> None:
        found = http.get("/api/surveys/colours/windows").json()
        assert [window["reports"] for window in found] == [100, 150, 200]
        assert [window["withheld"] for window in found] == [True, False, False]
        document = http.get(f"/api/surveys/colours/snapshots/{found[1]['window']}").json()
        VALIDATOR.validate(document)
        assert document["status"] == "final"
        assert "has no snapshot of window r1" in error_of(http.get("/api/surveys/colours/snapshots/r1"), 404)

    def test_queries_answer_as_the_command_line_does(self, http: httpx.Client, tmp_path: Path) -> None:
        window = "20250131T150000Z"
        found = http.get("/api/surveys/colours/query", params={"q": "frequencies", "window": window}).json()
        loaded = loading.load(tmp_path / "colours" / window)
        expected = answer(parse_text("frequencies"), loaded.estimate())
        assert found["answers"] == [each.table() for each in expected]
        assert (found["reports"], found["window"]) == (200, window)

    def test_windows_are_added_and_counts_scaled(self, http: httpx.Client) -> None:
        url = "/api/surveys/colours/query?q=point+red&window=last:2"
        fraction, number = http.get(url).json(), http.get(f"{url}&count=1").json()
        assert fraction["reports"] == 350
        assert number["answers"][0]["value"] == pytest.approx(350 * fraction["answers"][0]["value"])

    def test_processed_values_and_simultaneous_intervals(self, http: httpx.Client) -> None:
        url = "/api/surveys/colours/query?q=frequencies"
        plain = http.get(url).json()["answers"]
        found = http.get(f"{url}&postprocess=simplex&simultaneous=1").json()["answers"]
        assert sum(each["value"] for each in found) == pytest.approx(1.0)
        assert {each["postprocess"] for each in found} == {"simplex"}
        assert [each["raw"] for each in found] == [each["value"] for each in plain]
        assert all(each["simultaneous"][0] < each["low"] < each["simultaneous"][1] for each in found)

    def test_an_answer_is_never_stale(self, http: httpx.Client, hourly: Registered) -> None:
        url = "/api/surveys/colours/query?q=point+red"
        assert http.get(url).json()["reports"] == 350
        deliver(hourly, 160, seed=9, at_ms=ONE + 4 * HOUR_MS)
        assert http.get(url).json()["reports"] == 510

    def test_a_sum_leaves_out_windows_below_the_minimum_and_names_them(self, http: httpx.Client) -> None:
        """Else the difference of two sums would say what the small window alone must not."""
        found = http.get("/api/surveys/colours/query?q=point+red").json()
        assert (found["reports"], found["left_out"]) == (350, ["20250131T130000Z"])
        found = http.get("/api/surveys/colours/query?q=point+red&window=last:2").json()
        assert (found["reports"], found["left_out"]) == (350, [])

    @pytest.mark.parametrize(
        ("parameters", "says"),
        [
            ("", "query must be one that this survey answers: point V | frequencies | top K, got nothing"),
            ("q=median", "one that this survey answers; the nearest: point V; frequencies; top K"),
            ("q=range+red+blue", "needs an ordered domain"),
            ("q=point+pink", "must be one of red, green, blue, got pink"),
            ("q=point+red&window=20250131T130000Z", "withheld until there are 150 reports, got 100"),
            ("q=point+red&window=tomorrow", "window must be all, last:N"),
            ("q=point+red&count=maybe", "count must be 0 or 1"),
            (
                "q=point+red&windows=all",
                "parameter must be one of q, window, against, count, postprocess, simultaneous",
            ),
            ("q=point+red&postprocess=round", "postprocess must be one of none, clip, norm-sub, simplex, isotonic"),
            (
                "q=point+red&simultaneous=1",
                "simultaneous applies to cdf, histogram, frequencies, top, got point",
            ),
            ("q=frequencies&simultaneous=yes", "simultaneous must be 0 or 1"),
            ("q=%27", "closed quotes"),
        ],
    )
    def test_refusals_are_one_line_of_json(self, http: httpx.Client, parameters: str, says: str) -> None:
        message = error_of(http.get(f"/api/surveys/colours/query?{parameters}"), 400)
        assert says in message
        assert len(message.splitlines()) == 1

    def test_no_reports(self, http: httpx.Client, registry: Registry) -> None:
        registry.add(colours(name="empty"))
        assert error_of(http.get("/api/surveys/empty/query?q=frequencies"), 400) == "no reports yet"

    def test_other_addresses_and_methods(self, http: httpx.Client) -> None:
        assert error_of(http.get("/nowhere"), 404) == "Not Found"
        assert error_of(http.post("/api/surveys"), 405) == "Method Not Allowed"

    def test_a_bug_is_logged_and_not_shown(
        self, http: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def broken(*_: object) -> None:
            raise RuntimeError("inner secret")

        monkeypatch.setattr("hearsay.estimator.serving.api._summary", broken)
        with caplog.at_level(logging.ERROR):
            assert error_of(http.get("/api/surveys"), 500) == "internal error"
        assert "request failed" in caplog.text

    def test_a_device_gets_its_round(self, http: httpx.Client, registry: Registry) -> None:
        table = {
            "name": "films",
            "mechanism": "privkvm",
            "epsilon": 2.0,
            "domain": {"kind": "key-value", "keys": 3},
            "options": {"rounds": 2},
        }
        registered = registry.add(parse(table))
        first = http.get("/api/surveys/films/round")
        assert first.json() == {"tag": registered.survey.tag, "round": 1, "parameters": {}}
        assert first.headers["cache-control"].startswith("public")
        drive(registered, close=1)
        second = http.get("/api/surveys/films/round")
        assert Device(registered.survey).report({"0": 1}, round=second.json())
        assert second.headers["cache-control"] == "no-store", "its signs were drawn for one device"
        drive(registered, close=2)
        assert error_of(http.get("/api/surveys/films/round"), 409) == "survey films has no open round"
        assert http.get("/api/surveys/colours/round").json()["round"] == 1, "a survey without rounds is one"


class TestHealth:
    def test_alive_and_ready(self, http: httpx.Client) -> None:
        assert http.get("/healthz").json() == {"status": "alive"}
        assert http.get("/readyz").json() == {"status": "ready"}

    def test_without_the_server_alive_but_not_ready(
        self, own_server: EmbeddedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        registry = Registry(connect(own_server.url))
        with estimator(registry, tmp_path) as http:
            own_server.kill()
            wait_until(lambda: http.get("/readyz").status_code == 503)
            assert http.get("/healthz").status_code == 200
            assert "cannot be reached" in error_of(http.get("/api/surveys"), 503)
            assert "hearsay_up 0.0" in http.get("/metrics").text
            own_server.start()
            wait_until(lambda: http.get("/readyz").status_code == 200)
            assert "hearsay_up 1.0" in http.get("/metrics").text
        troubled = next(vars(record) for record in caplog.records if record.message.startswith("server trouble, "))
        assert troubled["server"] == registry.node.address

    def test_short_memory_is_named_though_answers_go_on(self, own_server: EmbeddedServer, tmp_path: Path) -> None:
        client = connect(own_server.url)
        with estimator(Registry(client), tmp_path) as http:
            client.config_set("maxmemory", int(int(client.info("memory")["used_memory"]) / 0.7))
            ready = http.get("/readyz")
            assert ready.status_code == 200
            (words,) = ready.json()["troubles"]
            assert words.startswith("server: memory is short, ")

    @pytest.mark.parametrize(
        ("error", "words"),
        [
            (redis.exceptions.OutOfMemoryError("OOM command not allowed"), "memory is full"),
            (redis.exceptions.ResponseError("MISCONF errors writing to the AOF file"), "cannot write to its disk"),
        ],
    )
    def test_a_server_in_trouble_is_not_said_to_be_away(
        self, http: httpx.Client, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
    ) -> None:
        def refuse(registry: Registry) -> list[Registered]:
            raise error

        monkeypatch.setattr(Registry, "list", refuse)
        assert words in error_of(http.get("/api/surveys"), 503)

    def test_a_loop_that_hangs_is_not_alive(self) -> None:
        health = Health()
        assert health.alive()
        assert health.trouble() == "the first pass is not done yet"
        health._last_turn -= STUCK_AFTER_S
        assert not health.alive()
        health.turn()
        assert health.alive()


class TestService:
    def test_a_port_that_is_taken(self, registry: Registry, tmp_path: Path) -> None:
        with HttpServer(object(), "127.0.0.1", 0) as first, pytest.raises(ServeError, match="already taken"):  # type: ignore[arg-type]
            serve(registry, threading.Event(), EstimatorSettings(tmp_path, 1, "127.0.0.1", first.port))

    def test_a_host_that_is_not_ours(self, registry: Registry, tmp_path: Path) -> None:
        for host in ("192.0.2.1", "not a host"):
            with pytest.raises(ServeError):
                serve(registry, threading.Event(), EstimatorSettings(tmp_path, 1, host, 0))

    def test_the_loop_shows_that_it_lives(self, registry: Registry, http: httpx.Client, client: redis.Redis) -> None:
        assert [mark.role for mark in registry.heartbeats.marks()] == ["estimator"]

    def test_a_long_period_stops_at_once(self, registry: Registry, tmp_path: Path) -> None:
        with estimator(registry, tmp_path, period_s=3_600) as http:
            assert http.get("/healthz").status_code == 200

    def test_passes_follow_the_period(self, registry: Registry) -> None:
        stop, passes = threading.Event(), []

        class Counting(Materialiser):
            def run_once(self) -> Pass:
                passes.append(1)
                if len(passes) == 3:
                    stop.set()
                return Pass()

        loop(Counting(registry, None), Health(), stop, period_s=0.01)
        assert len(passes) == 3

    def test_a_pass_is_made_while_what_disturbs_it_is_paused(self, registry: Registry) -> None:
        stop, steps = threading.Event(), []

        class Noting(Materialiser):
            def run_once(self) -> Pass:
                steps.append("pass")
                stop.set()
                return Pass()

        @contextmanager
        def during_pass() -> Iterator[None]:
            steps.append("paused")
            yield
            steps.append("goes on")

        loop(Noting(registry, None), Health(), stop, period_s=0.01, during_pass=during_pass)
        assert steps == ["paused", "pass", "goes on"]


def test_weighted_ranges_over_http_say_what_the_state_says(registry: Registry, tmp_path: Path) -> None:
    axes = [{"name": "age", "size": 5}, {"name": "spent", "low": 0, "high": 10, "bins": 4}]
    table = {"mechanism": "metric-l1", "epsilon": 2.0, "domain": {"kind": "grid", "axes": axes}}
    weighted = registry.add(parse({"name": "spending", **table, "options": {"weights": "private"}}))
    registry.add(colours())
    reports = deliver(weighted, 400)
    mechanism = weighted.survey.mechanism
    assert set(reports) == {"bits"}, "the weight is not among what is sent"
    (expected,) = answer(parse_text("weighted 1 3"), mechanism.estimate(mechanism.fold(mechanism.empty(), reports)))
    with estimator(registry, tmp_path) as http:
        found = http.get("/api/surveys/spending/query", params={"q": "weighted 1 3"}).json()["answers"]
        assert found == [expected.table()]
        deliver(registry.get("colours"), 50)
        refused = http.get("/api/surveys/colours/query", params={"q": "weighted 1 3"})
        assert "query weighted needs an ordered domain" in error_of(refused, 400)


def test_an_estimator_without_workers_is_not_ready(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered = registry.add(colours())
    with estimator(registry, tmp_path) as http:
        assert http.get("/readyz").status_code == 200  # nothing waits
        store = registered.shards[0]
        store.publish("w", 1, singles(store, range(3)), 3)
        cut_all(store)
        monkeypatch.setattr(troubles, "ALONE_S", 0.0)
        wait_until(lambda: "survey colours: a range waits for" in http.get("/readyz").text)  # as the next pass sees it
        answer = http.get("/readyz")
        assert answer.status_code == 503
        assert "and no worker was seen lately" in answer.json()["error"]
        assert http.get("/healthz").status_code == 200  # a restart would not help
        text = http.get("/metrics").text
        assert 'hearsay_standing_still{kind="ranges"} 1.0' in text
        assert 'hearsay_standing_still{kind="no-worker"} 1.0' in text
        assert 'hearsay_reports_waiting{shard="0",survey="colours"} 3.0' in text
        refusal = http.get("/api/surveys/colours/query", params={"q": "top 3"})
        assert refusal.status_code == 400
        assert "no reports yet; 3 reports are waiting to be folded" in refusal.json()["error"]
