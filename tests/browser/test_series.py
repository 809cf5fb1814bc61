"""One question over the windows, as the page draws it."""

import json
from pathlib import Path

import pytest

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from tests.browser.chromium import Tab, program
from tests.browser.test_page import ask
from tests.estimator.running import estimator
from tests.estimator.surveys import deliver

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium on this machine: install Debian's chromium")
HOUR_MS = 3_600_000
ONE = 1_738_328_400_000  # 2025-01-31 13:00 UTC
CAPTION = "document.querySelector('[data-chart=series] figcaption').textContent"
TICKS = "[...document.querySelectorAll('[data-chart=series] .grid text')].map((tick) => tick.textContent)"
# The answer to a question is held back until the chart of the same question is drawn.
HOLD = f"""(() => {{
  const fetched = window.fetch;
  window.fetch = async (address, options) => {{
    const answered = await fetched(address, options);
    const asked = new URL(address, location);
    while (asked.pathname.endsWith('/query') && asked.searchParams.get('q') === QUESTION
           && !{CAPTION}.startsWith(QUESTION)) await new Promise((resolve) => setTimeout(resolve, 10));
    return answered;
  }};
}})()"""


@pytest.fixture
def hourly(registry: Registry) -> Registered:
    domain = {"kind": "ordinal", "size": 128}
    window = {"every": "1h"}
    registered = registry.add(
        parse({"name": "minutes", "mechanism": "flat", "epsilon": 4.0, "domain": domain, "window": window})
    )
    for hour in range(3):
        deliver(registered, 2_000, seed=hour, at_ms=ONE + hour * HOUR_MS)
    return registered


def test_the_unit_is_that_of_the_series_whichever_answer_comes_first(
    tab: Tab, registry: Registry, hourly: Registered, tmp_path: Path
) -> None:
    with estimator(registry, tmp_path) as http:
        tab.open(f"{http.base_url}/surveys/minutes?q=prefix+20")
        for question, in_percent in (("quantile 0.5", False), ("prefix 30", True)):
            tab.run(HOLD.replace("QUESTION", json.dumps(question)))
            ask(tab, question)
            tab.wait(f"{CAPTION}.startsWith({json.dumps(question)})")
            ticks = tab.run(TICKS)
            assert ticks
            assert all(tick.endswith("%") == in_percent for tick in ticks), (question, ticks)
        assert tab.errors == []


def test_shares_stay_shares_beside_an_answer_in_reports(
    tab: Tab, registry: Registry, hourly: Registered, tmp_path: Path
) -> None:
    with estimator(registry, tmp_path) as http:
        tab.open(f"{http.base_url}/surveys/minutes?q=prefix+20&count=1")
        tab.wait(f"{CAPTION}.startsWith('prefix 20')")
        ticks = tab.run(TICKS)
        assert ticks
        assert all(tick.endswith("%") for tick in ticks)


def test_windows_shorter_than_a_minute_have_labels_with_seconds_and_sliders_say_their_ends(
    tab: Tab, registry: Registry, tmp_path: Path
) -> None:
    domain = {"kind": "ordinal", "size": 64}
    brief = parse({"name": "brief", "mechanism": "flat", "epsilon": 4.0, "domain": domain, "window": {"every": "15s"}})
    registered = registry.add(brief)
    for window in range(3):
        deliver(registered, 500, seed=window, at_ms=ONE + window * 15_000)
    with estimator(registry, tmp_path) as http:
        tab.open(f"{http.base_url}/surveys/brief?q=prefix+9")
        labels = "[...document.querySelectorAll('[data-chart=series] .labels text')].map((label) => label.textContent)"
        tab.wait(f"{labels}.length === 3")
        assert tab.run(labels) == ["13:00:00", "13:00:15", "13:00:30"]
        ends = "[...document.querySelectorAll('[data-chart=cdf] output')].map((output) => output.textContent)"
        assert tab.run(ends) == ["0", "63"]
        tab.run("import(new URL('../assets/words.js', location)).then((loaded) => { globalThis.words = loaded; })")
        assert tab.run("[6.6595, 0.012345, 12345.6, 7].map((number) => words.plain(number))") == [
            "6.66",
            "0.01235",
            "12,346",
            "7",
        ]
