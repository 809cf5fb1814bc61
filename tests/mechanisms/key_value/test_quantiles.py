"""Percentiles of a key's holders from bins."""

import numpy as np
import pytest

from hearsay.mechanisms.errors import QueryError, SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.key_value.bins import BinEstimate, crossing
from hearsay.mechanisms.key_value.pairs import Pairs
from hearsay.mechanisms.key_value.privkv import PrivKV
from tests.mechanisms.key_value.people import domain


def holders(devices: int, seed: int = 1) -> Pairs:
    """Key 0 held by 60% with values between -1 and 1 that lean to the left, key 1 by nobody."""
    generator = np.random.default_rng(seed)
    device = np.flatnonzero(generator.random(devices) < 0.6)
    values = 2 * generator.beta(2, 4, device.size) - 1
    return Pairs.grouped(device, np.zeros(device.size, dtype=np.int64), values, devices)


def estimate(pairs: Pairs, seed: int, bins: int = 32) -> BinEstimate:
    mechanism = PrivKV.create(3.0, domain(2), {"bins": bins})
    found = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(pairs, seeded(seed))))
    assert isinstance(found, BinEstimate)
    return found


def test_bands_cover_the_holders_own_quantiles() -> None:
    pairs = holders(20_000)
    ranks = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    true = np.quantile(pairs.values[:, 0], ranks)
    covered, errors = [], []
    for seed in range(100):
        found = estimate(pairs, seed).quantiles(ranks, 0)
        assert (found.low <= found.value).all()
        assert (found.value <= found.high).all()
        covered.append((found.low <= true) & (true <= found.high))
        errors.append(found.value - true)
    assert np.mean(covered) > 0.91  # 500 answers: a band that covers 95% falls so low less than once in a million
    assert np.abs(np.mean(errors, axis=0)).max() < 0.1


def test_more_reports_bring_quantiles_to_the_truth() -> None:
    pairs = holders(400_000)
    found = estimate(pairs, 3, 64).quantiles(np.array([0.5]), 0)
    assert found.value[0] == pytest.approx(np.median(pairs.values[:, 0]), abs=0.06)
    assert found.high[0] - found.low[0] < 0.2


def test_means_of_bins_are_within_half_a_bin() -> None:
    pairs = holders(400_000)
    found = estimate(pairs, 4, 16)
    assert found.means.value[0, 0] == pytest.approx(pairs.values.mean(), abs=1 / 16 + 5 * found.means.stderr[0, 0])


def test_a_key_without_holders_is_not_known() -> None:
    found = estimate(holders(20_000), 5).quantiles(np.array([0.5]), 1)
    assert found.high[0] - found.low[0] > 1.5
    truth = PrivKV.create(3.0, domain(2), {"bins": 32}).exact(holders(20_000))
    assert isinstance(truth, BinEstimate)
    assert np.isnan(truth.quantiles(np.array([0.5]), 1).value).all()
    assert np.isfinite(truth.quantiles(np.array([0.5]), 0).value).all()


def test_ranks_outside_are_refused_and_item_sets_have_no_bins() -> None:
    with pytest.raises(QueryError, match="above 0 and below 1"):
        estimate(holders(100), 6).quantiles(np.array([1.0]), 0)
    with pytest.raises(SpecificationError, match=r"options\.bins needs a domain with values"):
        PrivKV.create(1.0, domain(2, 0), {"bins": 4})


def test_where_a_rising_curve_crosses() -> None:
    edges = np.array([0.0, 1.0, 2.0])
    assert crossing(edges, np.array([-1.0, 1.0, 2.0])) == 0.5
    assert crossing(edges, np.array([1.0, 1.0, 2.0])) == 0.0
    assert crossing(edges, np.array([-3.0, -2.0, -1.0])) == 2.0
