"""The table of times."""

import json
from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.oracles.grr import GRR
from hearsay.ops.audit.timing import _compared, own_pairs, timing
from hearsay.ops.cli import run


def test_the_times_of_a_mechanism_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "grr", "--timing", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["mechanism"] for row in rows} == {"grr (1)", "grr (2)", "grr (3)"}
    assert all(row["microseconds"] > 0 and row["meaning"] for row in rows)


def test_a_difference_is_noticed() -> None:
    medians = np.array([[100.0, 110.0], [101.0, 111.5], [100.0, 110.5]])
    assert _compared(medians, [0, 1], (0, 1)).words.startswith("differs")
    assert _compared(np.array([[100.0, 100.1], [100.1, 100.0]]), [0, 1], (0, 1)).words == "the same"
    assert timing(build({"mechanism": "privkv", "epsilon": 1.0, "domain": {"kind": "key-value", "keys": 3}}))


class Careless(GRR):
    """A device that takes longer for one value."""

    def perturb(self, values: Any, random: Random) -> Reports:
        if values[0] == 0:
            sum(range(3_000))
        return super().perturb(values, random)


def test_a_device_whose_steps_depend_on_its_value_is_noticed() -> None:
    timed = timing(Careless.over(4, 1.0))
    assert timed is not None
    assert 0 in timed.values
    assert timed.words.startswith("differs")


def test_sets_larger_than_a_device_may_hold_are_not_timed() -> None:
    """They show by design, to within a factor of two; those that a device may hold are read in the same steps."""
    domain = {"kind": "key-value", "keys": 5, "ordered": True, "pairs": 1}
    mechanism = build(
        {"mechanism": "hierarchical", "epsilon": 1.5, "domain": domain, "options": {"fanout": 2}},
    )
    timed, sets = timing(mechanism), mechanism.listed_values()
    assert timed is not None
    assert all(sets.sizes[value] <= 1 for value in timed.values)


def test_pairs_are_given_as_a_program_gives_them() -> None:
    values = [{"name": "cups", "low": 0, "high": 9}, {"name": "stars", "low": 1, "high": 5}]
    keys = [{"name": "shop", "size": 2}, {"name": "drink", "categories": ["tea", "milk"]}]
    mechanism = build(
        {"mechanism": "privkv", "epsilon": 1.0, "domain": {"kind": "key-value", "keys": keys, "values": values}}
    )
    domain: Any = mechanism.domain
    held = domain.every_set(2)[7:8]
    read = domain.one(own_pairs(domain, held))
    assert (read.keys.tolist(), read.values.tolist()) == (held.keys.tolist(), held.values.tolist())
