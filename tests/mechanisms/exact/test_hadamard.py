"""The fast transform is the matrix of characters."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from hearsay.mechanisms.exact.hadamard import parity, power_of_two_at_least, walsh_hadamard


@pytest.mark.parametrize("size", [1, 2, 4, 16, 32, 256, 512, 4096])
def test_transform_is_the_hadamard_matrix_in_natural_order(size: int) -> None:
    vector = np.random.default_rng(size).normal(size=size)
    np.testing.assert_allclose(walsh_hadamard(vector), hadamard(size) @ vector, atol=1e-9)
    np.testing.assert_allclose(walsh_hadamard(walsh_hadamard(vector)), size * vector, atol=1e-8)


def test_transform_works_along_the_last_axis_and_leaves_its_input_alone() -> None:
    table = np.arange(24.0).reshape(3, 8)
    before = table.copy()
    np.testing.assert_allclose(walsh_hadamard(table), table @ hadamard(8))
    np.testing.assert_array_equal(table, before)


def test_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="power of two, got 6"):
        walsh_hadamard(np.zeros(6))


def test_parity_and_powers() -> None:
    assert parity(np.array([0, 1, 2, 3, 7, 255, 1 << 40], dtype=np.uint64)).tolist() == [0, 1, 1, 0, 1, 0, 1]
    assert [power_of_two_at_least(size) for size in (1, 2, 3, 4, 5, 1023, 1024, 1025)] == [
        1, 2, 4, 4, 8, 1024, 1024, 2048,
    ]  # fmt: skip


@pytest.mark.parametrize("shape", [(1 << 15,), (3, 1 << 14), (5, 2, 16), (1 << 11, 4), (0, 8)])
def test_large_transforms_and_many_at_once_are_the_butterfly(shape: tuple[int, ...]) -> None:
    """Whatever pieces the steps are cut into."""
    vectors = np.random.default_rng(2).normal(size=shape)
    expected = vectors.copy().reshape(-1, shape[-1])
    step = 1
    while step < shape[-1]:
        left, right = np.split(expected.reshape(-1, shape[-1] // (2 * step), 2, step), 2, axis=2)
        expected = np.concatenate([left + right, left - right], axis=2).reshape(-1, shape[-1])
        step *= 2
    np.testing.assert_allclose(walsh_hadamard(vectors), expected.reshape(shape), atol=1e-9)
