"""Integers out of 2^64 that keep their promise exactly."""

from fractions import Fraction

import numpy as np
import pytest

from hearsay.mechanisms.counts.closed_forms import em, gm, um
from hearsay.mechanisms.counts.design import WM_PROPERTIES, Design
from hearsay.mechanisms.counts.integers import NotRepaired, to_integers, to_shares, uniform
from hearsay.mechanisms.counts.objectives import Objective
from hearsay.mechanisms.counts.program import Program
from hearsay.mechanisms.counts.promise import Promise, Table, ratio_of, upward
from hearsay.mechanisms.counts.properties import properties_of
from hearsay.mechanisms.exact.randomness import WORD
from hearsay.mechanisms.exact.thresholds import exponential


def promise_of(ratio: float, **how: int) -> Promise:
    return Promise(upward(Fraction(ratio)), **how)


def rounded(matrix: Table) -> Table:
    """What one would do without a repair: round, and give what is left to the likeliest output."""
    whole = np.array([[int(entry * WORD) for entry in row] for row in matrix], dtype=object)
    for column in range(whole.shape[1]):
        whole[whole[:, column].argmax(), column] += WORD - whole[:, column].sum()
    return whole


def assert_exact(whole: Table, promise: Promise) -> None:
    assert all(isinstance(entry, int) for entry in whole.ravel())
    assert (whole.sum(axis=0) == WORD).all()
    a = promise.ratio
    reach = promise.reach(whole.shape[1] - 1)
    for one in range(whole.shape[1]):
        for other in range(whole.shape[1]):
            if 0 < abs(one - other) <= reach:
                assert all(mine >= a * theirs for mine, theirs in zip(whole[:, one], whole[:, other], strict=True))


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 0.7, 3.0, 20.0, 50.0])
@pytest.mark.parametrize("largest", [1, 2, 7, 16, 64])
def test_closed_forms_are_exactly_private(largest: int, epsilon: float) -> None:
    promise = Promise(ratio_of(epsilon))
    for matrix in (gm(largest, promise.ratio), em(largest, promise.ratio), um(largest)):
        whole = to_integers(matrix, promise)
        assert_exact(whole, promise)
        assert np.abs(to_shares(whole) - matrix.astype(float)).max() < 1e-12
        assert (whole == whole[::-1, ::-1]).all()
        assert set(properties_of(matrix)) <= set(properties_of(to_shares(whole), tolerance=1e-7))


def test_the_ratio_is_never_below_the_exponential() -> None:
    for epsilon in (1e-6, 0.3, 1.0, 50.0):
        a = ratio_of(epsilon)
        assert a * exponential(epsilon) >= 1
        assert a * exponential(epsilon) < 1 + Fraction(1, 1 << 50)


@pytest.mark.parametrize("ratio", [0.2, 0.5, 0.76, 0.91, 0.99])
@pytest.mark.parametrize("largest", [4, 16, 40])
@pytest.mark.parametrize("properties", [frozenset(), frozenset({"WH"}), WM_PROPERTIES], ids=["none", "WH", "WM"])
def test_solutions_are_made_exactly_private(largest: int, ratio: float, properties: frozenset[str]) -> None:
    promise = promise_of(ratio)
    matrix = Program(largest, promise, properties).solve()
    whole = to_integers(matrix, promise)
    assert_exact(whole, promise)
    assert np.abs(to_shares(whole) - matrix).max() < 1e-8
    assert properties <= set(properties_of(to_shares(whole), tolerance=1e-7))


@pytest.mark.parametrize("name", ["L1", "L2", "L0,1"])
def test_outputs_that_are_never_given_stay_so(name: str) -> None:
    promise = promise_of(0.9)
    matrix = Program(7, promise, frozenset(), Objective.parse(name)).solve()
    whole = to_integers(matrix, promise)
    assert_exact(whole, promise)
    never = matrix.max(axis=1) < 1e-9
    assert never.any()
    assert (whole[never] == 0).all()


@pytest.mark.parametrize(("how", "largest"), [({"local": True}, 9), ({"within": 3}, 9), ({"within": 2}, 24)])
def test_wider_promises_are_exact_for_every_pair(how: dict[str, int], largest: int) -> None:
    promise = promise_of(0.8, **how)
    whole = to_integers(Program(largest, promise).solve(), promise)
    assert_exact(whole, promise)


def test_an_unrepaired_solution_is_not_private() -> None:
    """n = 50, a = 1/2: the solver leaves zeros beside entries that are not."""
    promise = promise_of(0.5)
    matrix = Program(50, promise, tie=False).solve()
    live = matrix.max(axis=1) > 1e-9
    zeros = (matrix[live] == 0) & (np.maximum(np.roll(matrix[live], 1, axis=1), np.roll(matrix[live], -1, axis=1)) > 0)
    assert zeros.any()
    raw = rounded(matrix)
    assert (raw.sum(axis=0) == WORD).all()
    assert not promise.kept(raw)
    assert promise.kept(to_integers(matrix, promise))


def test_rounding_alone_breaks_even_a_closed_form() -> None:
    promise = promise_of(0.5)
    assert not promise.kept(rounded(gm(40, promise.ratio)))


def test_what_is_far_from_private_is_refused() -> None:
    with pytest.raises(NotRepaired, match="keep the promise"):
        to_integers(np.eye(4), promise_of(0.9))


def test_the_uniform_mechanism_tells_nothing_at_all() -> None:
    whole = uniform(6)
    assert (whole == whole[:, :1]).all()
    assert (whole.sum(axis=0) == WORD).all()


@pytest.mark.parametrize(
    ("mechanism", "largest"),
    [
        *((mechanism, largest) for mechanism in ("gm", "em", "um") for largest in (64, 100)),
        ("wm", 64),
        pytest.param("wm", 100, marks=pytest.mark.slow),  # a linear program, three seconds
    ],
)
def test_large_counts(mechanism: str, largest: int) -> None:
    design = Design(mechanism, largest, 0.3)
    whole = design.whole()
    assert (whole.sum(axis=0) == WORD).all()
    assert design.promise.kept(whole)
