"""Row 10: the figures of docs/explanation/ranges.md are those of the algebra, and its words those of its figures."""

import re
from pathlib import Path

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.ranges.hierarchical.level_plan import optimise
from hearsay.ops.experiments.ranges.draws import Counts, HaarMethod, Method, TreeMethod, cauchy
from hearsay.ops.experiments.ranges.grids import CASES, METHODS, PEOPLE

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "ranges.md"
EPSILONS = (0.2, 0.6, 1.1)
WITH_SHARES = re.compile(r"with the true shares\s+it is\s+(\d\.\d+), (\d\.\d+) and (\d\.\d+)")
_NUMBER = r" ([\d.]+) \|"
GRID = re.compile(r"^\| ([\dx]+) \|" + 7 * _NUMBER + r" ([\d.]+)% \|$", re.M)
ROW = re.compile(r"^\| 2\^(\d+) \|" + 6 * _NUMBER + r" ([\d.]+)% \|$", re.M)


def rows(bits: int) -> dict[float, list[float]]:
    found = [[float(part) for part in row] for row in ROW.findall(PAGE.read_text(encoding="utf-8"))]
    return {row[1]: row[2:] for row in found if row[0] == bits}


def uniform_error(epsilon: float, fanout: int, devices: Counts, coins_only: bool) -> float:
    """1000 x the root of the mean squared error over all ranges of 2^8 cells, by least squares on oue's levels.

    A level's estimates have the covariance of oue's bits and, unless only coins count, of who reports at the level. The
    estimate is linear in them: one column of weights for every node, summed up to prefixes.
    """
    method = TreeMethod.uniform("uniform", devices.size, epsilon, fanout)
    n, ends, share = int(devices.sum()), devices.size + 1, 1 / len(method.plan)
    inference = method.hierarchy.inference(method._variances(method.shares * n))
    nodes = [devices.size // span for span in method.hierarchy.tree.spans[1:]]
    rows = np.split(np.eye(sum(nodes)), np.cumsum(nodes)[:-1], axis=1)
    parts = len(inference.windows)

    def prefixes(raw: list[np.ndarray]) -> np.ndarray:
        return np.append(np.cumsum(inference.leaves(raw[:parts], raw[parts:]))[:-1], 0.0)

    nothing = prefixes([np.zeros(count) for count in nodes])
    weights = np.array([prefixes([level[row] for level in rows]) for row in range(sum(nodes))]) - nothing
    p, q = 0.5, 1 / (np.exp(epsilon) + 1)
    total = 0.0
    for of_level, count in zip(np.split(weights, np.cumsum(nodes)[:-1]), nodes, strict=True):
        f = np.zeros(count) if coins_only else devices.reshape(count, -1).sum(axis=1) / n
        bits = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2
        covariance = (np.diag(bits) + (1 - share) * (np.diag(f) - np.outer(f, f))) / (n * share)
        ranges = ends * of_level @ of_level.T - np.outer(of_level.sum(axis=1), of_level.sum(axis=1))
        total += float((ranges * covariance).sum()) / (ends * (ends - 1) / 2)
    return 1000 * float(np.sqrt(total))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_page_has_the_error_of_the_best_uniform_hierarchy(epsilon: float) -> None:
    devices = cauchy(256)
    best = [min(uniform_error(epsilon, fanout, devices, coins) for fanout in (2, 4, 16)) for coins in (True, False)]
    assert rows(8)[epsilon][0] == pytest.approx(best[0], abs=6e-4)
    said = WITH_SHARES.search(PAGE.read_text(encoding="utf-8"))
    assert said is not None
    assert float(said.groups()[EPSILONS.index(epsilon)]) == pytest.approx(best[1], abs=6e-4)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_page_compares_with_the_algebra_of_the_best_uniform_hierarchy(epsilon: float) -> None:
    uniform, haar, one_offset, optimised, measured, saved = rows(8)[epsilon]

    def algebra(method: Method) -> float:
        return 1000 * float(np.sqrt(method.expected("all")))

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
    assert "nearly as good" not in text


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
