"""Means over ranges of ordered keys, and heavy intervals."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms.errors import QueryError, SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.key_value.heavy import Heavy
from hearsay.mechanisms.key_value.pairs import Pairs
from hearsay.mechanisms.key_value.pckv_grr import PckvGRR
from hearsay.mechanisms.key_value.privkv import PrivKV
from hearsay.mechanisms.key_value.range_means import RangeMeans
from tests.mechanisms.key_value.people import ONE_IN_A_MILLION, domain, people

KEYS = 21
RANGES = [(0, 20), (3, 11), (5, 5), (12, 20)]


def one_pair_each(devices: int, seed: int = 1) -> Pairs:
    generator = np.random.default_rng(seed)
    key = np.clip(generator.normal(9, 4, devices), 0, KEYS - 1).astype(np.int64)
    return Pairs.grouped(np.arange(devices), key, (key / 10 - 1) * 0.9, devices)


def range_truth(pairs: Pairs, low: int, high: int) -> tuple[float, float]:
    inside = (pairs.keys >= low) & (pairs.keys <= high)
    return inside.sum() / len(pairs), float(pairs.values[inside, 0].mean())


@pytest.mark.parametrize(
    ("kind", "options", "pairs"),
    [
        (RangeMeans, {"fanout": 3, "padding": 1}, one_pair_each(6_000)),
        (RangeMeans, {"fanout": 4, "padding": 3}, people([0.1] * KEYS, np.linspace(-0.8, 0.8, KEYS), 6_000)),
        (PckvGRR, {"padding": 8}, people([0.1] * KEYS, np.linspace(-0.8, 0.8, KEYS), 6_000)),
        (PrivKV, {}, people([0.2] * KEYS, np.linspace(-0.8, 0.8, KEYS), 6_000)),
    ],
)
def test_range_means_are_unbiased_and_covered(kind: Any, options: dict, pairs: Pairs) -> None:
    mechanism = kind.create(2.0, domain(KEYS, ordered=True), options)
    too_long = (pairs.sizes > options.get("padding", KEYS)).any()
    random, runs = seeded(6), 150
    z: dict = {place: [] for place in RANGES}
    covered = []
    for _ in range(runs):
        found = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(pairs, random)))
        for low, high in RANGES:
            _, mean = range_truth(pairs, low, high)
            if isinstance(mechanism, RangeMeans):
                ratio = found.ratios(np.array([low]), np.array([high]))
            else:
                ratio = found.range_ratio(low, high)
            assert ratio.share_variance.item() > 0
            z[low, high].append(
                (ratio.total.item() - mean * ratio.share.item()) / np.sqrt(ratio.variance_at(mean).item())
            )
            answer = found.range_means(low, high)
            covered.append(answer.low.item() <= mean <= answer.high.item())
    for place, errors in z.items():
        if not too_long:
            assert abs(np.mean(errors)) < ONE_IN_A_MILLION / np.sqrt(runs), place
        assert 0.75 < np.std(errors) < 1.3, place
    assert np.mean(covered) > 0.9


def test_a_tree_of_signs_needs_ordered_keys_with_one_value() -> None:
    for over in (domain(4), domain(4, 2, ordered=True), domain(4, 0, ordered=True)):
        with pytest.raises(SpecificationError, match="must be ordered, with one value"):
            RangeMeans.create(1.0, over, {})


def baskets(devices: int) -> Pairs:
    shares = np.full(200, 0.005)
    shares[40:44] = [0.4, 0.3, 0.5, 0.35]
    shares[150:152] = [0.3, 0.45]
    device, key = np.nonzero(np.random.default_rng(3).random((devices, 200)) < shares)
    return Pairs.grouped(device, key, np.zeros((len(key), 0)), devices)


def test_heavy_items_are_found_and_their_intervals_estimated_without_bias() -> None:
    pairs = baskets(60_000)
    one, two = pairs[:30_000], pairs[30_000:]
    mechanism = Heavy.create(3.0, domain(200, 0, ordered=True), {"k": 4, "padding": 6})
    state = mechanism.empty()
    mechanism.fold(state, mechanism.perturb(one, seeded(1)))
    with pytest.raises(QueryError, match="second round"):
        mechanism.estimate(state).item_range(0, 3)
    parameters = mechanism.next_round(state)
    assert set(parameters["candidates"]) >= {40, 41, 42, 43, 150, 151}
    second = mechanism.in_round([parameters])
    true = np.bincount(two.keys, minlength=200) / len(two)
    heavy = np.zeros(200)
    heavy[parameters["candidates"]] = true[parameters["candidates"]]
    errors, points = [], []
    for seed in range(40):
        again = {name: array.copy() for name, array in state.items()}
        found = second.estimate(second.fold(again, second.perturb(two, seeded(seed))))
        ends = ((0, 199), (40, 43), (100, 199))
        answer = [found.item_range(*end) for end in ends]
        wanted = [heavy[low : high + 1].sum() for low, high in ends]
        errors.append([(one.value[0] - true) / one.stderr[0] for one, true in zip(answer, wanted, strict=True)])
        point = found.points(np.array([42, 7]))
        points.append((point.value - true[[42, 7]]) / point.stderr)
    assert second.next_round(state) is None
    assert (np.abs(np.mean(errors, axis=0)) < ONE_IN_A_MILLION / np.sqrt(40)).all()
    assert abs(np.mean(points, axis=0)[0]) < ONE_IN_A_MILLION / np.sqrt(40)
    assert 0.7 < np.std(errors) < 1.35


@pytest.mark.parametrize(
    "parameters",
    [{"candidates": [3, 1]}, {"candidates": [1, 9]}, {"candidates": [1]}, {"candidates": "12"}, {"means": [1, 2]}, {}],
)
def test_candidates_that_are_none_are_refused(parameters: dict) -> None:
    mechanism = Heavy.create(1.0, domain(4, 0, ordered=True), {"k": 1}).in_round([parameters])
    with pytest.raises(SpecificationError, match="round"):
        mechanism.perturb(people([0.5] * 4, np.zeros((4, 0)), 10), seeded(1))
