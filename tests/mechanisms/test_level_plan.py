"""Optimised levels: the best of all binary trees, never worse than uniform ones, and spelled out in the survey."""

from typing import Any

import numpy as np
import pytest

from mechanisms import Mechanism, build
from mechanisms.errors import SpecificationError
from mechanisms.level_plan import (
    PARTS,
    WORKLOADS,
    PlannedLevel,
    best_oracle,
    best_shares,
    contrast_variance,
    expected_variance,
    optimise,
    spread,
)
from mechanisms.tree import Tree
from mechanisms.tree_variance import TreeVariance

N = 1 << 26


def hierarchical(size: int, epsilon: float = 1.1, **options: Any) -> Mechanism:
    domain = {"kind": "ordinal", "size": size}
    return build({"mechanism": "hierarchical", "epsilon": epsilon, "domain": domain, "options": options})


def rmse(mechanism: Any, workload: str) -> float:
    """Predicted root mean squared error x 1000 for N devices."""
    shares = mechanism.levels.probabilities
    variances = [
        contrast_variance(level.oracle, nodes, mechanism.epsilon) / (N * share)
        for level, nodes, share in zip(mechanism.plan, mechanism.tree.nodes[1:], shares, strict=True)
    ]
    return 1000 * np.sqrt(expected_variance(mechanism.tree, variances, spread(mechanism.tree, workload)))


@pytest.mark.parametrize(("epsilon", "expected"), [(0.2, 3.69), (0.6, 1.21), (1.1, 0.63)])
def test_error_at_256_cells_is_the_one_computed_before(epsilon: float, expected: float) -> None:
    """MECHANISMS section 3."""
    found = rmse(hierarchical(256, epsilon), "all")
    assert found == pytest.approx(expected, rel=0.015)
    uniform = min(rmse(hierarchical(256, epsilon, fanout=fanout, oracle="oue"), "all") for fanout in (2, 4, 16))
    assert found < 0.9 * uniform


@pytest.mark.parametrize("size", [16, 300, 1 << 12, 1 << 16])
@pytest.mark.parametrize("epsilon", [0.2, 0.6, 1.1, 3.0])
def test_never_worse_than_uniform_levels_on_any_workload(size: int, epsilon: float) -> None:
    best, uniform = hierarchical(size, epsilon), hierarchical(size, epsilon, fanout=4)
    for workload in WORKLOADS:
        assert rmse(best, workload) <= 1.02 * rmse(uniform, workload), workload


def test_knowing_the_workload_helps() -> None:
    for workload in ("prefix", "short"):
        told, untold = hierarchical(4096, workload=workload), hierarchical(4096)
        assert rmse(told, workload) < rmse(untold, workload)


def test_no_other_shares_do_better() -> None:
    tree = Tree.regular(64, 2)
    variance = np.array([best_oracle(nodes, 1.1)[1] for nodes in tree.nodes[1:]])
    kappa = spread(tree, "all")
    shares = best_shares(tree, variance, kappa)
    least = expected_variance(tree, tuple(variance / shares), kappa)
    generator = np.random.default_rng(1)
    for _ in range(200):
        other = np.maximum(shares + generator.normal(0, 0.02, shares.size), 1e-4)
        other /= other.sum()
        assert expected_variance(tree, tuple(variance / other), kappa) >= least * (1 - 1e-6)


def test_expected_variance_is_that_of_the_exact_formula_on_even_data() -> None:
    mechanism: Any = hierarchical(256, 0.6)
    counts = [round(N * share) for share in mechanism.levels.probabilities]
    noise = mechanism._noise(counts)
    exact = TreeVariance(mechanism._inference(noise), noise, N, np.arange(257) / 256, (None,) * len(counts))
    x, y = np.triu_indices(257, k=1)
    found = 1000 * np.sqrt(exact.ranges(x, y).mean())
    assert found == pytest.approx(rmse(mechanism, "all"), rel=0.01)


def test_the_canonical_survey_spells_the_levels_out() -> None:
    mechanism = hierarchical(256)
    options = mechanism.canonical_options()
    assert set(options) == {"consistency", "levels"}
    plan = [PlannedLevel.parse(text) for text in options["levels"]]
    assert sum(level.parts for level in plan) == PARTS
    assert np.prod([level.fanout for level in plan]) == 256
    assert hierarchical(256, **options).layout == mechanism.layout
    assert hierarchical(256, fanout=4, oracle="auto").canonical_options()["levels"][0].startswith("4 ")
    assert hierarchical(256, fanout=4).canonical_options() == {
        "fanout": 4, "oracle": "olh", "consistency": True, "levels": "uniform",
    }  # fmt: skip


def test_wide_levels_send_short_reports() -> None:
    assert all(level.oracle in ("grr", "olh", "hrr") for level in optimise(1 << 20, 0.6, "all")[9:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": "best"}, r"options\.levels must be"),
        ({"levels": []}, r"options\.levels must be"),
        ({"levels": ["4 rappor 10"]}, r"options\.levels must hold"),
        ({"levels": ["1 olh 10"]}, r"options\.levels must hold"),
        ({"levels": ["4 olh 10", "4 olh 10"]}, r"options\.levels must have fan-outs"),
        ({"levels": ["4 olh 1", "8 olh 1", "8 olh 1", "8 olh 1"]}, r"options\.levels must have fan-outs"),
        ({"levels": "optimised", "fanout": 4}, r"options\.fanout goes with"),
        ({"levels": "optimised", "consistency": False}, r"options\.consistency must be true"),
        ({"workload": "long"}, r"options\.workload must be one of"),
    ],
)
def test_bad_levels_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        hierarchical(256, **options)
