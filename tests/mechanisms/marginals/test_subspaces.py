"""What reports show: chances against enumeration, the closed forms, and what level weights and t = 2 save."""

from fractions import Fraction
from itertools import combinations
from math import comb, exp, sqrt

import numpy as np
import pytest

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.marginals.characters.code import Code
from hearsay.mechanisms.marginals.characters.coefficients import Coefficients
from hearsay.mechanisms.marginals.characters.natural import best_t, natural
from hearsay.mechanisms.marginals.characters.subspaces import Subspaces, rounded
from hearsay.mechanisms.marginals.characters.weights import (
    importance,
    one_character,
    possible_types,
    subspaces_of,
    three_characters,
    type_shares,
)


def binary(attributes: int, order: int) -> Coefficients:
    return Coefficients(Code((2,) * attributes), order)


LISTS = {
    "one": one_character(binary(5, 2), "levels"),
    "three": three_characters(binary(5, 2), "levels"),
    "three of order 3": three_characters(binary(6, 3), "levels"),
    "three of categories": three_characters(Coefficients(Code((3, 2, 5)), 2), "levels"),
    "natural": natural(Coefficients(Code((3, 2, 5)), 2), 2),
    "natural t = 3": natural(Coefficients(Code((4, 4, 2, 3)), 2), 3),
}


@pytest.mark.parametrize("subspaces", LISTS.values(), ids=LISTS.keys())
def test_chances_are_those_of_the_list(subspaces: Subspaces) -> None:
    assert subspaces.chances.sum() == pytest.approx(1.0)
    places = np.arange(subspaces.coefficients.count)
    together = np.zeros((places.size, places.size))
    for members, chance in zip(subspaces.members, subspaces.chances, strict=True):
        assert len(set(members)) == len(members)  # independent generators show different characters
        assert (members >= 0).all()  # all of few attributes
        together[np.ix_(members, members)] += chance
    np.testing.assert_allclose(subspaces.together(places), together, atol=1e-15)
    np.testing.assert_allclose(subspaces.seen, np.diag(together), atol=1e-15)
    assert subspaces.seen.min() > 0
    some = np.array([-1, 3, 0, 2])
    expected = np.zeros((4, 4))
    expected[1:, 1:] = together[np.ix_(some[1:], some[1:])]
    np.testing.assert_allclose(subspaces.together(some), expected, atol=1e-15)


@pytest.mark.parametrize("subspaces", LISTS.values(), ids=LISTS.keys())
def test_devices_draw_with_these_chances(subspaces: Subspaces) -> None:
    draws = 200_000
    counts = np.bincount(subspaces.draw(draws, seeded(4)), minlength=subspaces.count)
    spread = np.sqrt(draws * subspaces.chances * (1 - subspaces.chances))
    assert (np.abs(counts - draws * subspaces.chances) < 6 * spread + 1).all()


def test_shares_are_exact_fractions_that_no_machine_rounds_differently() -> None:
    assert rounded([1.0, 3.0]) == [Fraction(1, 4), Fraction(3, 4)]
    assert min(rounded([1e-12, 1.0])) > 0


@pytest.mark.parametrize("attributes", [3, 4, 8, 16, 32])
def test_pairs_have_the_closed_form(attributes: int) -> None:
    """k = 2: type (0, 1, 1) with probability min(1, 3 sigma/2)."""
    kinds = [kind for kind in possible_types(2) if sum(kind) <= attributes]
    assert kinds == [(0, 1, 1), (1, 1, 1)]
    ones = attributes * sqrt(attributes - 1)
    sigma = ones / (ones + comb(attributes, 2))
    levels = [attributes, comb(attributes, 2)]
    shares = type_shares(kinds, levels, importance(attributes, 2, "levels"))
    assert shares[0] == pytest.approx(min(1.0, 1.5 * sigma), abs=1e-3)


@pytest.mark.parametrize(("sizes", "order"), [((2,) * 6, 3), ((2,) * 7, 4), ((3, 2, 5, 2), 2), ((4, 3, 2, 2), 3)])
def test_types_are_counted_before_they_are_listed(sizes: tuple[int, ...], order: int) -> None:
    code = Code(sizes)
    kinds = [kind for kind in possible_types(order) if sum(kind) <= len(sizes)]
    listed = three_characters(Coefficients(code, order), "uniform")
    assert set(listed.sizes) <= {subspaces_of(code, kind) for kind in kinds}
    spans = {frozenset(members) for members in listed.members.tolist()}
    assert len(spans) == listed.count  # none twice


def test_no_other_shares_of_types_have_a_smaller_sum() -> None:
    attributes, order = 10, 4
    kinds = possible_types(order)
    levels = [comb(attributes, level) for level in range(1, order + 1)]
    m = importance(attributes, order, "levels")

    def total(shares: np.ndarray) -> float:
        q = np.zeros(order)
        for share, (x, y, z) in zip(shares, kinds, strict=True):
            for level in (x + y, y + z, x + z):
                q[level - 1] += share
        return float(sum(levels[j] ** 2 * m[j] / q[j] for j in range(order)))

    best = np.array(type_shares(kinds, levels, m))
    generator = np.random.default_rng(2)
    for _ in range(300):
        other = 0.9 * best + 0.1 * generator.dirichlet(np.ones(len(kinds)))
        assert total(best) <= total(other) * (1 + 1e-6)


def mean_variance(subspaces: Subspaces, epsilon: float, code: Code, order: int) -> float:
    """n Var of a cell at even shares, averaged over all sets of k attributes."""
    g = 1 << subspaces.t
    c = (exp(epsilon) - 1) / (exp(epsilon) + g - 1)
    found = []
    for chosen in combinations(range(len(code.sizes)), order):
        seen = subspaces.seen[subspaces.coefficients.of(chosen)[1:]]
        codes = code.codes(chosen)
        found.append(((1 / c**2 / seen).sum() - (1 / codes) * (1 - 1 / codes) * codes**2) / codes**2)
    return float(np.mean(found))


@pytest.mark.parametrize(("attributes", "order", "saved"), [(8, 2, 0.40), (16, 2, 0.49), (32, 2, 0.57), (16, 3, 0.62)])
def test_level_weights_and_three_characters_save(attributes: int, order: int, saved: float) -> None:
    """MECHANISMS 5: mean cell variance against uniform t = 1 at epsilon 1.1."""
    coefficients = binary(attributes, order)
    plain = mean_variance(one_character(coefficients, "uniform"), 1.1, coefficients.code, order)
    ours = mean_variance(three_characters(coefficients, "levels"), 1.1, coefficients.code, order)
    assert 1 - ours / plain == pytest.approx(saved, abs=0.012)


def test_uniform_weights_ask_for_all_characters_alike() -> None:
    for listed in (one_character(binary(8, 2), "uniform"), three_characters(binary(8, 2), "uniform")):
        np.testing.assert_allclose(listed.seen, listed.seen.mean(), rtol=1e-3)


def test_three_characters_need_two_attributes_together() -> None:
    with pytest.raises(SpecificationError, match=r"options\.t must be 1"):
        three_characters(binary(5, 1), "levels")


def test_longer_hashes_with_more_epsilon() -> None:
    assert [best_t(epsilon) for epsilon in (0.3, 1.1, 2.0, 3.0)] == [1, 2, 3, 4]
