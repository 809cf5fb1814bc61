"""The linear program against the figures of Kulkarni chapter 6."""

from fractions import Fraction
from itertools import product
from math import comb
from time import process_time

import numpy as np
import pytest

from hearsay.mechanisms.counts.closed_forms import em, gm, truth, um
from hearsay.mechanisms.counts.design import WM_PROPERTIES
from hearsay.mechanisms.counts.objectives import Objective
from hearsay.mechanisms.counts.program import NotSolved, Program
from hearsay.mechanisms.counts.promise import Promise, upward
from hearsay.mechanisms.counts.properties import SEVEN, derivable_from_gm, has, properties_of

HALF, TWO_THIRDS, TEN, HUNDRED = (Promise(upward(Fraction(*pair))) for pair in ((1, 2), (2, 3), (10, 11), (99, 100)))
WEAKLY = frozenset({"WH"})
L0 = Objective()


def near(ratio: float, **how: int) -> Promise:
    return Promise(upward(Fraction(ratio)), **how)


def least(largest: int, promise: Promise, properties: frozenset[str], name: str = "L0") -> float:
    objective = Objective.parse(name)
    return objective.score(Program(largest, promise, properties, objective, tie=False).solve())


@pytest.mark.parametrize(
    ("largest", "weakly", "wm", "fair"),
    [(4, 0.885319, 0.895291, 0.909882), (8, 0.863636, 0.882838, 0.909499), (20, 0.863636, 0.871317, 0.898401)],
)
def test_l0_with_weak_honesty_and_more(largest: int, weakly: float, wm: float, fair: float) -> None:
    """a = 0.76, figure 6.7 (a)."""
    promise = near(0.76)
    assert least(largest, promise, WEAKLY) == pytest.approx(weakly, abs=5e-7)
    assert least(largest, promise, WM_PROPERTIES) == pytest.approx(wm, abs=5e-7)
    assert least(largest, promise, frozenset({"F"})) == pytest.approx(fair, abs=5e-7)
    assert L0.score(em(largest, promise.ratio)) == pytest.approx(fair, abs=5e-7)


@pytest.mark.parametrize("promise", [near(0.6), near(0.76), near(0.91)], ids=["0.6", "0.76", "0.91"])
@pytest.mark.parametrize("largest", [4, 8])
def test_nine_combinations_with_weak_honesty_have_two_scores(largest: int, promise: Promise) -> None:
    """Row properties cost nothing, column honesty as much as column monotonicity (6.7.1)."""
    scores = {
        (row, column): least(largest, promise, WEAKLY | set(row) | set(column))
        for row, column in product(((), ("RH",), ("RM",)), ((), ("CH",), ("CM",)))
    }
    for (_, column), score in scores.items():
        assert score == pytest.approx(scores[(), column and ("CH",)], abs=1e-8)
    assert scores[(), ()] < scores[(), ("CH",)]


def test_with_much_privacy_all_combinations_cost_as_much_as_fairness() -> None:
    """Figure 6.7 (b): a near 1."""
    promise = near(0.999)
    fair = L0.score(em(4, promise.ratio))
    assert least(4, promise, WM_PROPERTIES) == pytest.approx(fair, abs=1e-6)
    assert least(4, promise, WEAKLY) == pytest.approx(fair, abs=1e-5)


def _follow_figure_8(largest: int, promise: Promise) -> None:
    a = float(promise.ratio)
    geometric, fair = 2 * a / (1 + a), L0.score(em(largest, promise.ratio))
    weakly, wm = least(largest, promise, WEAKLY), least(largest, promise, WM_PROPERTIES)
    assert least(largest, promise, frozenset()) == pytest.approx(geometric, abs=1e-8)
    assert geometric - 1e-8 <= weakly <= wm + 1e-8
    assert wm <= fair + 1e-8
    assert (weakly == pytest.approx(geometric, abs=1e-8)) == (largest >= 2 * a / (1 - a) - 1e-9)
    assert (wm == pytest.approx(geometric, abs=1e-8)) == (a <= 0.5 + 1e-9)  # WM never becomes gm above 1/2


@pytest.mark.parametrize("promise", [HALF, TWO_THIRDS, TEN, HUNDRED], ids=["1/2", "2/3", "10/11", "99/100"])
@pytest.mark.parametrize("largest", [2, 3, 4, 5, 9, 19, 20])
def test_l0_scores_of_figure_8(largest: int, promise: Promise) -> None:
    _follow_figure_8(largest, promise)


