"""The choice of figure 6.4 is the best that the linear program finds, for all 128 sets of properties."""

from fractions import Fraction
from itertools import combinations

import pytest

from hearsay.mechanisms.counts.choice import choose
from hearsay.mechanisms.counts.closed_forms import em, gm
from hearsay.mechanisms.counts.design import WM_PROPERTIES
from hearsay.mechanisms.counts.objectives import Objective
from hearsay.mechanisms.counts.program import Program
from hearsay.mechanisms.counts.promise import Promise, upward
from hearsay.mechanisms.counts.properties import SEVEN, properties_of

SETS = [frozenset(chosen) for size in range(8) for chosen in combinations(SEVEN, size)]


@pytest.mark.parametrize(("largest", "ratio"), [(3, 0.8), (8, 0.76), (5, 0.45)])
def test_the_choice_has_the_properties_and_the_least_l0(largest: int, ratio: float) -> None:
    promise, score = Promise(upward(Fraction(ratio))), Objective().score
    assert len(SETS) == 128
    matrices = {
        "gm": gm(largest, promise.ratio),
        "em": em(largest, promise.ratio),
        "wm": Program(largest, promise, WM_PROPERTIES).solve(),
    }
    for properties in SETS:
        mechanism, asked, reason = choose(properties, largest, promise.ratio)
        if mechanism == "lp":  # row properties cost nothing beside weak honesty, but have to be asked for
            assert asked == tuple(sorted(properties))
            matrix = Program(largest, promise, properties).solve()
        else:
            matrix = matrices[mechanism]
        assert properties <= set(properties_of(matrix))
        assert score(matrix) == pytest.approx(score(Program(largest, promise, properties, tie=False).solve()), abs=1e-7)
        assert reason.startswith(f"{mechanism}: ")


def test_the_four_outcomes() -> None:
    high, low = upward(Fraction(9, 10)), upward(Fraction(1, 2)) - Fraction(1, 1 << 100)
    assert choose(frozenset({"F", "S"}), 8, high).mechanism == "em"
    assert choose(frozenset({"CH"}), 8, high).mechanism == "wm"
    assert choose(frozenset({"CM"}), 8, low).mechanism == "gm"
    assert choose(frozenset({"WH"}), 17, high)[:2] == ("lp", ("WH",))
    assert choose(frozenset({"WH"}), 19, high).mechanism == "gm"  # 2a/(1-a) = 18
    assert choose(frozenset({"RM", "S"}), 8, high).mechanism == "gm"
    assert choose(frozenset({"WH"}), 19, high, plain=False).mechanism == "lp"
