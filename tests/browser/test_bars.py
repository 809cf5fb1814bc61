"""Bars of shares and means: one scale that holds every interval, and a word where a value lies outside its own."""

import json
from pathlib import Path

import pytest

from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from tests.browser.chromium import Tab, program
from tests.estimator.running import estimator
from tests.estimator.surveys import deliver_values

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium on this machine: install Debian's chromium")
SHARES = [("tea", 0.1, 0.0, 0.2), ("milk", -0.02, -0.1, 0.06), ("water", 0.3, 0.2, 0.4), ("soup", 0, -0.05, 0.05)]
MEANS = [("tea", 30, 0, 67), ("milk", -4, 0, 48), ("water", 20, 0, 48), ("soup", 9000, 0, 60)]
# Bar and band of every row and column, as [left, right] each.
DRAWN = """
import(new URL('assets/charts/keys.js', location)).then(({ keys }) => {
  const chart = keys({ title: 'Keys' }, { ask() {} });
  const answer = (query) => ([item, value, low, high]) => ({ query, item, value, low, high });
  const answers = (rows, query) => ({ answers: rows.map(answer(query)) });
  chart.update(answers(SHARES, 'frequencies'), answers(MEANS, 'means'));
  return [...chart.node.querySelectorAll('tbody svg')].map((svg) => {
    const [zero, bar, band] = [...svg.children].map((part) => (name) => Number(part.getAttribute(name)));
    return [[bar('x'), bar('x') + bar('width')], [band('x1'), band('x2')], zero('x1')];
  });
})
"""


def test_one_scale_holds_every_interval(tab: Tab, registry: Registry, tmp_path: Path) -> None:
    with estimator(registry, tmp_path) as http:
        tab.open(str(http.base_url))
        drawn = tab.run(DRAWN.replace("SHARES", json.dumps(SHARES)).replace("MEANS", json.dumps(MEANS)))
    for column, rows in enumerate((SHARES, MEANS)):
        marks = [(value, low, high, *drawn[2 * row + column]) for row, (_, value, low, high) in enumerate(rows)]
        (_, least, most, _, (left, right), zero), *_ = marks
        per_unit = (right - left) / (most - least)
        for value, low, high, bar, band, origin in marks:
            assert origin == zero
            end = min(max(zero + per_unit * value, 0), 300)
            assert bar == pytest.approx(sorted([zero, end]))
            assert band == pytest.approx([zero + per_unit * low, zero + per_unit * high])
            assert all(0 <= end <= 300.001 for end in (*bar, *band))


def test_a_mean_outside_its_interval_has_the_note_of_the_command_line(
    tab: Tab, registry: Registry, tmp_path: Path
) -> None:
    domain = {"kind": "key-value", "keys": ["tea", "milk"], "low": 0, "high": 120}
    survey = parse({"name": "drinks", "mechanism": "privkv", "epsilon": 0.5, "domain": domain})
    one = survey.mechanism.domain.one({"tea": 0.0})
    deliver_values(registry.add(survey), survey.mechanism.domain.join([one] * 300), seed=9)
    with estimator(registry, tmp_path) as http:
        means = http.get("/api/surveys/drinks/query?q=means").json()["answers"]
        assert any(each["value"] < each["low"] or each["value"] > each["high"] for each in means)
        tab.open(f"{http.base_url}/surveys/drinks")
        tab.wait("document.querySelector('[data-remark]').textContent.includes('A mean outside its interval')")
        tab.open(f"{http.base_url}/surveys/drinks?q=means")
        assert "A mean outside its interval" in tab.run("document.querySelector('[data-answer]').textContent")
        assert tab.errors == []


def test_a_share_that_is_possible_has_no_such_note(tab: Tab, registry: Registry, tmp_path: Path) -> None:
    """The band of `smooth` may leave out the raw share, and a coefficient is no share: neither interval was cut."""
    rest = {"value": 0, "low": 0, "high": 0.05}
    answers = {
        "impossible": {"query": "conditional a given b", "value": -0.04, "low": 0, "high": 0.58},
        "smooth": {**rest, "query": "range 0 4", "postprocess": "smooth", "raw": 0.1},
        "coefficient": {**rest, "query": "correlations", "value": -0.1, "coefficient": "pearson"},
    }
    remarks = f"""
    import(new URL('assets/words.js', location)).then(({{ remark }}) =>
      Object.fromEntries(Object.entries({json.dumps(answers)}).map(([name, each]) => [name, remark([each])])))
    """
    with estimator(registry, tmp_path) as http:
        tab.open(str(http.base_url))
        assert "the intervals are its own" in tab.run(remarks)["smooth"]
        noted = {name for name, words in tab.run(remarks).items() if "outside its interval" in words}
    assert noted == {"impossible"}
