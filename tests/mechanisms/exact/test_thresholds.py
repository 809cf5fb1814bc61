"""Thresholds are exact integers, and rounding never spends more than was claimed."""

from decimal import Context, Decimal
from fractions import Fraction

import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import WORD
from hearsay.mechanisms.exact.thresholds import (
    down,
    exponential,
    flip_threshold,
    keep_threshold,
    log_ratio,
    probability,
    up,
)

EPSILONS = [0.01, 0.05, 0.1, 0.3, 0.5, 1.0, 1.1, 2.0, 3.7, 5.0, 7.5, 10.0]
SIZES = [2, 3, 5, 16, 64, 1000, 1024, 65_537, 1 << 20]
EXACT = Context(prec=120)


def e(epsilon: float) -> Fraction:
    """e^epsilon from another, longer computation: the series of the exact binary epsilon."""
    term = total = Decimal(1)
    for index in range(1, 400):
        term = EXACT.divide(EXACT.multiply(term, Decimal(epsilon)), Decimal(index))
        total = EXACT.add(total, term)
    return Fraction(total)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_exponential_agrees_with_its_series(epsilon: float) -> None:
    assert abs(exponential(epsilon) / e(epsilon) - 1) < Fraction(1, 10**58)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_keeping_the_truth_is_the_greatest_private_threshold(epsilon: float) -> None:
    for size in SIZES:
        threshold = keep_threshold(epsilon, size)
        assert probability(threshold) <= e(epsilon) / (e(epsilon) + size - 1) < probability(threshold + 1)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_flipping_a_sign_is_the_least_private_threshold(epsilon: float) -> None:
    threshold = flip_threshold(epsilon)
    assert probability(threshold - 1) < 1 / (e(epsilon) + 1) <= probability(threshold)


@pytest.mark.parametrize("mechanism", ["grr", "sue", "oue", "ss", "hrr", "olh", "hr", "count-mean-sketch", "shist"])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_spent_epsilon_is_never_above_the_claim_and_close_to_it(mechanism: str, epsilon: float) -> None:
    for size in SIZES:
        domain = {"kind": "categorical", "size": size}
        spent = build({"mechanism": mechanism, "epsilon": epsilon, "domain": domain}).spent_epsilon
        assert epsilon * (1 - 1e-9) < spent <= epsilon, size


def test_rounding_up_and_down_stay_within_a_word() -> None:
    assert (up(Fraction(1, 2)), down(Fraction(1, 2))) == (WORD // 2, WORD // 2)
    assert up(Fraction(1, 3)) == down(Fraction(1, 3)) + 1
    assert (up(Fraction(1)), down(Fraction(1))) == (WORD, WORD)
    assert keep_threshold(50.0, 2) == WORD - 1


def test_the_log_ratio_of_exact_probabilities() -> None:
    assert log_ratio(Fraction(3, 4), Fraction(1, 4)) == pytest.approx(1.0986122886681098, abs=1e-16)
