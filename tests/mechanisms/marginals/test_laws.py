"""The laws that every mechanism obeys, on every example of the mechanisms on attributes."""

from collections.abc import Callable

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism
from hearsay.mechanisms.checks.mechanisms import canonical_options_build_the_same
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import select
from tests.mechanisms import test_every_mechanism as laws
from tests.mechanisms.shared import ALL_CASES, Case, skewed_cells

CASES = [case for case in ALL_CASES if case.table["domain"]["kind"] == "attributes"]
ERRORS = 300


@pytest.mark.parametrize("law", [*laws.ON_ANY_DOMAIN, canonical_options_build_the_same], ids=laws.name_of)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_law_holds(case: Case, law: Callable[[Mechanism], None]) -> None:
    law(case.build())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_coefficients_are_unbiased_with_the_stated_variance(case: Case) -> None:
    """What a snapshot stores: every coefficient beside the one of the same devices without noise.

    A sketch, with its error that stays, is tested over many choices of its hashes in `test_sketch`.
    """
    mechanism = case.build()
    if mechanism.ERROR_FLOOR:
        pytest.skip(mechanism.ERROR_FLOOR)
    values, n = skewed_cells(mechanism, 2_000), 2_000
    truth = mechanism.exact(values).arrays()["estimate"]
    many = mechanism.perturb(np.concatenate([values] * ERRORS), seeded(11))
    errors, stderrs = [], []
    for run in range(ERRORS):
        state = mechanism.fold(mechanism.empty(), select(many, slice(run * n, (run + 1) * n)))
        arrays = mechanism.estimate(state).arrays()
        errors.append(arrays["estimate"] - truth)
        stderrs.append(arrays["stderr"])
    found, stated = np.array(errors), np.array(stderrs)
    spread = np.sqrt((found**2).sum(axis=0)) / ERRORS
    assert (np.abs(found.mean(axis=0)) <= 5.5 * spread + 1e-12).all()
    assert abs((found**2).mean() / (stated**2).mean() - 1) < 0.25
    assert abs((np.abs(found) <= 1.96 * stated).mean() - 0.95) < 0.03
