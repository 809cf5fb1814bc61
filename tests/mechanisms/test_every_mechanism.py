"""The laws that ship as `hearsay.checks`, on each example of every registered mechanism."""

from collections.abc import Callable

import pytest

from hearsay.mechanisms import Mechanism
from hearsay.mechanisms.checks import mechanisms as laws
from hearsay.mechanisms.checks.mechanisms import MECHANISM_LAWS, Runs
from tests.mechanisms.shared import ALL_CASES, CASES, Case

# What other files hold mechanisms to on domains of their own: all but the long ones.
ON_ANY_DOMAIN: list[Callable[[Mechanism], None]] = [
    law
    for law in MECHANISM_LAWS
    if law not in (laws.estimate_is_unbiased_with_the_stated_variance, laws.canonical_options_build_the_same)
]


def name_of(law: Callable[[Mechanism], None]) -> str:
    """How a law is called in the name of a test."""
    return law.__name__


@pytest.mark.parametrize("law", MECHANISM_LAWS, ids=name_of)
@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.name)
def test_every_law_holds(case: Case, law: Callable[[Mechanism], None]) -> None:
    law(case.build())


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_variance_is_within_five_per_cent_and_coverage_within_one(case: Case) -> None:
    """As many runs as make 20,000 independent errors: then 5% of a variance are five standard deviations."""
    mechanism = case.build()
    if mechanism.ERROR_FLOOR:  # tested over many choices of their hashes, in files of their own
        pytest.skip(mechanism.ERROR_FLOOR)
    runs = Runs(mechanism, devices=4_000, seed=12).until(1_000)
    runs.until(max(2_000, int(20_000 / runs.independent))).check(ratio=0.05, coverage=0.01)
