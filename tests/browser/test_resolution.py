"""How many stretches the page draws while reports come in, and what it says where even four are noise."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from tests.browser.chromium import Tab, program
from tests.estimator.running import estimator
from tests.estimator.surveys import deliver_values
from tests.mechanisms.queries.test_resolution import DATA, growing

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium on this machine: install Debian's chromium")
STEPS = 16
DRAWN = """
import(new URL('assets/resolution.js', location)).then(({ memory }) => {
  const kept = memory();
  let reports = 0;
  return SEEN.map(([now, choice]) => {
    const [drawn] = kept.asked('histogram', reports) ?? [choice];
    if (kept.asked('histogram', reports) === null) kept.keep('histogram', now, [choice]);
    reports = now;
    return drawn;
  });
})
"""


def changes(choices: list[int]) -> int:
    """The most changes while reports double."""
    changed = [int(one != other) for one, other in pairwise(choices)]
    return max(sum(changed[start : start + STEPS - 1]) for start in range(len(changed)))


@pytest.mark.parametrize("name", ["flat", "metric-l1", pytest.param("haar", marks=pytest.mark.slow)])
def test_the_picture_changes_at_most_once_while_reports_double(
    name: str, tab: Tab, registry: Registry, tmp_path: Path
) -> None:
    by_rule = []
    with estimator(registry, tmp_path) as http:
        tab.open(str(http.base_url))
        for data in DATA:
            for reports in (1_000, 30_000, 1_000_000) if name != "haar" else (1_000, 30_000):
                seen = growing(name, data, reports, STEPS)
                drawn = tab.run(DRAWN.replace("SEEN", json.dumps(seen)))
                assert changes(drawn) <= 1, (data, reports, drawn)
                by_rule.append(changes([choice for _, choice in seen]))
    assert max(by_rule) > 1 or name == "metric-l1"  # the rule alone would change more often


@pytest.mark.parametrize(
    ("domain", "chart"),
    [({"kind": "ordinal", "size": 1024}, "histogram"), ({"kind": "grid", "sizes": [16, 16]}, "map")],
)
def test_noise_is_called_noise(
    domain: dict[str, object], chart: str, tab: Tab, registry: Registry, tmp_path: Path
) -> None:
    survey = parse({"name": "noise", "mechanism": "haar", "epsilon": 0.5, "domain": domain})
    people = survey.mechanism.domain.simulated("uniform", 200, np.random.default_rng(1))
    registered = registry.add(survey)
    deliver_values(registered, people)
    note = f"document.querySelector('[data-chart={chart}] > .note').textContent"
    with estimator(registry, tmp_path) as http:
        tab.open(f"{http.base_url}/surveys/noise")
        assert "mostly noise" in tab.run(note)
        deliver_values(registered, np.repeat(people[:1], 200_000, axis=0), seed=2)
        tab.wait(f"!{note}.includes('mostly noise')")
        assert tab.errors == []
