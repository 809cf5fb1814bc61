"""What a person sees and does: every view, a dragged range, a rectangle, the keyboard, questions in the address."""

import json
from pathlib import Path

import numpy as np
import pytest

from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import load, parse
from hearsay.estimator.readings import live
from hearsay.mechanisms.questions import answer, parse_text
from hearsay.ops.demo.scene import SURVEYS
from tests.browser.chromium import Browser, Tab, program
from tests.browser.conftest import CHARTS, EXAMPLES
from tests.estimator.running import estimator
from tests.estimator.surveys import deliver_values

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium on this machine: install Debian's chromium")
ODD = ["<img src=x onerror=alert(1)>", "x" * 64, "עברית", "   ", "a\"b'c & d", "$(id)"]


def wanted(registry: Registry, name: str, question: str) -> dict[str, str]:
    """The answer of `hearsay query`, as the page must say it."""
    (found,) = answer(parse_text(question), live(registry.get(name)).estimate())
    parts = {"query": found.query, "value": found.value, "low": found.low, "high": found.high}
    return {key: value if key == "query" else json.dumps(value) for key, value in parts.items()}  # type: ignore[misc]


def said(tab: Tab) -> dict[str, str]:
    tab.wait("document.querySelector('[data-answer]')")
    shown = tab.answer()
    assert shown is not None
    numbers = {key: json.dumps(float(shown[key])) for key in ("value", "low", "high")}
    return {"query": shown["query"], **numbers}


def ask(tab: Tab, question: str) -> None:
    """Write into the box and press Enter."""
    box = "document.querySelector('input[name=q]')"  # a person has the focus there: updates leave the words alone
    tab.run(f"({box}.focus(), {box}.value = {json.dumps(question)}, {box}.form.requestSubmit())")


def unharmed(tab: Tab, address: str) -> None:
    """No error on the console, and no request to anywhere else."""
    assert tab.errors == []
    assert all(url.startswith((address, "about:", "blob:", "data:")) for url in tab.requests), tab.requests


def test_every_view_draws_its_charts(tab: Tab, address: str, tmp_path: Path) -> None:
    tab.open(address)
    assert tab.run("document.querySelectorAll('table.surveys tbody tr').length") == len(EXAMPLES)
    cells = "[...document.querySelectorAll('table.surveys td:last-child')]"
    newest = tab.run(f"{cells}.map((cell) => cell.textContent)")
    assert any(words.startswith("frequencies, casablanca: ") for words in newest)  # one of many answers, by its key
    assert any(words.startswith("quantile 0.5: ") for words in newest)
    for name, kinds in CHARTS.items():
        tab.open(f"{address}surveys/{name}")
        drawn = set(tab.run("[...document.querySelectorAll('.gallery [data-chart]')].map((e) => e.dataset.chart)"))
        assert drawn == kinds, name
        assert tab.run("document.querySelector('main').dataset.state") == "live"
        assert tab.run("document.querySelector('main').dataset.reports") == "20000"
        assert "What is promised" in tab.run("document.querySelector('.promise').textContent")
    tab.open(f"{address}surveys/home-town")
    plain = tab.run("document.querySelector('table.bars td:last-child').textContent")
    tab.run("document.querySelectorAll('.options input')[0].click()")
    tab.wait("document.querySelector('[data-remark]').textContent.includes('all of these at once')")
    wide = tab.run("document.querySelector('table.bars td:last-child').textContent")
    assert _width(wide) > _width(plain)
    tab.open(f"{address}surveys/home-town?postprocess=simplex")
    assert "simplex, which is biased" in tab.run("document.querySelector('[data-remark]').textContent")
    assert plain in tab.run("document.querySelector('table.bars td:last-child').textContent"), "the raw value beside"
    unharmed(tab, address)


