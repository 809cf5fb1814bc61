"""The page's files, who may read them, and what it is told: overview, charts, series, changes as they happen."""

import csv
import io
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from starlette.routing import Route

from hearsay.collector.health.loop import Health
from hearsay.collector.store.registry import Registered, Registry
from hearsay.estimator.serving.answers import PARAMETERS
from hearsay.estimator.serving.api import create_app
from hearsay.estimator.serving.page.guard import Guard
from hearsay.estimator.serving.page.site import assets
from tests.estimator.running import estimator, wait_until
from tests.estimator.surveys import colours, deliver

HOUR_MS = 3_600_000
ONE = 1_738_328_400_000  # 2025-01-31 13:00 UTC
FIRST_VISIT_BYTES = 80_000


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


class TestFiles:
    def test_all_that_a_first_visit_takes_is_small_and_the_second_smaller(self, http: httpx.Client) -> None:
        paths = ["/", "/surveys/colours", *(f"/assets/{name}" for name in assets())]
        responses = [http.get(path) for path in paths]
        assert {response.status_code for response in responses} == {200}
        assert sum(response.num_bytes_downloaded for response in responses) < FIRST_VISIT_BYTES
        again = [
            http.get(path, headers={"If-None-Match": response.headers["etag"]})
            for path, response in zip(paths, responses, strict=True)
        ]
        assert {response.status_code for response in again} == {304}

    def test_every_module_that_is_imported_is_there(self) -> None:
        for name, asset in assets().items():
            folder = Path(name).parent
            for module in re.findall(r'from "(\./|\.\./)([\w/.]+)"', asset.plain.decode()):
                wanted = folder.parent / module[1] if module[0] == "../" else folder / module[1]
                assert wanted.as_posix() in assets(), (name, module)

    def test_addresses_are_relative(self, http: httpx.Client) -> None:
        for path, root in (("/", ""), ("/surveys/colours", "../")):
            text = http.get(path).text
            assert f'data-root="{root}"' in text
            assert not re.search(r'(href|src)="/', text)

    def test_nothing_inline_and_nothing_from_elsewhere(self, http: httpx.Client) -> None:
        response = http.get("/")
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"<script>|<style|style=|onclick=", response.text)
        for name, asset in assets().items():
            assert b"innerHTML" not in asset.plain, name
            assert not re.search(rb"https?://(?!www\.w3\.org)", asset.plain), name
        assert "set-cookie" not in response.headers

    def test_an_unknown_file(self, http: httpx.Client) -> None:
        assert http.get("/assets/../site.py").status_code == 404
        assert http.get("/assets/index.html").status_code == 404


class TestHosts:
    @pytest.mark.parametrize("host", ["evil.example", "evil.example:8787", "", "localhost.evil.example", "1.2.3.4.e"])
    def test_a_foreign_name_is_refused_everywhere(self, http: httpx.Client, host: str) -> None:
        for path in ("/", "/api/overview", "/api/surveys/colours/query?q=frequencies"):
            response = http.get(path, headers={"Host": host})
            assert (response.status_code, response.json()["code"]) == (421, "host")

    @pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8787", "[::1]:8787", "LOCALHOST:1"])
    def test_this_machine_is_not(self, http: httpx.Client, host: str) -> None:
        assert http.get("/", headers={"Host": host}).status_code == 200

    def test_public_names(self) -> None:
        guard = Guard(None, ["stats.example.org"])  # type: ignore[arg-type]
        assert guard.is_ours("Stats.example.org:443")
        assert not guard.is_ours("example.org")


