"""Row 3 of an attacker's list: how long a device takes must not tell how many pairs it holds.

Times are too noisy for a test; the calls that Python makes are what they consist of. privkv took 164 us for no pair,
211 for two and 300 for sixty.
"""

import sys
from typing import Any

import pytest

from hearsay.collector.survey.survey import parse
from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.producer import Device

SETS: list[dict[str, float]] = [{}, {"0": 0.5}, {"3": 0.1, "7": -1.0}, {str(key): key / 100 for key in range(60)}]
MECHANISMS: list[tuple[str, dict[str, Any]]] = [
    ("privkv", {}),
    ("privkvm", {"rounds": 2}),
    ("pckv-grr", {"padding": 4}),
    ("pckv-ue", {"padding": 4}),
    ("collision", {"pairs": 4}),
]


def calls(survey: Any, pairs: dict[str, float], seed: int) -> int:
    """The least over a few times, since Python itself may call something in between."""
    return min(_calls(survey, pairs, seed) for _ in range(5))


def _calls(survey: Any, pairs: dict[str, float], seed: int) -> int:
    """How many functions, of Python and of numpy, are called for one report."""
    device, counted = Device(survey, seeded(seed)), [0]

    def count(frame: Any, event: str, argument: Any) -> None:
        counted[0] += event in ("call", "c_call")

    device.report(pairs)  # what is worked out once
    device = Device(survey, seeded(seed))
    sys.setprofile(count)
    try:
        device.report(pairs)
    finally:
        sys.setprofile(None)
    return counted[0]


@pytest.mark.parametrize(("mechanism", "options"), MECHANISMS, ids=lambda each: each if isinstance(each, str) else "")
def test_row_3_a_device_makes_the_same_calls_however_many_pairs_it_holds(
    mechanism: str, options: dict[str, Any]
) -> None:
    domain = {"kind": "key-value", "keys": 100}
    survey = parse({"name": "films", "mechanism": mechanism, "epsilon": 2.0, "domain": domain, "options": options})
    for seed in range(3):
        assert len({calls(survey, pairs, seed) for pairs in SETS}) == 1


def test_row_3_item_sets_and_several_dimensions_too() -> None:
    items = parse({
        "name": "films", "mechanism": "pckv-grr", "epsilon": 2.0, "options": {"padding": 4},
        "domain": {"kind": "key-value", "keys": 100, "values": False},
    })  # fmt: skip
    assert len({calls(items, pairs, 1) for pairs in ([], ["1"], [str(key) for key in range(60)])}) == 1  # type: ignore[arg-type]


def test_sets_beyond_the_capacity_are_read_whole() -> None:
    survey = parse({
        "name": "films", "mechanism": "privkv", "epsilon": 2.0, "domain": {"kind": "key-value", "keys": 1000},
    })  # fmt: skip
    domain = survey.mechanism.domain
    pairs = domain.one({str(key): 0.5 for key in range(300)})
    assert pairs.keys.tolist() == list(range(300))
    with pytest.raises(ValueOutsideDomain, match="key must differ from the device's other keys"):
        domain.one({"1": 0.5, 1: 0.5})
