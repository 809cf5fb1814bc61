"""A survey of 2^20 cells: one estimate for each pass, whoever asks, and charts that are thinned before being sent."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from tests.estimator.running import estimator, wait_until
from tests.estimator.surveys import colours, deliver, deliver_values

HOUR_MS = 3_600_000
ONE = 1_738_328_400_000  # 2025-01-31 13:00 UTC
WINDOWS = 20
MOST_BYTES = 12_000


def haar(**changes: Any) -> Any:
    domain = {"kind": "ordinal", "size": 1 << 20}
    return parse({"name": "wide", "mechanism": "haar", "epsilon": 1.1, "domain": domain, **changes})


def fastest(http: httpx.Client, path: str, tries: int = 20) -> tuple[float, httpx.Response]:
    """The least seconds to an answer: other work of the machine is no part of it."""
    taken = []
    for _ in range(tries):
        began = time.perf_counter()
        response = http.get(path)
        taken.append(time.perf_counter() - began)
        assert response.status_code == 200, response.text
    return min(taken), response


@pytest.mark.slow
def test_charts_of_a_million_cells(registry: Registry, tmp_path: Path) -> None:
    registered = registry.add(haar())
    people = registered.survey.mechanism.domain.simulated("normal", 300_000, np.random.default_rng(1))
    deliver_values(registered, people)
    with estimator(registry, tmp_path, period_s=1.0, first_pass_s=180) as http:
        wait_until(lambda: http.get("/api/overview").json()["surveys"][0]["headline"] is not None)
        for question in ("histogram", "cdf+256"):
            seconds, response = fastest(http, f"/api/surveys/wide/query?q={question}")
            print(f"{question}: {1_000 * seconds:.1f} ms, {response.num_bytes_downloaded} bytes")
            assert response.num_bytes_downloaded < MOST_BYTES
            assert seconds < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 20])
def test_a_series_of_final_windows_is_quick_the_second_time(registry: Registry, tmp_path: Path, size: int) -> None:
    registered = registry.add(haar(domain={"kind": "ordinal", "size": 1 << size}, window={"every": "1h"}))
    for hour in range(WINDOWS):
        deliver(registered, 2_000, seed=hour, at_ms=ONE + hour * HOUR_MS)
    with estimator(registry, tmp_path, period_s=1.0, first_pass_s=180) as http:
        http.timeout = httpx.Timeout(120)
        path = f"/api/surveys/wide/series?q=range+100+{(1 << size) - 100}&windows={WINDOWS}"
        began = time.perf_counter()
        assert len(http.get(path).json()) == WINDOWS
        first = time.perf_counter() - began
        again, response = fastest(http, path)
        print(f"2^{size} cells, {WINDOWS} windows: first {first:.3f} s, then {1_000 * again:.1f} ms")
        assert {row["status"] for row in response.json()} == {"final"}
        assert again < 0.05


def test_one_estimate_for_each_pass_and_window(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Counter[int] = Counter()  # by the number of reports behind it
    mechanism = type(colours().mechanism)
    estimate = mechanism.estimate

    def counted(self: Any, state: Any) -> Any:
        made[self.reports(state)] += 1
        return estimate(self, state)

    monkeypatch.setattr(mechanism, "estimate", counted)
    registered = registry.add(colours())
    deliver(registered, 1_000)
    with estimator(registry, tmp_path) as http:
        for total in (1_000, 1_500, 2_000):
            wait_until(lambda total=total: _reports(http) == total)  # type: ignore[misc]
            for question in ("frequencies", "point red", "top 2"):
                found = http.get("/api/surveys/colours/query", params={"q": question}).json()
                assert found["reports"] == total
            assert http.get("/api/surveys/colours").json()["views"]
            assert http.get("/api/surveys/colours/series?q=point+red").status_code == 200
            if total < 2_000:
                deliver(registered, 500, seed=total)
    assert made == {1_000: 1, 1_500: 1, 2_000: 1}


def _reports(http: httpx.Client) -> int:
    return int(http.get("/api/overview").json()["surveys"][0]["reports"])