def _width(words: str) -> float:
    """Of an interval in words, as 3.4% (0.9% to 5.7%)."""
    low, high = (float(end.strip("%")) for end in words.split("(")[1].rstrip(")").split(" to "))
    return high - low


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1000, True)])
def test_nothing_scrolls_sideways(tab: Tab, address: str, width: int, dark: bool) -> None:
    tab.look(width, 900, dark)
    for name in ("", *(f"surveys/{each}" for each in EXAMPLES)):
        tab.open(f"{address}{name}")
        assert tab.run("document.documentElement.scrollWidth") <= width, name
        broken = "[...document.querySelectorAll('.bars tbody th')].filter((cell) => cell.firstChild.offsetHeight > 40)"
        assert tab.run(f"{broken}.length") == 0, name  # labels of these surveys are short
    tab.open(address)
    box = "document.querySelector('.scroll')"
    assert tab.run(f"{box}.scrollWidth - {box}.clientWidth") <= 0
    if width < 480:  # every survey is a block of lines, and none of its short labels breaks
        tall = "[...document.querySelectorAll('.surveys td:nth-child(-n+5)')].filter((cell) => cell.offsetHeight > 40)"
        assert tab.run(f"{tall}.length") == 0
        assert tab.run("getComputedStyle(document.querySelector('.surveys tr')).display") == "block"


def test_a_dragged_range_gives_the_answer_of_the_command_line(tab: Tab, address: str, registry: Registry) -> None:
    tab.open(f"{address}surveys/session-minutes")
    left, top, width, height = tab.box("[data-chart=histogram] > svg")
    tab.drag((left + 0.3 * width, top + height / 2), (left + 0.6 * width, top + height / 2))
    shown = said(tab)
    assert shown["query"].startswith("range ")
    assert shown == wanted(registry, "session-minutes", shown["query"])
    assert "q=range" in tab.run("location.search")
    unharmed(tab, address)


def test_a_drawn_rectangle(tab: Tab, address: str, registry: Registry) -> None:
    tab.open(f"{address}surveys/meeting-place")
    left, top, width, height = tab.box("[data-chart=map] > svg")
    tab.drag((left + 0.2 * width, top + 0.2 * height), (left + 0.7 * width, top + 0.7 * height))
    shown = said(tab)
    assert shown == wanted(registry, "meeting-place", shown["query"])


def test_a_range_by_keyboard_alone(tab: Tab, address: str, registry: Registry) -> None:
    tab.open(f"{address}surveys/session-minutes")
    tab.run("document.querySelector('[data-chart=histogram] input[type=range]').focus()")
    tab.press("ArrowRight")
    tab.press("Tab")
    tab.press("PageDown")
    tab.press("Tab")
    assert tab.run("document.activeElement.textContent") == "Ask this range"
    tab.run("document.activeElement.click()")
    shown = said(tab)
    assert shown == wanted(registry, "session-minutes", shown["query"])
    first, last = shown["query"].split()[1:]
    assert (first, last) != ("0", "1023")


def test_a_question_in_the_address_and_back(tab: Tab, address: str, registry: Registry) -> None:
    tab.open(f"{address}surveys/session-minutes?q=range+300+500")
    assert said(tab) == wanted(registry, "session-minutes", "range 300 500")
    ask(tab, "prefix 511")
    tab.wait("(document.querySelector('[data-answer]') || {dataset: {}}).dataset.query === 'prefix 511'")
    ask(tab, "quantile 0.5 0.9")
    tab.wait("document.querySelector('.copy code').textContent === 'hearsay query session-minutes quantile 0.5 0.9'")
    tab.run("history.go(-2)")
    tab.wait("(document.querySelector('[data-answer]') || {dataset: {}}).dataset.query === 'range 300 500'")
    ask(tab, "topp")
    tab.wait("document.querySelector('.answer').textContent.includes('query must be')")
    assert tab.run("document.querySelector('[data-answer]')") is None
    assert tab.run("document.querySelector('.copy').offsetHeight") == 0, (
        "nothing to copy or to take home of a refused question"
    )
    unharmed_but_refusals = [error for error in tab.errors if "400" not in error]
    assert unharmed_but_refusals == []


