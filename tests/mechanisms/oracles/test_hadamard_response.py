"""Hadamard response beyond the shared suite."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from hearsay.mechanisms import build
from hearsay.mechanisms.oracles.hadamard_response import HadamardResponse, positions


def response(size: int, epsilon: float = 1.0) -> HadamardResponse:
    mechanism = build({"mechanism": "hr", "epsilon": epsilon, "domain": {"kind": "categorical", "size": size}})
    assert isinstance(mechanism, HadamardResponse)
    return mechanism


def test_no_value_has_the_constant_row() -> None:
    assert [positions(size) for size in (1, 2, 3, 4, 7, 8, 1000)] == [2, 4, 4, 8, 8, 16, 1024]


def test_channel_is_the_papers_with_row_numbers_from_one() -> None:
    e = np.exp(1.0)
    expected = np.where(hadamard(8)[1:6] == 1, 2 * e / (8 * (e + 1)), 2 / (8 * (e + 1)))
    np.testing.assert_allclose(response(5).channel(), expected, rtol=1e-15)


@pytest.mark.parametrize("size", [7, 100, 1023])
def test_variance_of_one_cell(size: int) -> None:
    mechanism = response(size)
    c, f = np.tanh(0.5), np.array([0.0, 0.3, 1.0])
    np.testing.assert_allclose(mechanism.moments.variance(f), (1 - c**2 * f) / c**2, rtol=1e-12)


def test_moments_of_sums_are_right_on_the_average_over_the_values() -> None:
    mechanism = response(7)
    channel = mechanism.channel()
    scores = hadamard(8)[1:8].T / mechanism.correlation
    weights = np.random.default_rng(2).normal(size=7)
    a, b, c, d = mechanism.moments
    second = channel @ (scores @ weights) ** 2
    stated = a * (weights**2).sum() + b * weights**2 + c * weights.sum() ** 2 + d * weights * weights.sum()
    assert second.mean() == pytest.approx(stated.mean(), rel=1e-9)