@pytest.mark.slow
@pytest.mark.parametrize("promise", [HALF, TWO_THIRDS, TEN, HUNDRED], ids=["1/2", "2/3", "10/11", "99/100"])
@pytest.mark.parametrize("largest", range(2, 41))
def test_l0_scores_of_figure_8_for_every_count(largest: int, promise: Promise) -> None:
    _follow_figure_8(largest, promise)


def test_errors_on_binomial_counts() -> None:
    """n = 8, a = 0.91, p = 1/2: wrong, more than one away, root mean square error."""
    promise = near(0.91)
    share = np.array([comb(8, count) / 256 for count in range(9)])
    apart = np.abs(np.arange(9)[:, None] - np.arange(9))
    wm = Program(8, promise, WM_PROPERTIES).solve()
    for matrix, wrong, away, rmse in (
        (gm(8, promise.ratio), 0.9492, 0.8366, 3.6596),
        (em(8, promise.ratio), 0.8640, 0.6175, 2.7738),
        (um(8), 0.8889, 0.6675, 2.9439),
        (wm, 0.8764, 0.6405, 2.8134),
    ):
        shares = matrix.astype(float)
        assert ((apart > 0) * shares).sum(axis=0) @ share == pytest.approx(wrong, abs=5e-5)
        assert ((apart > 1) * shares).sum(axis=0) @ share == pytest.approx(away, abs=5e-5)
        assert np.sqrt((apart**2 * shares).sum(axis=0) @ share) == pytest.approx(rmse, abs=5e-5)


@pytest.mark.parametrize("ratio", [0.55, 0.76, 0.91, 0.99])
@pytest.mark.parametrize("largest", [2, 4, 8, 13])
def test_wm_has_what_it_is_named_for(largest: int, ratio: float) -> None:
    matrix = Program(largest, near(ratio), WM_PROPERTIES).solve()
    assert {"S", "RM", "RH", "CM", "CH", "WH"} <= set(properties_of(matrix))
    assert not has(matrix, "F")


@pytest.mark.parametrize(
    ("largest", "ratio", "derived"), [(2, 0.91, True), (8, 0.6, True), (4, 0.76, False), (8, 0.91, False)]
)
def test_wm_is_derived_from_gm_only_where_little_privacy_is_asked(largest: int, ratio: float, derived: bool) -> None:
    """6.6.3 finds none derived for n > 1: true of what a solver meets first, not of the matrix with the least L1."""
    promise = near(ratio)
    assert not derivable_from_gm(Program(largest, promise, WM_PROPERTIES, tie=False).solve(), promise.ratio)
    assert derivable_from_gm(Program(largest, promise, WM_PROPERTIES).solve(), promise.ratio) == derived


@pytest.mark.parametrize(
    ("largest", "ratio", "gain"),
    [
        (4, 0.76, 0.0901),
        (4, 0.91, 0.0320),
        (8, 0.76, 0.1473),
        (8, 0.91, 0.0551),
        (20, 0.76, 0.2328),
        (20, 0.91, 0.1214),
    ],
)
def test_a_fair_mechanism_with_less_absolute_error(largest: int, ratio: float, gain: float) -> None:
    """Best matrices under L0 are not unique: with the same L0 and properties as em, less L1."""
    promise = near(ratio)
    y = float(truth(largest, promise.ratio))
    tied = Program(largest, promise, frozenset(SEVEN), Objective(power=1), truth=y).solve()
    plain = em(largest, promise.ratio)
    assert L0.score(tied) == pytest.approx(L0.score(plain), abs=1e-8)
    assert properties_of(tied) == SEVEN
    assert 1 - Objective(power=1).score(tied) / Objective(power=1).score(plain) == pytest.approx(gain, abs=5e-5)