def test_a_question_that_does_not_take_the_method_says_so(tab: Tab, address: str) -> None:
    tab.open(f"{address}surveys/session-minutes?q=quantile+0.5&postprocess=clip")
    tab.wait("document.querySelector('[data-answer]')")
    shown = tab.run("document.querySelector('section[aria-label=Ask] .note').textContent")
    assert "Answered without post-processing: postprocess clip applies to " in shown
    ask(tab, "range 300 500")
    tab.wait("document.querySelector('[data-answer]').dataset.query === 'range 300 500'")
    assert "Answered without" not in tab.run("document.querySelector('section[aria-label=Ask] .note').textContent")


def test_labels_are_only_ever_text(tab: Tab, registry: Registry, tmp_path: Path) -> None:
    domain = {"kind": "categorical", "categories": ODD}
    survey = parse({"name": "odd", "mechanism": "grr", "epsilon": 3.0, "domain": domain})
    deliver_values(registry.add(survey), np.arange(5_000) % len(ODD))
    with estimator(registry, tmp_path) as http:
        tab.open(f"{http.base_url}/surveys/odd")
        shown = tab.run("[...document.querySelectorAll('table.bars button.label')].map((e) => e.textContent)")
        assert shown == ODD
        assert tab.run("document.querySelectorAll('img').length") == 0
        for row, label in enumerate(ODD):
            tab.run(f"document.querySelectorAll('table.bars button.label')[{row}].click()")
            tab.wait("document.querySelector('[data-answer]')")
            tab.wait(f"document.querySelector('[data-answer]').dataset.query.includes({json.dumps(label.strip()[:3])})")
        tab.open(f"{http.base_url}/surveys/odd?q=point+$(id)")  # in the address as somebody wrote it
        tab.wait("document.querySelector('.copy code').textContent === \"hearsay query odd point '$(id)'\"")
        assert tab.errors == []


def test_changes_come_by_themselves_and_no_element_is_replaced(tab: Tab, address: str, registry: Registry) -> None:
    tab.open(f"{address}surveys/session-minutes?q=range+300+500")
    tab.run(
        "window.removed = 0; new MutationObserver((all) => all.forEach((m) => window.removed += m.removedNodes.length))"
        ".observe(document.querySelector('[data-chart=histogram] .bars'), {childList: true, subtree: true})"
    )
    tab.run("document.querySelector('input[name=q]').focus()")
    registered = registry.get("session-minutes")
    deliver_values(registered, np.arange(1_000) % 1024)
    tab.wait("document.querySelector('main').dataset.reports === '21000'")
    assert tab.run("window.removed") == 0
    assert tab.run("document.activeElement.name") == "q"


def test_states_none_unknown_and_gone(tab: Tab, registry: Registry, tmp_path: Path) -> None:
    survey = load(SURVEYS / "session-minutes.toml")
    registry.add(survey)
    with estimator(registry, tmp_path) as http:
        tab.open(f"{http.base_url}/surveys/session-minutes")
        assert tab.run("document.querySelector('main').dataset.state") == "none"
        assert "hearsay produce session-minutes" in tab.run("document.querySelector('main').textContent")
        tab.open(f"{http.base_url}/surveys/nowhere")
        assert "session-minutes" in tab.run("document.querySelector('main').textContent")
        assert "not registered" in tab.run("document.querySelector('#banner').textContent")
        tab.open(f"{http.base_url}/surveys/session-minutes")
    tab.wait("document.querySelector('main').dataset.state === 'gone'")
    assert "has not answered since" in tab.run("document.querySelector('#banner').textContent")


def test_many_tabs_share_the_connections_of_a_browser(running: Browser, address: str) -> None:
    """A browser has six connections to a host: tabs that are not looked at must give theirs back."""
    tabs = [running.tab() for _ in range(8)]
    try:
        for each in tabs:
            each.open(f"{address}surveys/session-minutes")
            assert each.run("document.querySelector('main').dataset.reports") == "20000"
    finally:
        for each in tabs:
            each.close()
