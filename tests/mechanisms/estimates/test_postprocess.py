"""Labelled post-processing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import isotonic_regression, minimize

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.postprocess import METHODS, isotonic, pooled, process, project

SHARES = np.array([0.5, -0.1, 0.45, 0.3, -0.02])


def test_none_changes_nothing_and_returns_a_copy() -> None:
    result = process(SHARES, "none")
    np.testing.assert_array_equal(result.values, SHARES)
    assert result.values is not SHARES
    assert result.method == "none"


def test_clip_cuts_each_share() -> None:
    assert process(np.array([1.2, -0.3, 0.4]), "clip").values.tolist() == [1.0, 0.0, 0.4]


def norm_sub(shares: np.ndarray) -> np.ndarray:
    """The iteration as published: negative shares become zero, the rest share the surplus, until none is negative."""
    result, positive = shares.copy(), np.ones(shares.size, dtype=bool)
    while True:
        result[positive] -= (result[positive].sum() - 1) / positive.sum()
        negative = positive & (result < 0)
        if not negative.any():
            return result
        result[negative] = 0
        positive &= ~negative


@pytest.mark.parametrize("method", ["norm-sub", "simplex"])
def test_both_names_give_the_published_iteration_and_the_nearest_point(method: str) -> None:
    values = process(SHARES, method).values
    np.testing.assert_allclose(values, norm_sub(SHARES), atol=1e-12)
    nearest = minimize(
        lambda x: ((x - SHARES) ** 2).sum(),
        np.full(5, 0.2),
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
    )
    np.testing.assert_allclose(values, nearest.x, atol=1e-5)


@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(-5, 5)))
def test_the_projection_is_a_distribution_and_keeps_the_order(shares: np.ndarray) -> None:
    values = project(shares)
    assert (values >= 0).all()
    assert values.sum() == pytest.approx(1.0)
    order = np.argsort(shares)
    assert (np.diff(values[order]) >= -1e-12).all()
    np.testing.assert_allclose(project(values), values, atol=1e-9)


def test_the_projection_of_huge_shares_is_a_distribution() -> None:
    """A state of hardly any reports has estimates beside which 1 is lost in rounding."""
    assert project(np.array([1e18, -3e18, 2e17])).tolist() == [1.0, 0.0, 0.0]
    assert project(np.array([-1e17, -1e17])).tolist() == [0.5, 0.5]


def test_shape_is_kept_and_unknown_methods_are_refused() -> None:
    assert process(SHARES[:4].reshape(2, 2), "simplex").values.shape == (2, 2)
    assert METHODS[0] == "none"
    with pytest.raises(QueryError, match="postprocess must be one of none, clip, norm-sub, simplex, got 'round'"):
        process(SHARES, "round")


@given(arrays(np.float64, st.integers(1, 12), elements=st.floats(-0.5, 1.5, width=32)))
def test_isotonic_never_falls_and_is_nearest(cumulative: np.ndarray) -> None:
    result = isotonic(cumulative)
    assert (np.diff(result) >= 0).all()
    assert ((result >= 0) & (result <= 1)).all()
    # The min-max formula of isotonic regression, cut to 0..1.
    size = cumulative.size
    for k in range(size):
        expected = max(min(cumulative[i : j + 1].mean() for j in range(k, size)) for i in range(k + 1))
        assert abs(result[k] - min(max(expected, 0.0), 1.0)) < 1e-9


def test_isotonic_leaves_a_distribution_alone() -> None:
    rising = np.array([0.0, 0.25, 0.25, 1.0])
    np.testing.assert_array_equal(isotonic(rising), rising)


@pytest.mark.parametrize("noise", [0.0, 0.003, 0.3])
def test_pooling_is_the_nearest_rising_sequence(noise: float) -> None:
    generator = np.random.default_rng(1)
    for size in (1, 2, 3, 100, 5_000):
        values = np.linspace(0, 1, size) + np.cumsum(generator.normal(0, noise / 50, size))
        values[size // 2 :] -= noise  # pools back one by one over a long way
        np.testing.assert_allclose(pooled(values), isotonic_regression(values).x, atol=1e-12)
