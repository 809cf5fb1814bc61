"""Items that devices draw from their sets, and trees of signs with few reports: what their errors left out before."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.key_value.pairs import Pairs

RUNS = 200
# 0.93 less five deviations of so many runs
LEAST = 0.93 - 5 * np.sqrt(0.93 * 0.07 / RUNS)


@pytest.mark.parametrize(("epsilon", "devices"), [(10.0, 4_000), (3.0, 400)])
def test_which_items_devices_draw_is_part_of_the_error(epsilon: float, devices: int) -> None:
    """With epsilon 10 a device hides next to nothing but which of 2k items it drew: 35% of intervals held."""
    domain = {"kind": "key-value", "keys": 4, "values": False, "ordered": True, "pairs": 1}
    mechanism: Any = build({"mechanism": "heavy", "epsilon": epsilon, "domain": domain, "options": {"k": 2}})
    keys = np.where(np.arange(devices) % 4 == 0, 0, 3)
    pairs = Pairs.grouped(np.arange(devices), keys, np.zeros((devices, 0)), devices)
    second = mechanism.in_round([{"candidates": [0, 1, 2, 3]}])
    truth, held = np.array([0.25, 0.0, 0.0, 0.75]), []
    for seed in range(RUNS):
        found = second.estimate(second.fold(second.empty(), second.perturb(pairs, seeded(seed))))
        (low, high), (least, most) = found.points(np.arange(4)).ends(), found.item_range(0, 3).ends()
        held.append([*((low <= truth) & (truth <= high)), least[0] <= 1.0 <= most[0]])
    assert np.mean(held, axis=0).min() > LEAST


def test_of_a_second_round_without_reports_nothing_is_known() -> None:
    domain = {"kind": "key-value", "keys": 5, "values": False, "ordered": True, "pairs": 1}
    mechanism: Any = build({"mechanism": "heavy", "epsilon": 1.0, "domain": domain, "options": {"k": 2}})
    second = mechanism.in_round([{"candidates": [0, 1, 2, 4]}])
    found = second.estimate(second.empty())
    several = found.item_range(0, 2)
    assert np.isinf(several.stderr).all()
    assert [end[0] for end in several.ends()] == [0.0, 3.0]


@pytest.mark.parametrize(("epsilon", "devices"), [(3.0, 5), (5.0, 30), (10.0, 30)])
def test_a_tree_of_signs_holds_with_few_reports(epsilon: float, devices: int) -> None:
    """Shares of single keys held in 17 to 80% of surveys, means of ranges in 82 to 86%."""
    domain = {"kind": "key-value", "keys": 16, "ordered": True, "pairs": 1}
    mechanism: Any = build({"mechanism": "hierarchical", "epsilon": epsilon, "domain": domain})
    keys = np.where(np.arange(devices) % 5 == 4, 3, 8)
    pairs = Pairs.grouped(np.arange(devices), keys, np.where(keys == 8, 0.4, -1.0), devices)
    truth = np.bincount(keys, minlength=16)[[3, 8, 15]] / devices
    mean, held = float(pairs.values.mean()), []
    for seed in range(RUNS):
        found = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(pairs, seeded(seed))))
        points, whole, single = found.points(np.array([3, 8, 15])), found.range_means(0, 15), found.means
        low, high = points.ends()
        held.append([*((low <= truth) & (truth <= high)), whole.low[0] <= mean <= whole.high[0]])
        held[-1].append(single.low[8, 0] <= 0.4 <= single.high[8, 0])
        assert (points.stderr > 0.01).all()
    assert np.mean(held, axis=0).min() > LEAST


def test_levels_without_reports_know_nothing() -> None:
    domain = {"kind": "key-value", "keys": 16, "ordered": True, "pairs": 1}
    mechanism: Any = build({"mechanism": "hierarchical", "epsilon": 1.0, "domain": domain})
    found = mechanism.estimate(mechanism.empty())
    points, means = found.points(np.arange(16)), found.means
    assert np.isinf(points.stderr).all()
    assert [end.tolist() for end in points.ends()] == [[0.0] * 16, [1.0] * 16]
    assert np.isinf(means.stderr).all()
    assert (means.low == -1).all()
    assert (means.high == 1).all()
