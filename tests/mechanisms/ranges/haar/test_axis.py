"""Haar's coefficients along one axis: ranges, cells and sums of cells against the definition written out."""

import numpy as np
import pytest

from hearsay.mechanisms.ranges.haar.axis import HaarAxis

SIZES = [2, 3, 5, 8, 11]


def padded_weights(axis: HaarAxis, inside: np.ndarray) -> np.ndarray:
    """The weights of the row's coefficients in a sum of padded cells, by the definition: overlaps with the halves."""
    weights = [inside.sum() / inside.size]
    for depth in range(1, axis.height + 1):
        halves = inside.reshape(1 << (depth - 1), 2, -1).sum(axis=2)
        weights += ((halves[:, 0] - halves[:, 1]) / (inside.size >> (depth - 1))).tolist()
    return np.array(weights)


@pytest.mark.parametrize("size", SIZES)
def test_a_range_has_at_most_two_coefficients_a_depth(size: int) -> None:
    axis = HaarAxis(size)
    x, y = np.triu_indices(size + 1, k=1)
    places, weights = axis.parts(x, y)
    assert places.shape == weights.shape == (x.size, 2 * axis.height)
    for low, high, place, weight in zip(x, y, places, weights, strict=True):
        inside = np.zeros(1 << axis.height)
        inside[low : None if high == size else high] = 1.0  # nobody is beyond the axis
        row = np.zeros(1 << axis.height)
        np.add.at(row, place, weight)
        np.testing.assert_allclose(row, padded_weights(axis, inside), atol=1e-15)
        assert len(set(place[weight != 0])) == (weight != 0).sum(), "no coefficient twice: squares must not be torn"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("power", [1, 2])
def test_cells_are_rebuilt_from_their_own_weights(size: int, power: int) -> None:
    axis = HaarAxis(size)
    rows = np.random.default_rng(1).normal(size=(1 << axis.height, 3))
    places, weights = axis.cells
    expected = np.einsum("vd,vdr->vr", weights**power, rows[places])
    np.testing.assert_allclose(axis.rebuild(rows, power), expected, atol=1e-14)


@pytest.mark.parametrize("size", SIZES)
def test_a_sum_of_cells_weighs_the_coefficients_that_rebuild_them(size: int) -> None:
    axis, generator = HaarAxis(size), np.random.default_rng(2)
    rows, query = generator.normal(size=1 << axis.height), generator.normal(size=size)
    assert axis.weigh(query) @ rows == pytest.approx(query @ axis.rebuild(rows))
    np.testing.assert_allclose(axis.rebuild(axis.even), 1 / size)


def test_numbers_by_depth() -> None:
    axis = HaarAxis(8)
    np.testing.assert_array_equal(axis.to_row(np.arange(4)), [0, 1, 2, 2, 3, 3, 3, 3])
    np.testing.assert_array_equal(axis.by_depth(np.ones(8)), [1, 1, 2, 4])
