"""Ragged sets of pairs."""

import numpy as np
import pytest

from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.key_value.pairs import Pairs, bins_of, plus_signs
from tests.mechanisms.key_value.people import ONE_IN_A_MILLION, domain, people


def small() -> Pairs:
    device, keys = np.array([2, 0, 0, 3]), np.array([1, 4, 2, 0])
    return Pairs.grouped(device, keys, np.array([0.1, 0.2, 0.3, 0.4]), 5)


def test_rows_are_grouped_by_device_with_rising_keys() -> None:
    pairs = small()
    assert pairs.starts.tolist() == [0, 2, 2, 3, 4, 4]
    assert pairs.keys.tolist() == [2, 4, 1, 0]
    assert pairs.values[:, 0].tolist() == [0.3, 0.2, 0.1, 0.4]
    assert pairs.owners.tolist() == [0, 0, 2, 3]


def test_a_key_held_twice_is_refused_with_its_row() -> None:
    with pytest.raises(ValueOutsideDomain, match="key must differ") as caught:
        Pairs.grouped(np.array([0, 1, 0]), np.array([3, 3, 3]), np.zeros(3), 2)
    assert caught.value.position == 2


@pytest.mark.parametrize("chosen", [slice(1, 4), slice(0, 0), slice(None, None, 2), np.array([3, 0, 0])])
def test_choosing_devices_keeps_their_pairs(chosen: slice | np.ndarray) -> None:
    pairs, part = small(), small()[chosen]
    for number, device in enumerate(np.arange(5)[chosen]):
        mine, own = (slice(*p.starts[[at, at + 1]]) for p, at in ((pairs, device), (part, number)))
        assert part.keys[own].tolist() == pairs.keys[mine].tolist()
        assert part.values[own].tolist() == pairs.values[mine].tolist()
    assert part.starts[-1] == len(part.keys)


def test_finding_a_key_agrees_with_looking_at_every_pair() -> None:
    pairs = people(np.linspace(0.05, 0.9, 30), np.zeros(30), 500)
    wanted = np.random.default_rng(2).integers(0, 30, 500)
    found = pairs.find(wanted)
    for device, place in enumerate(found):
        own = pairs.keys[pairs.starts[device] : pairs.starts[device + 1]]
        assert (place >= 0) == (wanted[device] in own)
        if place >= 0:
            assert pairs.keys[place] == wanted[device]
            assert pairs.starts[device] <= place < pairs.starts[device + 1]
    assert (
        Pairs(np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros((0, 1))).find(np.arange(3)) < 0
    ).all()


def test_rounding_to_signs_keeps_the_mean_and_the_ends_are_certain() -> None:
    values = np.repeat([-1.0, -0.25, 0.0, 0.6, 1.0], 50_000)
    plus = plus_signs(values, seeded(4)).reshape(5, -1)
    assert not plus[0].any()
    assert plus[4].all()
    means = 2 * plus.mean(axis=1) - 1
    assert (np.abs(means - [-1.0, -0.25, 0.0, 0.6, 1.0]) < ONE_IN_A_MILLION / np.sqrt(50_000)).all()


def test_bins_are_half_open_and_the_last_is_closed() -> None:
    assert bins_of(np.array([-1.0, -0.5, -0.51, 0.0, 0.999, 1.0]), 4).tolist() == [0, 1, 0, 2, 3, 3]


def test_pairs_outside_the_domain_are_refused_and_never_shown() -> None:
    for keys, values in (([777], [0.0]), ([0], [777.0]), ([0], [float("nan")])):
        pairs = Pairs(np.array([0, 1]), np.array(keys), np.array([values]))
        with pytest.raises(ValueOutsideDomain) as caught:
            domain(4).check(pairs)
        assert "777" not in str(caught.value)
