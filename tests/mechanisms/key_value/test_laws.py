"""Simulated holders of pairs: shares and means as the law says, however many devices are drawn at once."""

import numpy as np
import pytest

from hearsay.mechanisms.catalogue import parse_domain
from hearsay.mechanisms.key_value.pairs import Pairs
from hearsay.mechanisms.key_value.simulated import laws
from hearsay.mechanisms.key_value.simulated.laws import LAWS, PairLaw
from hearsay.producer.errors import DistributionError
from hearsay.producer.populations import Population

DEVICES = 70_000  # drawn in two parts


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_shares_and_means_are_those_of_the_law(name: str, spread: float) -> None:
    law = PairLaw.named(name, 12, spread)
    pairs = law.draw(DEVICES, 2, np.random.default_rng(1))
    assert len(pairs) == DEVICES
    held = np.bincount(pairs.keys, minlength=12)
    # Six standard errors: of all numbers here together, a correct program misses one less than once in a million draws.
    assert (np.abs(held / DEVICES - law.share) <= 6 * np.sqrt(law.share * (1 - law.share) / DEVICES) + 1e-12).all()
    for dimension in range(2):
        means = np.bincount(pairs.keys, pairs.values[:, dimension], minlength=12) / np.maximum(held, 1)
        reach = np.minimum(spread, 1 - np.abs(law.mean))
        off = np.abs(means - law.mean)[held > 0]
        assert (off <= (6 * reach / np.sqrt(3 * np.maximum(held, 1)) + 1e-9)[held > 0]).all()
    assert (np.abs(pairs.values) <= 1).all()


def test_keys_rise_within_every_device() -> None:
    pairs = PairLaw.named("linear", 12).draw(DEVICES, 1, np.random.default_rng(2))
    same_device = np.diff(pairs.owners) == 0
    assert (np.diff(pairs.keys)[same_device] > 0).all()


@pytest.mark.parametrize("devices", [0, 1])
def test_hardly_anybody(devices: int) -> None:
    pairs = PairLaw(np.zeros(3), np.zeros(3)).draw(devices, 1, np.random.default_rng(3))
    assert (len(pairs), pairs.values.shape) == (devices, (0, 1))


def test_who_is_drawn_together_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, "_DEVICES_AT_ONCE", 7)
    parts = PairLaw.named("power-law", 5).draw(20, 1, np.random.default_rng(4))
    generator = np.random.default_rng(4)
    law = PairLaw.named("power-law", 5)
    each = [law.draw(count, 1, generator) for count in (7, 7, 6)]
    np.testing.assert_array_equal(parts.sizes, np.concatenate([part.sizes for part in each]))
    np.testing.assert_array_equal(parts.keys, Pairs.join(each).keys)


def test_pairs_are_for_domains_that_hold_some() -> None:
    table = {"kind": "key-value", "keys": 4, "values": [{"name": "a"}, {"name": "b"}]}
    people = Population("gauss", parse_domain(table), np.random.default_rng(1)).take(100)
    assert people.values.shape == (len(people.keys), 2)
    with pytest.raises(DistributionError, match=r"must be one of cauchy, .* of kind binary, got 'gauss'"):
        Population("gauss", parse_domain({"kind": "binary"}), np.random.default_rng(1))