@pytest.mark.parametrize("name", ["L0", "L1", "L2", "L0,2", "L1,1", "L2,3", "max-L0", "max-L1", "max-L2", "max-L1,2"])
@pytest.mark.parametrize("properties", [(), ("WH",), ("F",), ("RM", "CH"), SEVEN], ids=" ".join)
def test_every_objective_with_properties(name: str, properties: tuple[str, ...]) -> None:
    """The solution has what was asked for, and is no worse than em and um, which have everything."""
    promise, objective = near(0.8), Objective.parse(name)
    matrix = Program(6, promise, frozenset(properties), objective).solve()
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0, atol=1e-9)
    assert set(properties) <= set(properties_of(matrix))
    for other in (em(6, promise.ratio), um(6)):
        assert objective.score(matrix) <= objective.score(other) + 1e-8
    if not properties:
        assert objective.score(matrix) <= objective.score(gm(6, promise.ratio)) + 1e-8


@pytest.mark.parametrize("ratio", [0.3, 0.9])
@pytest.mark.parametrize("largest", [2, 5, 16])
def test_over_all_pairs_the_program_gives_randomised_response(largest: int, ratio: float) -> None:
    """6.8: P = p on the diagonal, p a elsewhere, p = 1/(1 + n a)."""
    matrix = Program(largest, near(ratio, local=True)).solve()
    truthful = 1 / (1 + largest * ratio)
    expected = np.where(np.eye(largest + 1, dtype=bool), truthful, truthful * ratio)
    np.testing.assert_allclose(matrix, expected, atol=1e-6)


def test_limited_precision_lies_between_neighbours_and_all_pairs() -> None:
    scores = [least(6, near(0.7, within=within), frozenset()) for within in (1, 2, 3, 6)]
    assert scores == sorted(scores)
    assert scores[0] < scores[-1]
    assert scores[-1] == pytest.approx(least(6, near(0.7, local=True), frozenset()), abs=1e-8)


def test_weights_move_the_truth_where_it_counts() -> None:
    heavy = Program(6, near(0.8), WEAKLY, L0, weights=(9, 1, 1, 1, 1, 1, 1)).solve()
    even = Program(6, near(0.8), WEAKLY).solve()
    assert heavy[0, 0] > even[0, 0] + 0.05
    assert not has(heavy, "S")
    asked = Program(6, near(0.8), frozenset({"WH", "S"}), L0, weights=(9, 1, 1, 1, 1, 1, 1)).solve()
    assert has(asked, "S")


def test_the_ratio_can_be_asked_of_columns_too() -> None:
    """7.1.3: gm breaks it at the ends, the program keeps it at some cost."""
    promise = near(0.8)
    asked = Program(8, promise, frozenset({"CDP"})).solve()
    assert has(asked, "CDP", promise.ratio)
    assert not has(gm(8, promise.ratio), "CDP", promise.ratio)
    assert L0.score(asked) > L0.score(gm(8, promise.ratio)) + 1e-3


def test_a_workload_is_answered_better_than_by_generic_losses() -> None:
    """Mean and a tail share: the program for them beats those for L0, L1 and L2 on them."""
    promise = near(0.8)
    wanted = Objective.parse("L1", ("mean", "at-least:6*3"), 8)
    best = wanted.score(Program(8, promise, WEAKLY, wanted).solve())
    for name in ("L0", "L1", "L2"):
        other = Program(8, promise, WEAKLY, Objective.parse(name)).solve()
        assert best <= wanted.score(other) + 1e-9
    assert best < wanted.score(Program(8, promise, WEAKLY).solve()) - 1e-3


def test_a_hundred_takes_at_most_ten_seconds() -> None:
    started = process_time()
    Program(100, near(0.76), frozenset({"WH", "RM", "CM"})).solve()
    assert process_time() - started < 10


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.5, 0.76, 0.91, 0.99])
@pytest.mark.parametrize("properties", [(), ("WH",), ("CH",), ("CM",), ("WH", "RM", "CM")], ids=" ".join)
def test_a_hundred_takes_at_most_ten_seconds_for_every_common_set(properties: tuple[str, ...], ratio: float) -> None:
    started = process_time()
    Program(100, near(ratio), frozenset(properties)).solve()
    assert process_time() - started < 10


def test_a_limit_of_time_is_kept_and_progress_told() -> None:
    told: list[str] = []
    with pytest.raises(NotSolved, match=r"counts 0\.\.60 was not solved in its time"):
        Program(60, near(0.9), WM_PROPERTIES).solve(time_limit_s=0.01, tell=told.append)
    Program(5, near(0.9)).solve(tell=told.append)
    assert any("unknowns" in line and "at most" in line for line in told)
