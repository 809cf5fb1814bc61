"""Keys of few reports: shares and means whose plugged-in variances knew no spread. Each held in 13 to 80% before."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.key_value.pairs import Pairs

RUNS = 300
METHODS: dict[str, dict[str, Any]] = {
    "joint": {"mechanism": "privkv"},
    "split": {"mechanism": "privkv", "options": {"budget": "split"}},
    "pckv-grr": {"mechanism": "pckv-grr"},
    "pckv-ue": {"mechanism": "pckv-ue"},
    "first round": {"mechanism": "privkvm"},
    "first of decaying rounds": {"mechanism": "privkvm+"},
}


def people(devices: int) -> Pairs:
    """Most hold the first key with a value of 0.4, every fifth the second with -1, one the third with 0."""
    first = np.arange(devices - 2)
    second = np.arange(0, devices, 5)
    device = np.concatenate([first, second, [devices - 1]])
    keys = np.repeat([0, 1, 2], [first.size, second.size, 1])
    return Pairs.grouped(device, keys, np.array([0.4, -1.0, 0.0])[keys], devices)


@pytest.mark.parametrize("devices", [10, 40])
@pytest.mark.parametrize("method", METHODS)
def test_shares_and_means_of_few_reports_hold(method: str, devices: int) -> None:
    domain = {"kind": "key-value", "keys": 3, "pairs": 3}
    mechanism = build({**METHODS[method], "epsilon": 8.0, "domain": domain})
    held = people(devices)
    truth: Any = mechanism.exact(held)
    share, mean = [], []
    for seed in range(RUNS):
        found: Any = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(held, seeded(seed))))
        points, means = found.points(np.arange(3)), found.means
        low, high = points.ends()
        share.append((low <= truth.share) & (truth.share <= high))
        mean.append((means.low[:, 0] <= truth.means.value[:, 0]) & (truth.means.value[:, 0] <= means.high[:, 0]))
        assert (points.stderr > 0.01).all()  # few reports know little, and say so
    # 0.93 less five deviations of so many runs
    assert np.array(share).mean(axis=0).min() > 0.93 - 5 * np.sqrt(0.93 * 0.07 / RUNS)
    assert np.array(mean).mean(axis=0).min() > 0.93 - 5 * np.sqrt(0.93 * 0.07 / RUNS)


def test_a_key_without_reports_knows_nothing() -> None:
    mechanism = build({"mechanism": "privkv", "epsilon": 1.0, "domain": {"kind": "key-value", "keys": 3}})
    found: Any = mechanism.estimate(mechanism.empty())
    points, means = found.points(np.arange(3)), found.means
    low, high = points.ends()
    assert np.isinf(points.stderr).all()
    assert (low <= 0).all()
    assert (high >= 1).all()
    assert np.isinf(means.stderr).all()
    assert (means.low == -1).all()
    assert (means.high == 1).all()
