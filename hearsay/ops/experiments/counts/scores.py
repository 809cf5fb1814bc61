"""Figures 6.7 and 6.8: what properties cost under L0; and every objective with every set of properties."""

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np

from hearsay.mechanisms.counts.closed_forms import em
from hearsay.mechanisms.counts.design import WM_PROPERTIES
from hearsay.mechanisms.counts.objectives import Objective
from hearsay.mechanisms.counts.program import Program
from hearsay.mechanisms.counts.promise import Promise, upward
from hearsay.ops.experiments.counts.contenders import SETS, STRONG, for_objective
from hearsay.ops.experiments.counts.pictures import curves
from hearsay.ops.experiments.output import Result

ROWS, COLUMNS = ((), ("RH",), ("RM",)), ((), ("CH",), ("CM",))
NINE = ["+".join(("WH", *row, *column)) for row, column in product(ROWS, COLUMNS)]
# Check values at a = 0.76: weak honesty, WM, EM.
EXPECTED_7 = {4: (0.885319, 0.895291, 0.909882), 8: (0.863636, 0.882838, 0.909499), 20: (0.863636, 0.871317, 0.898401)}
RATIOS_8 = (Fraction(1, 2), Fraction(2, 3), Fraction(10, 11), Fraction(99, 100))
OBJECTIVES = ("L0", "L1", "L2", "L0,1", "L0,2", "L1,1", "L2,1", "max-L0", "max-L1", "max-L2")
_SAME = 1e-7
Points = dict[str, dict[str, list[tuple[float, float, float]]]]


def least_l0(largest: int, ratio: Fraction, properties: frozenset[str]) -> float:
    """The least L0 that properties allow."""
    return Objective().score(Program(largest, Promise(upward(ratio)), properties, tie=False).solve())


def figure_7(quick: bool) -> Result:
    """Weak honesty with the nine combinations of row and column properties."""
    result = Result(
        "figure-6-7",
        "Figure 6.7: least L0 with weak honesty and further properties",
        ["n", "a", *NINE, "gm", "em"],
        [],
        "row properties cost nothing, column honesty as much as column monotonicity: two curves, not nine",
    )
    panels: Points = {"a = 0.76": defaultdict(list), "n = 8": defaultdict(list)}
    varied = [("a = 0.76", largest, Fraction(76, 100)) for largest in ((2, 4, 8, 20) if quick else range(2, 25))]
    varied += [("n = 8", 8, Fraction(percent, 100)) for percent in ((50, 70, 90, 99) if quick else range(40, 100, 3))]
    for panel, largest, ratio in varied:
        a = float(ratio)
        nine = [least_l0(largest, ratio, frozenset({"WH", *row, *column})) for row, column in product(ROWS, COLUMNS)]
        geometric, fair = 2 * a / (1 + a), Objective().score(em(largest, upward(ratio)))
        result.rows.append([largest, a, *(round(score, 6) for score in (*nine, geometric, fair))])
        table = np.reshape(nine, (3, 3))
        result.expect(bool(np.ptp(table, axis=0).max() < _SAME), f"n = {largest}, a = {a}: row properties cost")
        result.expect(bool(np.ptp(table[:, 1:]) < _SAME), f"n = {largest}, a = {a}: CH and CM differ")
        if panel == "a = 0.76":
            _expect_7(result, largest, (nine[0], nine[2], fair))
        x = float(largest) if panel == "a = 0.76" else a
        for name, score in (("gm", geometric), ("WH, with RH, RM", nine[0]), ("WH with CH, CM", nine[1]), ("em", fair)):
            panels[panel][name].append((x, score, 0.0))

    def draw(figure: Any) -> None:
        curves(figure, panels, 2, "n, or a", "L0")
        for axes, name in zip(figure.axes, ("n", "a"), strict=False):
            axes.set(xlabel=name)

    result.draw = draw
    return result


def _expect_7(result: Result, largest: int, scores: tuple[float, float, float]) -> None:
    for score, wanted in zip(scores, EXPECTED_7.get(largest, scores), strict=True):
        result.expect(abs(score - wanted) < 1e-6, f"n = {largest}: L0 of {score:.6f} where {wanted} is expected")


def figure_8(quick: bool) -> Result:
    """gm, wm, em and um, with weak honesty alone beside them, by the size of the group."""
    result = Result(
        "figure-6-8",
        "Figure 6.8: L0 of mechanisms by group size",
        ["a", "n", "gm", "WH", "wm", "em", "um"],
        [],
        "weak honesty alone becomes gm at n = 2a/(1-a); wm does not where a > 1/2, unlike in Kulkarni 6.7.1",
    )
    panels: Points = {f"a = {ratio}": defaultdict(list) for ratio in RATIOS_8}
    for ratio in RATIOS_8:
        a = float(ratio)
        for largest in (2, 3, 4, 8, 12, 20, 30) if quick else range(2, 41):
            weakly, wm = (least_l0(largest, ratio, asked) for asked in (frozenset({"WH"}), WM_PROPERTIES))
            scores = (2 * a / (1 + a), weakly, wm, Objective().score(em(largest, upward(ratio))), 1.0)
            result.rows.append([str(ratio), largest, *(round(score, 6) for score in scores)])
            rising = all(one <= other + _SAME for one, other in pairwise(scores))
            result.expect(rising, f"a = {ratio}, n = {largest}: the order is broken")
            met = abs(weakly - scores[0]) < _SAME
            result.expect(met == (largest * (1 - ratio) >= 2 * ratio), f"a = {ratio}, n = {largest}: WH and gm")
            met = abs(wm - scores[0]) < _SAME
            result.expect(met == (2 * ratio <= 1), f"a = {ratio}, n = {largest}: wm and gm")
            for name, score in zip(result.columns[2:], scores, strict=True):
                panels[f"a = {ratio}"][name].append((largest, score, 0.0))

    def draw(figure: Any) -> None:
        curves(figure, panels, 2, "n", "L0")

    result.draw = draw
    return result


def objectives() -> Result:
    """Every objective without properties, with weak honesty, with fairness, with all; and what guessing scores."""
    result = Result(
        "objectives",
        f"Least score of every objective by required properties, n = 8, a = {STRONG}",
        ["objective", *SETS, "UM"],
        [],
        "UCM: nothing, WM: weak honesty, FM: fairness, AM: all seven, UM: guessing",
    )
    for name in OBJECTIVES:
        objective = Objective.parse(name)
        scores = [objective.score(contender.shares) for contender in for_objective(name, 8, STRONG)]
        result.rows.append([name, *(round(score, 4) for score in scores)])
        ordered = scores[0] <= min(scores[1:3]) + 1e-6 and max(scores[1:3]) <= scores[3] + 1e-6 <= scores[4] + 2e-6
        result.expect(ordered, f"{name}: more properties score better")
    return result
