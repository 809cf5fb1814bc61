"""Differences between windows and surveys on a server, trends over windows; the same in Python and over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from hearsay.collector.store.registry import Registry
from hearsay.estimator.open_survey import OpenSurvey
from hearsay.mechanisms.errors import QueryError
from tests.estimator.running import estimator
from tests.estimator.surveys import colours, deliver

HOUR_MS = 3_600_000
ONE = 1_738_328_400_000  # 2025-01-31 13:00 UTC
FIRST, SECOND, THIRD = "20250131T130000Z", "20250131T140000Z", "20250131T150000Z"


@pytest.fixture
def opened(registry: Registry) -> OpenSurvey:
    registered = registry.add(colours(window={"every": "1h"}, answers={"minimum_reports": 150}))
    for hour, count in enumerate((200, 300, 100, 400)):
        deliver(registered, count, seed=hour, at_ms=ONE + hour * HOUR_MS)
    other = registry.add(colours(name="elsewhere", mechanism="grr"))
    deliver(other, 500, seed=9)
    return OpenSurvey(registered, registry)


@pytest.fixture
def http(registry: Registry, opened: OpenSurvey, tmp_path: Path) -> Iterator[httpx.Client]:
    with estimator(registry, tmp_path) as running:
        yield running


def refusal(opened: OpenSurvey, question: str, window: str, against: str, **how: object) -> str:
    with pytest.raises(QueryError) as caught:
        opened.ask(question, window, against, **how)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_difference_is_that_of_both_windows(opened: OpenSurvey) -> None:
    (found,) = opened.ask("point red", SECOND, against=FIRST)
    a, b = (opened.ask("point red", window)[0].value for window in (SECOND, FIRST))
    assert a is not None
    assert b is not None
    assert found.of == (a, b)
    assert found.value == pytest.approx(a - b)
    assert found.p_value is not None


def test_another_survey_may_have_another_mechanism(opened: OpenSurvey) -> None:
    found = opened.ask("frequencies", "last:1", against="elsewhere:all")
    assert [each.item for each in found] == ["red", "green", "blue"]
    assert opened.ask("frequencies", "last:1", against="elsewhere:") == found
    assert all(each.p_adjusted is not None for each in found)


def test_refusals(opened: OpenSurvey) -> None:
    assert f"both hold {FIRST}" in refusal(opened, "point red", "all", FIRST)
    assert f"both hold {SECOND}" in refusal(opened, "point red", SECOND, "colours:last:3")
    assert "withheld until there are 150 reports" in refusal(opened, "point red", FIRST, THIRD)
    assert "window must be" in refusal(opened, "point red", FIRST, "20200101T000000Z")
    assert "count does not apply" in refusal(opened, "point red", FIRST, SECOND, count=True)
    assert "postprocess does not apply" in refusal(opened, "frequencies", FIRST, SECOND, postprocess="clip")
    assert "simultaneous does not apply" in refusal(opened, "frequencies", FIRST, SECOND, simultaneous=True)


def test_a_trend_is_over_the_final_windows_that_have_enough_reports(opened: OpenSurvey) -> None:
    slope, any_change, largest = opened.ask("trend point red")
    assert slope.query == "trend point red"
    assert [each.item for each in (slope, any_change, largest)] == ["slope", "any-change", "largest-change"]
    assert largest.window != THIRD, "it has too few reports, and still counts as an hour"
    with pytest.raises(QueryError, match="one answer"):
        opened.ask("trend frequencies")


def test_a_trend_needs_windows_of_time(registry: Registry) -> None:
    registered = registry.add(colours())
    deliver(registered, 100)
    with pytest.raises(QueryError, match="two final windows"):
        OpenSurvey(registered, registry).ask("trend point red")


class TestOverHttp:
    def test_the_same_answers(self, http: httpx.Client, opened: OpenSurvey) -> None:
        asked = {"q": "frequencies", "window": SECOND, "against": FIRST}
        document = http.get("/api/surveys/colours/query", params=asked).json()
        assert document["answers"] == [each.table() for each in opened.ask("frequencies", SECOND, against=FIRST)]
        assert document["against"] == {"survey": "colours", "window": FIRST, "reports": 200}
        trend = http.get("/api/surveys/colours/query", params={"q": "trend point red"}).json()
        assert trend["answers"] == [each.table() for each in opened.ask("trend point red")]

    def test_csv_names_both_sides(self, http: httpx.Client) -> None:
        asked = {"q": "point red", "window": SECOND, "against": FIRST, "format": "csv"}
        header = http.get("/api/surveys/colours/query", params=asked).text.splitlines()[0]
        assert header == "query,item,value,stderr,low,high,p_value,of_a,of_b"

    def test_refusals(self, http: httpx.Client) -> None:
        for asked in (
            {"q": "point red", "against": FIRST},
            {"q": "trend point red", "window": FIRST},
            {"q": "point red", "window": FIRST, "against": SECOND, "count": "1"},
        ):
            response = http.get("/api/surveys/colours/query", params=asked)
            assert response.status_code == 400
            assert "\n" not in response.json()["error"]
        unknown = {"q": "point red", "window": FIRST, "against": "nowhere:all"}
        assert http.get("/api/surveys/colours/query", params=unknown).status_code == 404

    def test_a_version_of_either_side_is_another_answer(self, http: httpx.Client, registry: Registry) -> None:
        asked = {"q": "point red", "window": SECOND, "against": "elsewhere:all"}
        first = http.get("/api/surveys/colours/query", params=asked)
        again = http.get("/api/surveys/colours/query", params=asked, headers={"If-None-Match": first.headers["etag"]})
        assert again.status_code == 304
        deliver(registry.get("elsewhere"), 500, seed=10)
        new = http.get("/api/surveys/colours/query", params=asked, headers={"If-None-Match": first.headers["etag"]})
        assert new.status_code == 200


def test_devices_that_repeat_are_compared_window_by_window(registry: Registry) -> None:
    registered = registry.add(colours(window={"every": "1h"}, participation={"repeat": "memoised"}))
    for hour in range(3):
        deliver(registered, 200, seed=hour, at_ms=ONE + hour * HOUR_MS)
    repeating = OpenSurvey(registered, registry)
    assert repeating.ask("point red", SECOND, against=FIRST)[0].p_value is not None
    assert "single windows" in refusal(repeating, "point red", "last:2", FIRST)
    with pytest.raises(QueryError, match="err independently"):
        repeating.ask("trend point red")
