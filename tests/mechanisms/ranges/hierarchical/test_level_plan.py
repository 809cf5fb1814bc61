"""Optimised levels: far below uniform ones, the best shares for a workload, and spelled out in the survey."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.ranges.hierarchical.crown_squares import CrownSquares
from hearsay.mechanisms.ranges.hierarchical.hierarchy import Hierarchy
from hearsay.mechanisms.ranges.hierarchical.level_plan import (
    WORKLOADS,
    best_oracle,
    best_shares,
    contrast_variance,
    expected_variance,
    optimise,
    spread,
)
from hearsay.mechanisms.ranges.hierarchical.planned_level import PARTS, PlannedLevel

N = 1 << 26


def hierarchical(size: int, epsilon: float = 1.1, **options: Any) -> Mechanism:
    domain = {"kind": "ordinal", "size": size}
    return build({"mechanism": "hierarchical", "epsilon": epsilon, "domain": domain, "options": options})


def rmse(mechanism: Any, workload: str) -> float:
    """Predicted root mean squared error x 1000 for N devices."""
    hierarchy = mechanism.hierarchy
    variances = [
        contrast_variance(hierarchy.oracle(shifted_level), hierarchy.nodes(shifted_level), mechanism.epsilon)
        / (N * share)
        for shifted_level, share in zip(hierarchy.shifted_levels, mechanism.levels.probabilities, strict=True)
    ]
    found = expected_variance(hierarchy.inference(variances), spread(hierarchy.below, workload))
    return float(1000 * np.sqrt(found))


# Without offsets it is 3.69, 1.21 and 0.63 at 256 cells; the optimum of any strategy, a spectrum of
# 1/frequency around the domain, is 3.13, 1.03 and 0.54.
@pytest.mark.parametrize(
    ("size", "epsilon", "expected", "saved"),
    [
        (1 << 8, 0.2, 3.18, 0.23),
        (1 << 8, 0.6, 1.075, 0.22),
        (1 << 8, 1.1, 0.55, 0.23),
        (1 << 16, 0.2, 7.14, 0.12),
        (1 << 16, 0.6, 2.41, 0.11),
        (1 << 16, 1.1, 1.23, 0.12),
    ],
)
def test_error_is_far_below_that_of_uniform_levels(size: int, epsilon: float, expected: float, saved: float) -> None:
    found = rmse(hierarchical(size, epsilon), "all")
    assert found == pytest.approx(expected, rel=0.01)
    # oue's bits would be too many to send on the finest of 2^16 nodes; olh has its variance.
    oracle = "oue" if size == 1 << 8 else "olh"
    uniform = min(rmse(hierarchical(size, epsilon, fanout=fanout, oracle=oracle), "all") for fanout in (2, 4, 16))
    assert found < (1 - saved) * uniform


@pytest.mark.parametrize(("epsilon", "expected"), [(0.2, 3.69), (0.6, 1.24), (1.1, 0.63)])
def test_levels_without_offsets_have_the_error_computed_before(epsilon: float, expected: float) -> None:
    """1.21 at 0.6 would be had with ss, whose reports are too long for what they save."""
    plan = [str(level) for level in optimise(256, epsilon, "all", offsets=1)]
    assert rmse(hierarchical(256, epsilon, levels=plan), "all") == pytest.approx(expected, rel=0.015)


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
    levels = [PlannedLevel(2, "olh", 1, offsets) for offsets in (4, 2, 2, 1, 1, 1)]
    hierarchy = Hierarchy(64, tuple(levels), crown_units=16)
    variance = np.array([best_oracle(nodes, 1.1)[1] for nodes in hierarchy.tree.nodes[1:]])
    workload = spread(hierarchy.below, "all")

    def error(shares: np.ndarray) -> float:
        of_shifted_levels = [
            variance[shifted_level.level - 1] * levels[shifted_level.level - 1].offsets
            for shifted_level in hierarchy.shifted_levels
        ]
        chances = [shares[shifted_level.level - 1] for shifted_level in hierarchy.shifted_levels]
        return expected_variance(hierarchy.inference(np.array(of_shifted_levels) / chances), workload)

    shares = best_shares(hierarchy, variance, workload, np.full(6, 1 / 6), rounds=400)
    least = error(shares)
    generator = np.random.default_rng(1)
    for _ in range(200):
        other = np.maximum(shares + generator.normal(0, 0.02, shares.size), 1e-4)
        other /= other.sum()
        assert error(other) >= least * (1 - 1e-6)


@pytest.mark.parametrize("size", [256, 1000])
def test_expected_variance_is_that_of_the_exact_formula_on_even_data(size: int) -> None:
    mechanism: Any = hierarchical(size, 0.6)
    found = 1000 * mechanism.predicted_stderr(N)["range"]
    assert found == pytest.approx(rmse(mechanism, "all"), rel=0.015)


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
    assert all(level.oracle in ("grr", "olh", "hrr") for level in optimise(1 << 20, 0.6, "all"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": "best"}, r"options\.levels must be"),
        ({"levels": []}, r"options\.levels must be"),
        ({"levels": ["4 rappor 10"]}, r"options\.levels must hold"),
        ({"levels": ["1 olh 10"]}, r"options\.levels must hold"),
        ({"levels": ["4 olh 10", "4 olh 10"]}, r"options\.levels must have fan-outs"),
        ({"levels": ["4 olh 1", "8 olh 1", "8 olh 1", "8 olh 1"]}, r"options\.levels must have fan-outs"),
        ({"levels": ["4 olh 1 at 3", "64 olh 1"]}, r"options\.levels must have offsets"),
        ({"levels": ["64 olh 1", "4 olh 1 at 2"]}, r"options\.levels must have offsets"),
        ({"levels": ["4 olh 1 at 2", "64 olh 1"], "consistency": False}, r"options\.consistency must be true"),
        ({"levels": ["4 olh 1 on 2", "64 olh 1"]}, r"options\.levels must hold"),
        ({"levels": ["4 olh 1 2", "64 olh 1"]}, r"options\.levels must hold"),
        ({"levels": ["9" * 5000 + " olh 1"]}, r"options\.levels must hold"),
        ({"levels": ["\u0664 olh 1", "64 olh 1"]}, r"options\.levels must hold"),
        ({"workload": "short", "fanout": 4}, r"options\.workload goes with"),
        ({"workload": "short", "levels": ["256 olh 1"]}, r"options\.workload goes with"),
        ({"levels": "optimised", "fanout": 4}, r"options\.fanout goes with"),
        ({"levels": "optimised", "consistency": False}, r"options\.consistency must be true"),
        ({"workload": "longest"}, r"options\.workload must be one of"),
    ],
)
def test_bad_levels_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        hierarchical(256, **options)


def test_deep_levels_of_large_epsilons_say_how_many_buckets_they_have() -> None:
    """olh has 256 of them at most, where 2,982 are best: ranges had 1.41 times the variance."""
    mechanism = hierarchical(1 << 16, 8.0)
    levels = mechanism.canonical_options()["levels"]
    assert PlannedLevel.parse(levels[-1]).oracle == "olh-11"
    assert hierarchical(1 << 16, 8.0, levels=levels).canonical_options()["levels"] == levels
    plain = hierarchical(1 << 16, 8.0, levels=[level.replace("olh-11", "olh") for level in levels])
    assert mechanism.predicted_stderr(10**6)["range"] < 0.85 * plain.predicted_stderr(10**6)["range"]
    assert all("olh-" not in level for level in hierarchical(256, 5.0).canonical_options()["levels"])


def test_levels_that_count_values_are_unbiased_with_the_predicted_error() -> None:
    mechanism = hierarchical(2_048, 8.0, levels=["16 grr 2000", "128 olh-10 2096"])
    assert {"2/named", "2/n"} < set(mechanism.arrays)
    random, reports = seeded(7), 6_000
    cells = np.random.default_rng(3).integers(0, 2_048, reports)
    low = np.random.default_rng(4).integers(0, 1_024, (40, 1))
    high = low + np.random.default_rng(5).integers(0, 1_024, (40, 1))
    truth = np.array([((cells >= first) & (cells <= last)).mean() for (first,), (last,) in zip(low, high, strict=True)])
    states = (mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random)) for _ in range(40))
    errors = np.array([mechanism.estimate(state).ranges(low, high).value - truth for state in states])  # type: ignore[attr-defined]
    assert np.abs(errors.mean(axis=0) / errors.std(axis=0, ddof=1)).max() < 7 / np.sqrt(40)
    assert np.sqrt((errors**2).mean()) == pytest.approx(mechanism.predicted_stderr(reports)["range"], rel=0.25)


@pytest.mark.parametrize(("size", "workload"), [(16, "all"), (256, "short"), (1024, "all"), (1024, "prefix")])
def test_small_matrices_have_the_traces_of_the_whole_ones(
    size: int, workload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hierarchy = Hierarchy(size, optimise(size, 1.0, workload))
    crown = CrownSquares(hierarchy, spread(hierarchy.below, workload).units)
    precisions = np.linspace(0.3, 2.0, len(hierarchy.plan))
    below = np.full(hierarchy.units, 0.7)
    found, total = crown.traces(precisions, below)
    assert hierarchy.period is not None
    assert hierarchy.period < hierarchy.units
    monkeypatch.setattr(Hierarchy, "period", None)
    expected, expected_total = CrownSquares(hierarchy, crown.omega).traces(precisions, below)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert total == pytest.approx(expected_total, rel=1e-9)


def test_windows_that_the_domains_end_breaks_have_no_period() -> None:
    assert Hierarchy(1000, optimise(1024, 1.0, "all")).period is None


def test_offsets_that_do_not_divide_a_level_have_no_period() -> None:
    """Three offsets of eight units are 2, 3 and 3 units apart."""
    levels = (PlannedLevel(2, "grr", PARTS // 2, 3), PlannedLevel(8, "grr", PARTS // 2))
    assert Hierarchy(16, levels).period is None
    assert sum(level.parts for level in optimise(64, 1.0, "all", offsets=5)) == PARTS
