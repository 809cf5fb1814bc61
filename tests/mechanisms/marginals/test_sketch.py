"""The sketch of whole values, over many choices of its hashes: one choice alone keeps an error that stays."""

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from tests.mechanisms.shared import skewed_cells

CHOICES, REPORTS = 600, 2_000
ONE_IN_A_MILLION = 5.5  # standard errors, for a few cells


@pytest.mark.parametrize("sizes", [[2, 2, 2], [3, 2, 4]], ids=str)
def test_tables_are_unbiased_with_the_stated_variance(sizes: list[int]) -> None:
    domain = {"kind": "attributes", "names": ["a", "b", "c"], "sizes": sizes, "order": 2}
    errors, stated = [], []
    for seed in range(CHOICES):
        options = {"hashes": 4, "width": 16, "seed": seed}
        mechanism = build({"mechanism": "count-mean-sketch", "epsilon": 1.1, "domain": domain, "options": options})
        people = skewed_cells(mechanism, REPORTS)
        state = mechanism.fold(mechanism.empty(), mechanism.perturb(people, seeded(seed)))
        table, true = mechanism.estimate(state).table((0, 2)), mechanism.exact(people).table((0, 2))
        errors.append(table.value - true.value)
        stated.append(table.stderr)
    found, said = np.array(errors), np.array(stated)
    spread = np.sqrt((found**2).sum(axis=0)) / CHOICES
    assert (np.abs(found.mean(axis=0)) <= ONE_IN_A_MILLION * spread).all()
    assert (found**2).mean() / (said**2).mean() == pytest.approx(1.0, abs=0.25)
    assert (np.abs(found) <= 1.96 * said).mean() == pytest.approx(0.95, abs=0.04)
