"""gm, em and um as Kulkarni chapter 6 has them."""

from fractions import Fraction

import numpy as np
import pytest

from hearsay.mechanisms.counts.closed_forms import em, gm, truth, um
from hearsay.mechanisms.counts.objectives import Objective
from hearsay.mechanisms.counts.promise import upward
from hearsay.mechanisms.counts.properties import SEVEN, derivable_from_gm, has, properties_of

RATIOS = [upward(Fraction(*pair)) for pair in ((1, 20), (1, 2), (2, 3), (10, 11), (99, 100))]


def test_example_1_of_the_dissertation() -> None:
    matrix = gm(2, upward(Fraction(9, 10))).astype(float)
    np.testing.assert_allclose(matrix[:, 1], [0.4737, 0.0526, 0.4737], atol=5e-5)
    assert matrix[0, 0] == pytest.approx(0.5263, abs=5e-5)


def test_the_truth_of_em_for_even_and_odd_counts() -> None:
    assert float(truth(4, upward(Fraction(9, 10)))) == pytest.approx(0.226244, abs=5e-7)
    assert float(truth(7, upward(Fraction(62, 100)))) == pytest.approx(0.275238, abs=5e-7)
    a = 0.9
    assert float(truth(4, upward(Fraction(a)))) == pytest.approx((1 - a) / (1 + a - 2 * a**3), rel=1e-12)
    a = 0.62
    odd = 1 / (1 + 2 * sum(a**j for j in range(1, 4)) + a**4)
    assert float(truth(7, upward(Fraction(a)))) == pytest.approx(odd, rel=1e-12)


def test_em_for_seven_has_the_printed_exponents() -> None:
    """Figure 6.3, its first, third and fourth rows."""
    a = upward(Fraction(1, 2))
    matrix = em(7, a).astype(float)
    exponents = np.rint(np.log2(float(truth(7, a)) / matrix)).astype(int)
    assert exponents[0].tolist() == [0, 1, 2, 3, 4, 4, 4, 4]
    assert exponents[2].tolist() == [1, 1, 0, 1, 2, 3, 3, 3]
    assert exponents[3].tolist() == [2, 2, 1, 0, 1, 2, 2, 2]


@pytest.mark.parametrize("ratio", RATIOS, ids=str)
@pytest.mark.parametrize("largest", [1, 2, 3, 4, 7, 20, 65])
def test_columns_sum_to_one_and_neighbours_keep_the_ratio(largest: int, ratio: Fraction) -> None:
    for matrix in (gm(largest, ratio), em(largest, ratio), um(largest)):
        shares = matrix.astype(float)
        np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-12)
        assert (shares[:, 1:] >= float(ratio) * shares[:, :-1] * (1 - 1e-12)).all()
        assert (shares[:, :-1] >= float(ratio) * shares[:, 1:] * (1 - 1e-12)).all()


@pytest.mark.parametrize("ratio", RATIOS, ids=str)
@pytest.mark.parametrize("largest", [2, 3, 4, 8, 21, 40])
def test_the_table_of_properties(largest: int, ratio: Fraction) -> None:
    """Figure 6.5 with lemmas 13 and 14; lemma 14's inequality the right way round."""
    a = float(ratio)
    assert properties_of(em(largest, ratio)) == SEVEN
    assert properties_of(um(largest)) == SEVEN
    matrix = gm(largest, ratio)
    assert has(matrix, "S")
    assert has(matrix, "RM")
    assert not has(matrix, "F")
    assert has(matrix, "WH") == (largest >= 2 * a / (1 - a) - 1e-9)
    assert has(matrix, "CM") == (a <= 0.5 + 1e-9)
    assert derivable_from_gm(matrix, ratio)
    assert derivable_from_gm(um(largest), ratio)
    assert not derivable_from_gm(em(largest, ratio), ratio)


@pytest.mark.parametrize("ratio", RATIOS, ids=str)
@pytest.mark.parametrize("largest", range(2, 41))
def test_l0_of_the_closed_forms(largest: int, ratio: Fraction) -> None:
    """Figure 6.8's curves of gm, em and um."""
    a, score = float(ratio), Objective().score
    assert score(gm(largest, ratio)) == pytest.approx(2 * a / (1 + a), rel=1e-12)
    y = float(truth(largest, ratio))
    assert score(em(largest, ratio)) == pytest.approx((largest + 1) / largest * (1 - y), rel=1e-12)
    assert score(um(largest)) == pytest.approx(1.0, rel=1e-12)


def test_one_device_with_one_bit_is_randomised_response() -> None:
    """n = 1: gm and em are both randomised response with p = 1/(1+a) (lemma 12, theorem 10)."""
    a = upward(Fraction(1, 3))
    for matrix in (gm(1, a), em(1, a)):
        np.testing.assert_allclose(matrix.astype(float), [[0.75, 0.25], [0.25, 0.75]], rtol=1e-12)
