"""The figures of docs/ranges.md are those of the algebra that the experiment prints."""

import re
from pathlib import Path

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.ranges.hierarchical.level_plan import optimise
from hearsay.ops.experiments.range_draws import HaarMethod, Method, TreeMethod
from hearsay.ops.experiments.range_grids import CASES, METHODS, PEOPLE

PAGE = Path(__file__).parents[3] / "docs" / "ranges.md"
UNIFORM = {0.2: 4.186, 0.6: 1.377, 1.1: 0.725}  # the best uniform hierarchy on 2^8 cells, with the true shares
_NUMBER = r" ([\d.]+) \|"
GRID = re.compile(r"^\| ([\dx]+) \|" + 7 * _NUMBER + r" ([\d.]+)% \|$", re.M)
ROW = re.compile(r"^\| 2\^(\d+) \|" + 6 * _NUMBER + r" ([\d.]+)% \|$", re.M)


def rows(bits: int) -> dict[float, list[float]]:
    found = [[float(part) for part in row] for row in ROW.findall(PAGE.read_text(encoding="utf-8"))]
    return {row[1]: row[2:] for row in found if row[0] == bits}


@pytest.mark.parametrize("epsilon", UNIFORM)
def test_the_page_compares_with_the_algebra_of_the_best_uniform_hierarchy(epsilon: float) -> None:
    uniform, haar, one_offset, optimised, measured, saved = rows(8)[epsilon]

    def algebra(method: Method) -> float:
        return 1000 * float(np.sqrt(method.expected("all")))

    assert uniform == UNIFORM[epsilon]
    assert haar == pytest.approx(algebra(HaarMethod(256, epsilon)), abs=6e-4)
    one_plan = optimise(256, epsilon, "all", offsets=1)
    assert one_offset == pytest.approx(algebra(TreeMethod("one", 256, epsilon, one_plan)), abs=6e-4)
    plan = optimise(256, epsilon, "all")
    assert optimised == pytest.approx(algebra(TreeMethod("all", 256, epsilon, plan)), abs=6e-4)
    assert measured == pytest.approx(optimised, rel=0.02)
    assert saved == pytest.approx(100 * (1 - optimised / uniform), abs=0.06)


def test_the_page_says_how_much_larger_haar_s_error_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for epsilon, low, high in ((0.2, 9, 19), (1.1, 26, 37)):
        larger = sorted(round(100 * (found[epsilon][1] / found[epsilon][3] - 1)) for found in (rows(8), rows(16)))
        assert larger == [low, high]
        assert f"{low}-{high}% " in text


def test_the_page_says_what_grids_are_expected_to_have_and_were_measured_to_have() -> None:
    found = {
        (sizes, float(epsilon)): parts for sizes, epsilon, *parts in GRID.findall(PAGE.read_text(encoding="utf-8"))
    }
    assert set(found) == {("x".join(map(str, sizes)), epsilon) for sizes, epsilon in CASES}
    for sizes, epsilon in CASES:
        *errors, saved = map(float, found["x".join(map(str, sizes)), epsilon])
        domain = {"kind": "grid", "sizes": list(sizes)}
        for table, expected, measured in zip(METHODS.values(), errors[::2], errors[1::2], strict=True):
            mechanism = build({**table, "epsilon": epsilon, "domain": domain})
            assert expected == pytest.approx(1000 * mechanism.predicted_stderr(PEOPLE)["range"], rel=1e-3)
            assert measured == pytest.approx(expected, rel=0.06)
        assert saved == pytest.approx(100 * (1 - errors[4] / min(errors[0], errors[2])), abs=0.1)
    assert float(found["16x16", 1.1][5]) <= 44.2
