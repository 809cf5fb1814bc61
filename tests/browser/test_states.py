"""What the page says when something is not as it should be, and two windows compared; each state really provoked."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.wire.codec import codec
from hearsay.estimator.materialise import Materialiser, Pass
from hearsay.estimator.serving.overview import Overview
from tests.browser.chromium import Tab, program
from tests.estimator.running import estimator
from tests.estimator.surveys import colours, deliver, devices
from tests.pipeline import fold_all

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium on this machine: install Debian's chromium")
HOUR_MS = 3_600_000
ONE = 1_738_328_400_000  # 2025-01-31 13:00 UTC
STATE = "document.querySelector('main').dataset.state"
SAID = "document.querySelector('main').textContent"
BANNER = "document.querySelector('#banner').textContent"


@pytest.fixture
def asked(registry: Registry) -> Registered:
    registered = registry.add(colours(answers={"minimum_reports": 500}))
    deliver(registered, 400)
    return registered


def test_few_live_still_closed_and_deleted(tab: Tab, registry: Registry, asked: Registered, tmp_path: Path) -> None:
    with estimator(registry, tmp_path) as http:
        tab.open(f"{http.base_url}/surveys/colours")
        tab.wait(f"{STATE} === 'few'")
        assert "400 of 500 reports" in tab.run(SAID)
        deliver(asked, 600, seed=2)
        tab.wait(f"{STATE} === 'live'")
        tab.wait("document.querySelectorAll('table.bars button.label').length === 3")

        store, reports = asked.shards[0], devices(asked.survey, 100, seed=3)
        frame = codec(asked.survey.mechanism).encode_frame(reports)
        assert store.publish("writer-3", 1, [(b"f", frame)], 100).status == "ok"  # and nobody is there to fold it
        tab.wait(f"{STATE} === 'still'", 60)
        assert "keeps reports from being counted" in tab.run(SAID)
        assert "entries wait for" in tab.run(SAID)
        assert tab.run("document.querySelectorAll('table.bars button.label').length") == 3
        fold_all(store)
        tab.wait(f"{STATE} === 'live'")
        registry.close("colours")
        tab.wait(f"{STATE} === 'closed'")
        assert "takes no more reports" in tab.run(SAID)

        assert tab.errors == []
        registry.delete("colours")
        tab.wait(f"{BANNER}.includes('was deleted')")
        assert "last picture" in tab.run(BANNER)
        assert tab.run("document.querySelectorAll('table.bars button.label').length") == 3
        registry.add(asked.survey)
        tab.wait(f"{STATE} === 'none'")
        tab.wait(f"{BANNER} === ''")
        assert [each for each in tab.errors if "404" not in each] == []  # a question may meet the deletion


@pytest.mark.slow
def test_stale_while_no_pass_is_finished(
    tab: Tab, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(registry.add(colours()), 1_000)
    blocked, begin = threading.Event(), Materialiser.run_once

    def run_once(self: Materialiser) -> Pass:
        blocked.wait()
        return begin(self)

    blocked.set()
    monkeypatch.setattr(Materialiser, "run_once", run_once)
    with estimator(registry, tmp_path) as http:
        tab.open(f"{http.base_url}/surveys/colours")
        tab.wait(f"{STATE} === 'live'")
        blocked.clear()
        tab.wait(f"{STATE} === 'stale'", 60)
        assert "has not finished a pass" in tab.run(SAID)
        assert tab.run("document.querySelectorAll('table.bars button.label').length") == 3
        blocked.set()
        tab.wait(f"{STATE} === 'live'")
        assert tab.errors == []


def test_ten_thousand_names_are_searched(
    tab: Tab, registry: Registry, asked: Registered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = Overview._make

    def many(self: Overview, now: float) -> dict[str, Any]:
        document = make(self, now)
        (row,) = document["surveys"]
        return {**document, "surveys": [{**row, "name": f"survey-{number:05}"} for number in range(10_000)]}

    monkeypatch.setattr(Overview, "_make", many)
    with estimator(registry, tmp_path, period_s=1.0) as http:
        tab.open(str(http.base_url))
        rows = "document.querySelectorAll('table.surveys tbody tr').length"
        assert tab.run(rows) == 500
        assert "500 of 10000 shown" in tab.run(SAID)
        spent = tab.run(
            "(() => { const box = document.querySelector('input[type=search]'), began = performance.now();"
            "box.value = '0999'; box.dispatchEvent(new Event('input')); return performance.now() - began; })()"
        )
        names = tab.run("[...document.querySelectorAll('table.surveys tbody th')].map((e) => e.textContent)")
        assert names == [f"survey-{number:05}" for number in range(10_000) if "0999" in f"{number:05}"]
        assert spent < 1_000
        assert tab.errors == []


@pytest.fixture
def hourly(registry: Registry) -> Registered:
    registered = registry.add(colours(window={"every": "1h"}))
    for hour in range(3):
        deliver(registered, 500, seed=hour, at_ms=ONE + hour * HOUR_MS)
    return registered


def test_two_windows_are_compared_and_never_one_with_its_sum(
    tab: Tab, registry: Registry, hourly: Registered, tmp_path: Path
) -> None:
    first, second, last = (f"20250131T{hour}0000Z" for hour in (13, 14, 15))
    with estimator(registry, tmp_path) as http:
        tab.open(f"{http.base_url}/surveys/colours?q=point+red")
        _choose(tab, "Compare with window", first)
        tab.wait("document.querySelector('.note') && document.body.textContent.includes('Difference of two windows')")
        assert _address(tab) == {"q": "point red", "window": last, "against": first}
        _choose(tab, "Compare with window", last)  # the one that is shown: that one moves on
        tab.wait("new URLSearchParams(location.search).get('window') === '" + second + "'")
        assert _address(tab) == {"q": "point red", "window": second, "against": last}
        _choose(tab, "Window", "all")
        tab.wait("!document.body.textContent.includes('Difference of two windows')")
        assert _address(tab) == {"q": "point red", "window": "all"}
        assert tab.errors == []


def _choose(tab: Tab, label: str, value: str) -> None:
    select = f"document.querySelector('select[aria-label={json.dumps(label)}]')"
    tab.run(f"({select}.value = {json.dumps(value)}, {select}.dispatchEvent(new Event('change')))")


def _address(tab: Tab) -> dict[str, str]:
    found: dict[str, str] = tab.run("Object.fromEntries(new URLSearchParams(location.search))")
    return found