class TestOverview:
    def test_rows(self, http: httpx.Client) -> None:
        document = http.get("/api/overview").json()
        (row,) = document["surveys"]
        assert row["name"] == "colours"
        assert (row["reports"], row["waiting"], row["state"]) == (450, 0, "live")
        assert row["window"] == "20250131T150000Z"
        assert row["headline"]["unit"] == "share"
        assert {process["role"] for process in document["processes"]} == {"estimator"}
        assert any("no worker" in trouble for trouble in document["troubles"])

    def test_of_deciles_the_median_is_the_newest_answer(self, registry: Registry, tmp_path: Path) -> None:
        ages = colours(name="ages", mechanism="hierarchical", domain={"kind": "ordinal", "size": 16})
        deliver(registry.add(ages), 300)
        with estimator(registry, tmp_path) as http:

            def newest() -> Any:
                return [row["headline"] for row in http.get("/api/overview").json()["surveys"]]

            wait_until(lambda: all(newest()))
            assert [answer["query"] for answer in newest()] == ["quantile 0.5"]

    def test_states(self, registry: Registry, tmp_path: Path) -> None:
        empty = registry.add(colours(answers={"minimum_reports": 150}))
        with estimator(registry, tmp_path) as http:

            def state() -> str:
                return str(http.get("/api/overview").json()["surveys"][0]["state"])

            assert state() == "none"
            deliver(empty, 100)
            wait_until(lambda: state() == "few")
            deliver(empty, 100, seed=2)
            wait_until(lambda: state() == "live")
            registry.close(empty.survey.name)
            wait_until(lambda: state() == "closed")

    def test_it_is_made_once_for_all_who_ask_within_a_second(
        self, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from hearsay.estimator.serving.overview import Overview

        made: list[float] = []
        real = Overview._make
        monkeypatch.setattr(Overview, "_make", lambda self, now: made.append(now) or real(self, now))
        started = time.monotonic()
        for _ in range(20):
            http.get("/api/overview")
        assert 1 <= len(made) <= 2 + time.monotonic() - started


class TestOneSurvey:
    def test_charts_queries_and_promise(self, http: httpx.Client) -> None:
        document = http.get("/api/surveys/colours").json()
        (view,) = document["views"]
        assert (view["chart"], view["query"]) == ("bars", "frequencies")
        assert {"grammar": "top K", "help": "the K most frequent values, by their raw shares"} in document["queries"]
        assert "range A B" not in {query["grammar"] for query in document["queries"]}
        words, *takes_part = document["promise"]
        assert words == document["guarantee"]["words"]
        assert takes_part == [
            "A device answers once in every window. Epsilon spent: 2 per report, at most 48 per day, without bound "
            "over a life.",
            f"Warning: {document['show']['participation']['warning']}.",
        ]
        assert document["show"]["report_bytes"] > 0

    def test_a_survey_without_reports_has_nothing_to_draw(self, registry: Registry, tmp_path: Path) -> None:
        registry.add(colours())
        with estimator(registry, tmp_path) as http:
            document = http.get("/api/surveys/colours").json()
            assert (document["views"], document["queries"]) == ([], [])


class TestSeries:
    def test_windows_one_after_the_other(self, http: httpx.Client) -> None:
        rows = http.get("/api/surveys/colours/series?q=point+red").json()
        assert [row["reports"] for row in rows] == [100, 150, 200]
        assert rows[0]["answers"] == []
        assert "withheld until there are 150 reports" in rows[0]["error"]
        assert (rows[1]["start"], rows[1]["status"]) == ("2025-01-31T14:00:00Z", "final")
        single = http.get(f"/api/surveys/colours/query?q=point+red&window={rows[1]['window']}").json()
        assert (rows[1]["answers"], rows[1]["unit"]) == (single["answers"], single["unit"])
        counted = http.get("/api/surveys/colours/series?q=point+red&count=1").json()
        assert [row.get("unit") for row in counted] == [None, "reports", "reports"]
        assert len(http.get("/api/surveys/colours/series?q=point+red&windows=2").json()) == 2

    @pytest.mark.parametrize("wrong", ["windows=0", "windows=x", "windows=1001", "q=range+1+2", "window=all", "q="])
    def test_what_is_wrong_is_refused(self, http: httpx.Client, wrong: str) -> None:
        question = "" if wrong.startswith("q=") else "q=point+red&"
        assert http.get(f"/api/surveys/colours/series?{question}{wrong}").status_code == 400

    @pytest.mark.parametrize("address", ["query", "series"])
    def test_an_unknown_question_gets_the_nearest_that_this_survey_answers(
        self, http: httpx.Client, address: str
    ) -> None:
        refused = http.get(f"/api/surveys/colours/{address}?q=pointt+red")
        assert refused.status_code == 400
        assert "one that this survey answers; the nearest: point V" in refused.json()["error"]
        assert "mean" not in http.get(f"/api/surveys/colours/{address}?q=meann").json()["error"].split(", got")[0]

    def test_final_windows_are_estimated_once(self, http: httpx.Client, hourly: Registered) -> None:
        url = "/api/surveys/colours/series?q=point+red"
        http.get(url)
        started = time.process_time()
        for _ in range(5):
            http.get(url)
        assert time.process_time() - started < 1.0

    def test_as_csv(self, http: httpx.Client) -> None:
        rows = [*csv.DictReader(io.StringIO(http.get("/api/surveys/colours/series?q=point+red&format=csv").text))]
        assert [row["window"] for row in rows] == ["20250131T140000Z", "20250131T150000Z"]
        response = http.get("/api/surveys/colours/query?q=frequencies&format=csv")
        assert response.headers["content-type"].startswith("text/csv")
        answers = http.get("/api/surveys/colours/query?q=frequencies").json()["answers"]
        assert [float(row["value"]) for row in csv.DictReader(io.StringIO(response.text))] == [
            each["value"] for each in answers
        ]
        assert http.get("/api/surveys/colours/query?q=frequencies&format=xml").status_code == 400


def test_answers_are_tagged_by_version(http: httpx.Client, hourly: Registered) -> None:
    url = "/api/surveys/colours/query?q=frequencies"
    tag = http.get(url).headers["etag"]
    assert http.get(url, headers={"If-None-Match": tag}).status_code == 304
    assert http.get(url + "&count=1", headers={"If-None-Match": tag}).status_code == 200
    deliver(hourly, 160, seed=9, at_ms=ONE + 4 * HOUR_MS)
    assert http.get(url, headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize("path", ["", "/colours", "/colours/windows", "/colours/snapshots/20250131T150000Z"])
def test_what_does_not_change_is_sent_once(http: httpx.Client, path: str) -> None:
    url = f"/api/surveys{path}"
    tag = http.get(url).headers["etag"]
    assert http.get(url, headers={"If-None-Match": tag}).status_code == 304


def test_a_tag_names_the_windows_and_the_survey_and_not_only_a_number(http: httpx.Client, registry: Registry) -> None:
    """Another window with as many commits, and a survey that was deleted and added again, are other versions."""
    single = registry.add(colours(name="again", window={"every": "1h"}, answers={"minimum_reports": 1}))
    url = "/api/surveys/again/query?q=frequencies&window=last:1"

    def changed(tag: str) -> str:
        response = http.get(url, headers={"If-None-Match": tag})
        assert response.status_code == 200
        return str(response.headers["etag"])

    deliver(single, 100, seed=1, at_ms=ONE)
    first = changed("")
    deliver(single, 100, seed=2, at_ms=ONE + HOUR_MS)
    second = changed(first)
    registry.delete("again")
    single = registry.add(single.survey)
    deliver(single, 100, seed=3, at_ms=ONE + HOUR_MS)
    changed(second)


def test_who_takes_what_is_old_costs_the_server_nothing(
    registry: Registry, hourly: Registered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "/api/surveys/colours/query?q=frequencies"
    with estimator(registry, tmp_path, period_s=60) as http:
        deliver(hourly, 160, seed=9, at_ms=ONE + 4 * HOUR_MS)
        asked: list[object] = []
        real = Registry.get
        monkeypatch.setattr(Registry, "get", lambda self, name: asked.append(name) or real(self, name))
        assert http.get(url, headers={"Cache-Control": "max-age=60"}).json()["reports"] == 350
        assert not asked, "the pass has looked"
        for headers in ({}, {"Cache-Control": "max-age=0"}, {"Cache-Control": "no-cache"}):
            assert http.get(url, headers=headers).json()["reports"] == 510
        assert len(asked) == 3


class Listener(threading.Thread):
    """Reads a stream of events until it ends."""

    def __init__(self, http: httpx.Client) -> None:
        super().__init__(daemon=True)
        self.http, self.events, self.ended = http, list[tuple[str, dict]](), False
        self.start()

    def run(self) -> None:
        with httpx.Client(base_url=self.http.base_url) as own, own.stream("GET", "/api/events", timeout=30) as response:
            name = ""
            for line in response.iter_lines():
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    self.events.append((name, json.loads(line[6:])))
        self.ended = True


class TestEvents:
    def test_changes_are_pushed_and_a_stop_ends_the_stream(
        self, registry: Registry, hourly: Registered, tmp_path: Path
    ) -> None:
        with estimator(registry, tmp_path) as http:
            listener = Listener(http)
            wait_until(lambda: bool(listener.events))
            assert listener.events[0][0] == "overview"
            deliver(hourly, 160, seed=9, at_ms=ONE + 4 * HOUR_MS)
            wait_until(lambda: any(name == "survey" for name, _ in listener.events))
            (changed,) = [data for name, data in listener.events if name == "survey"][:1]
            assert (changed["name"], changed["reports"]) == ("colours", 160)
            stopped = time.monotonic()
        listener.join(5)
        assert listener.ended
        assert time.monotonic() - stopped < 3

    def test_a_stream_outlives_the_limit_of_requests(self, http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
        from hearsay.collector.http import server

        monkeypatch.setattr(server, "REQUEST_S", 0.05)
        monkeypatch.setattr(server, "RESPONSE_S", 0.2)
        listener = Listener(http)
        wait_until(lambda: bool(listener.events))
        time.sleep(1.0)
        assert not listener.ended


def test_the_truth_of_simulated_people_is_drawn_only_where_it_was_handed_over(
    registry: Registry, hourly: Registered, tmp_path: Path
) -> None:
    truth = tmp_path / "truth"
    truth.mkdir()
    np.save(truth / "colours.npy", np.array([1, 2, 1]))
    url = "/api/surveys/colours/query?q=frequencies"
    with estimator(registry, tmp_path / "a") as http:
        assert "truth" not in http.get(url).json()
    with estimator(registry, tmp_path / "b", truth=truth) as http:
        assert http.get(url).json()["truth"] == [0.25, 0.5, 0.25]
        assert "truth" not in http.get(url + "&count=1").json()


class TestOpenApi:
    def test_it_lists_every_address_of_the_interface(self, http: httpx.Client, registry: Registry) -> None:
        app = create_app(registry, Health(), {})
        pages = {"/", "/plan", "/surveys/{name}", "/assets/{path:path}"}
        served = {route.path for route in app.routes if isinstance(route, Route)} - pages
        document = http.get("/api/openapi.json").json()
        assert set(document["paths"]) == served
        assert document["openapi"] == "3.1.0"

    def test_it_lists_every_parameter_of_a_query(self, http: httpx.Client) -> None:
        paths = http.get("/api/openapi.json").json()["paths"]
        listed = {each["name"] for each in paths["/api/surveys/{name}/query"]["get"]["parameters"]}
        assert listed == {"name", *PARAMETERS}
