"""The optimal binary mechanism beyond the shared suite."""

from math import exp, inf, log
from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.context_aware.binary import Binary
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.oracles.finite_channel import broken_pair


def binary(epsilon: float = 1.0, **options: Any) -> Binary:
    mechanism = build({"mechanism": "binary", "epsilon": epsilon, "domain": {"kind": "binary"}, "options": options})
    assert isinstance(mechanism, Binary)
    return mechanism


def test_warner_is_the_corner_of_equal_epsilons() -> None:
    np.testing.assert_allclose(binary(log(3)).channel(), [[0.75, 0.25], [0.25, 0.75]], atol=1e-15)


def test_mangat_is_the_corner_where_the_first_value_is_open() -> None:
    p = exp(-0.8)
    np.testing.assert_allclose(binary(0.8, epsilon_12="inf").channel(), [[1 - p, p], [0, 1]], atol=1e-15)
    np.testing.assert_allclose(binary(0.8, epsilon_21="inf").channel(), [[1, 0], [p, 1 - p]], atol=1e-15)


@pytest.mark.parametrize("first", [0.01, 0.5, 2.0, 10.0, inf])
@pytest.mark.parametrize("second", [0.01, 0.3, 1.0, 7.0, inf])
def test_channel_is_the_papers_and_keeps_both_bounds_exactly(first: float, second: float) -> None:
    if first == second == inf:
        return
    mechanism = binary(epsilon_12=first, epsilon_21=second)
    bound = np.array([[0.0, first], [second, 0.0]])
    assert broken_pair(mechanism.weights, bound) is None
    channel = mechanism.channel()
    with np.errstate(divide="ignore"):
        assert np.log(channel[0, 0] / channel[1, 0]) == pytest.approx(first, rel=1e-9)
        assert np.log(channel[1, 1] / channel[0, 1]) == pytest.approx(second, rel=1e-9)


def test_a_participation_spends_the_larger_finite_epsilon() -> None:
    assert binary(0.1, epsilon_12=2.0, epsilon_21=0.5).epsilon == 2.0
    assert binary(0.1, epsilon_12="inf", epsilon_21=0.5).epsilon == 0.5
    assert binary(0.1, epsilon_12="inf").canonical_options() == {"epsilon_12": "inf", "epsilon_21": 0.1}


@pytest.mark.parametrize("wrong", [0, -1.0, float("nan"), "much", True, 51.0])
def test_epsilons_must_be_above_zero(wrong: Any) -> None:
    with pytest.raises(SpecificationError, match=r"options\.epsilon_12 must be a number above 0"):
        binary(epsilon_12=wrong)


def test_hiding_nothing_is_refused() -> None:
    with pytest.raises(SpecificationError, match="nothing is hidden"):
        binary(epsilon_12="inf", epsilon_21="inf")


def test_more_than_two_values_are_refused() -> None:
    with pytest.raises(SpecificationError, match="domain must have 2 values"):
        build({"mechanism": "binary", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 3}})


def test_an_open_value_halves_the_error() -> None:
    assert binary(1.0, epsilon_12="inf").predicted_stderr(100)["point"] < 0.8 * binary().predicted_stderr(100)["point"]


def test_shares_sum_to_one() -> None:
    mechanism = binary(0.7, epsilon_12=2.0)
    state = mechanism.fold(mechanism.empty(), mechanism.perturb(np.arange(999) % 2, seeded(1)))
    result = mechanism.estimate(state)
    assert result.estimate.sum() == pytest.approx(1.0)
    assert result.stderr[0] == pytest.approx(result.stderr[1], rel=0.05)


def test_an_epsilon_too_small_to_invert_is_refused() -> None:
    with pytest.raises(SpecificationError, match="at least 1e-06"):
        build({"mechanism": "binary", "epsilon": 1e-9, "domain": {"kind": "binary"}})
    least = build({"mechanism": "binary", "epsilon": 1e-6, "domain": {"kind": "binary"}})
    state = least.fold(least.empty(), least.perturb(np.array([0, 1]), seeded(1)))
    assert np.isfinite(least.estimate(state).stderr).all()


def test_one_epsilon_given_does_not_loosen_the_other() -> None:
    """The second value had the survey's epsilon of 0.8 asked for, and was given the first one's 2.0."""
    mechanism = binary(0.8, epsilon_12=2.0)
    assert (mechanism.bounds, mechanism.epsilon) == ((2.0, 0.8), 2.0)
    assert mechanism.canonical_options() == {"epsilon_12": 2.0, "epsilon_21": 0.8}
    assert broken_pair(mechanism.weights, np.array([[0.0, 2.0], [0.8, 0.0]])) is None
    assert binary(mechanism.epsilon, **mechanism.canonical_options()) == mechanism
