"""Cells of tables that hardly anybody holds: their intervals held in 49 to 84% of surveys at high epsilon."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.marginals.analyses.conditional import conditional
from hearsay.mechanisms.marginals.analyses.correlation import correlation

RUNS = 100
# 0.93 less five deviations of so many runs
LEAST = 0.93 - 5 * np.sqrt(0.93 * 0.07 / RUNS)


@pytest.mark.parametrize("method", ["inp-ht", "marg-ht", "marg-ps", "marg-rr", "calm"])
def test_cells_of_one_percent_hold(method: str) -> None:
    names = [f"a{place}" for place in range(6)]
    domain = {"kind": "attributes", "names": names, "order": 2}
    mechanism: Any = build({"mechanism": method, "epsilon": 10.0, "domain": domain})
    values = np.ones((3_000, 6), dtype=np.int64)
    values[:30] = 0
    exact, held = mechanism.exact(values), []
    pairs = [(0, 4), (2,)]
    truth = np.concatenate([exact.table(chosen).value for chosen in pairs])
    among = conditional(exact.table((0, 4)), (1,)).value
    for seed in range(RUNS):
        found = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(values, seeded(seed))))
        ends = [found.table(chosen).measured().ends() for chosen in pairs]
        low, high = (np.concatenate(parts) for parts in zip(*ends, strict=True))
        least, most = conditional(found.table((0, 4)), (1,)).ends()
        held.append(np.append((low <= truth) & (truth <= high), (least <= among + 1e-9) & (among <= most + 1e-9)))
    assert np.mean(held, axis=0).min() > LEAST


@pytest.mark.parametrize("method", ["inp-ht", "marg-ps"])
def test_a_value_of_one_in_three_thousand_holds(method: str) -> None:
    domain = {"kind": "attributes", "names": ["a", "b"], "sizes": [4, 3], "order": 1}
    mechanism: Any = build({"mechanism": method, "epsilon": 10.0, "domain": domain})
    values = np.zeros((3_000, 2), dtype=np.int64)
    values[0] = (3, 2)
    held = []
    for seed in range(RUNS):
        found = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(values, seeded(seed))))
        low, high = found.table((1,)).measured().ends()
        held.append(low[2] <= 1 / 3_000 <= high[2])
    assert np.mean(held) > LEAST


@pytest.mark.parametrize("method", ["inp-ht", "marg-ps", "calm"])
def test_even_tables_of_many_reports_keep_plain_intervals(method: str) -> None:
    domain = {"kind": "attributes", "names": ["a", "b", "c"], "order": 2}
    mechanism: Any = build({"mechanism": method, "epsilon": 1.0, "domain": domain})
    values = np.random.default_rng(1).integers(0, 2, (60_000, 3))
    table = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(values, seeded(1)))).table((0, 1))
    low, high = table.measured().ends()
    np.testing.assert_allclose(high - low, 2 * 1.96 * table.stderr, rtol=0.03)


@pytest.mark.parametrize(("method", "reports"), [("inp-rr", 3_000), ("marg-ps", 30)])
def test_nothing_is_said_about_the_correlation_of_what_nobody_seems_to_hold(method: str, reports: int) -> None:
    """One device holds both, the others neither: phi is 1. Half of the intervals held."""
    domain = {"kind": "attributes", "names": ["a", "b", "c"], "order": 2}
    mechanism: Any = build({"mechanism": method, "epsilon": 10.0, "domain": domain})
    values = np.zeros((reports, 3), dtype=np.int64)
    values[0] = 1
    held = []
    for seed in range(2 * RUNS):
        found = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(values, seeded(seed))))
        phi = correlation(found.table((0, 1)))
        if np.isfinite(phi.value):
            held.append(phi.low <= 1.0 <= phi.high)
    assert np.mean(held) > 0.93 - 5 * np.sqrt(0.93 * 0.07 / max(len(held), 1))
