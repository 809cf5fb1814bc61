"""Shuffled reports: never less than the exact value, and as large as it was derived."""

from collections import Counter
from itertools import product
from math import exp

import pytest

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.guarantees.shuffling import shuffled_delta, shuffled_epsilon


@pytest.mark.parametrize(
    ("epsilon", "reports", "wanted"),
    [(1.1, 10**3, 0.1686), (1.1, 10**4, 0.0490), (1.1, 10**5, 0.0141), (1.1, 10**6, 0.0040), (4, 10**5, 0.1182)],
)
def test_the_derived_values(epsilon: float, reports: int, wanted: float) -> None:
    assert shuffled_epsilon(epsilon, reports, 1e-6) == pytest.approx(wanted, abs=6e-5)


def exact_delta(eps: float, epsilon: float, reports: int, categories: int) -> float:
    """Of randomised response: all other devices hold the value that hides least, over all of their values."""
    stay = exp(epsilon) / (exp(epsilon) + categories - 1)
    move = (1 - stay) / (categories - 1)
    worst = 0.0
    for others in product(range(categories), repeat=reports - 1):
        chances: list[Counter[tuple[int, ...]]] = []
        for own in (0, 1):
            seen: Counter[tuple[int, ...]] = Counter()
            for outputs in product(range(categories), repeat=reports):
                chance = 1.0
                for value, output in zip((own, *others), outputs, strict=True):
                    chance *= stay if value == output else move
                seen[tuple(sorted(outputs))] += chance
            chances.append(seen)
        for first, second in (chances, chances[::-1]):
            worst = max(worst, sum(max(0.0, first[key] - exp(eps) * second[key]) for key in first))
    return worst


@pytest.mark.parametrize("categories", [2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("reports", [1, 2, 4])
def test_it_is_never_below_the_exact_value(epsilon: float, reports: int, categories: int) -> None:
    for eps in (0.0, 0.1 * epsilon, 0.5 * epsilon, 0.9 * epsilon):
        exact = exact_delta(eps, epsilon, reports, categories)
        assert shuffled_delta(eps, epsilon, reports) >= exact - 1e-12
        if categories == 2:  # where every other report is a clone or its own opposite, little is given away
            assert shuffled_delta(eps, epsilon, reports) <= exact + 0.2


def test_edges() -> None:
    assert shuffled_epsilon(2.0, 1, 1e-6) == 2.0  # nobody to hide among
    assert shuffled_epsilon(8.0, 1_000, 1e-6) == pytest.approx(8.0, rel=1e-3)
    assert 0 < shuffled_epsilon(1.0, 10**9, 1e-9) < 1e-3
    assert shuffled_epsilon(1.0, 1_000, 1e-6) > shuffled_epsilon(1.0, 2_000, 1e-6) > shuffled_epsilon(1.0, 2_000, 1e-4)


@pytest.mark.parametrize(("reports", "delta"), [(0, 1e-6), (10**13, 1e-6), (10, 0.0), (10, 1.0)])
def test_bad_numbers_are_refused(reports: int, delta: float) -> None:
    with pytest.raises(SpecificationError, match="must be"):
        shuffled_epsilon(1.0, reports, delta)
