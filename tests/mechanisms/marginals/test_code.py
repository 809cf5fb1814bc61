"""The code of attributes and its characters, against plain enumeration."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from hearsay.mechanisms.marginals.characters.code import Code
from hearsay.mechanisms.marginals.characters.coefficients import Coefficients, level_sizes
from tests.mechanisms.marginals.shared import summed, uneven


def every_value(sizes: tuple[int, ...]) -> np.ndarray:
    return np.array(list(product(*(range(size) for size in sizes))))


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 5), (2,) * 8, (4, 7)])
def test_values_have_different_words_that_hold_their_attributes(sizes: tuple[int, ...]) -> None:
    code, values = Code(sizes), every_value(sizes)
    words = code.encode(values)
    assert len(np.unique(words)) == len(values)
    for place, shift in enumerate(code.shifts):
        held = words >> np.uint64(shift) & np.uint64((1 << code.bits[place]) - 1)
        np.testing.assert_array_equal(held, values[:, place].astype(np.uint64))


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 5), (2, 4, 7)])
def test_a_marginal_is_read_from_its_own_characters(sizes: tuple[int, ...]) -> None:
    """Brute force: theta from the signs of all combinations, the marginal from summing them."""
    code, shares = Code(sizes), uneven(sizes)
    words = code.encode(every_value(sizes))
    for chosen in [(0,), (2,), (0, 1), (2, 0), (1, 2), (2, 1, 0)]:
        masks = code.characters(chosen)
        signs = 1.0 - 2.0 * (np.bitwise_count(words[:, None] & masks[None, :]) % 2)
        theta = shares @ signs
        expected = summed(shares, sizes, chosen)
        np.testing.assert_allclose(code.to_cells(chosen) @ theta, expected, atol=1e-14)
        np.testing.assert_allclose(code.to_characters(chosen, expected), theta, atol=1e-14)


def test_noise_on_impossible_codes_leaves_no_mass_there_and_tables_agree() -> None:
    code = Code((3, 5, 2))
    generator = np.random.default_rng(1)
    coefficients = Coefficients(code, 3)
    theta = np.append(generator.standard_normal(coefficients.count), 1.0)  # the last one is the empty character's

    def table(chosen: tuple[int, ...]) -> np.ndarray:
        return (code.to_cells(chosen) @ theta[coefficients.of(chosen)]).reshape(code.shape(chosen))

    whole = table((0, 1, 2))
    assert whole.shape == (3, 5, 2)
    assert whole.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(whole.sum(axis=2), table((0, 1)), atol=1e-12)
    np.testing.assert_allclose(whole.sum(axis=1).T, table((2, 0)), atol=1e-12)
    np.testing.assert_allclose(whole.sum(axis=(0, 2)), table((1,)), atol=1e-12)


@pytest.mark.parametrize(("sizes", "order"), [((2,) * 6, 2), ((2,) * 5, 3), ((3, 2, 5), 2), ((4, 4, 2, 3), 3)])
def test_coefficients_are_those_that_touch_at_most_k_attributes(sizes: tuple[int, ...], order: int) -> None:
    code = Code(sizes)
    found = Coefficients(code, order)
    touched = {}
    for mask in range(1 << code.width):
        attributes = [p for p in range(len(sizes)) if mask >> code.shifts[p] & ((1 << code.bits[p]) - 1)]
        if 1 <= len(attributes) <= order:
            touched[mask] = len(attributes)
    assert sorted(found.masks.tolist()) == sorted(touched)
    assert found.levels.tolist() == [touched[int(mask)] for mask in found.masks]
    assert found.count == sum(level_sizes(code, order)) == len(touched)
    np.testing.assert_array_equal(found.numbers_of(found.masks), np.arange(found.count))
    assert found.numbers_of(np.array([0], dtype=np.uint64))[0] == -1
    for chosen in combinations(range(len(sizes)), order):
        places = found.of(chosen)
        assert places[0] == -1
        np.testing.assert_array_equal(found.masks[places[1:]], code.characters(chosen)[1:])


def test_binary_attributes_have_sums_of_binomials() -> None:
    assert level_sizes(Code((2,) * 32), 2) == [32, comb(32, 2)]
    assert sum(level_sizes(Code((2,) * 32), 2)) == 528
