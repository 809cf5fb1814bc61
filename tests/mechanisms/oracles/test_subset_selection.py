"""Subset selection beyond the shared suite."""

import numpy as np
import pytest
from scipy import stats

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.oracles.oracle import FrequencyOracle
from hearsay.mechanisms.oracles.subset_selection import SubsetSelection


def subsets(size: int, epsilon: float) -> SubsetSelection:
    mechanism = build({"mechanism": "ss", "epsilon": epsilon, "domain": {"kind": "categorical", "size": size}})
    assert isinstance(mechanism, SubsetSelection)
    return mechanism


@pytest.mark.parametrize(("size", "epsilon", "chosen"), [(2, 0.01, 1), (4, 3.0, 1), (6, 1.1, 1), (100, 1.0, 27)])
def test_how_many_cells_are_named(size: int, epsilon: float, chosen: int) -> None:
    assert subsets(size, epsilon).chosen == chosen


@pytest.mark.parametrize(("size", "epsilon"), [(2, 1.0), (9, 0.1), (64, 1.1), (65, 4.0), (1000, 1.1), (1000, 7.0)])
def test_every_report_names_exactly_so_many(size: int, epsilon: float) -> None:
    mechanism = subsets(size, epsilon)
    reports = mechanism.perturb(np.arange(5000) % size, seeded(2))
    assert mechanism.valid(reports).all()
    padding = np.unpackbits(reports["bits"], axis=1, bitorder="little")[:, size:]
    assert not padding.any()


def test_forged_reports_are_told_apart() -> None:
    mechanism = subsets(16, 0.5)
    bits = mechanism.perturb(np.zeros(4, dtype=int), seeded(1))["bits"]
    bits[1] = 255
    bits[2] = 0
    assert mechanism.valid({"bits": bits}).tolist() == [True, False, False, True]


def test_pairs_of_named_cells_are_as_frequent_as_uniform_subsets_have_them() -> None:
    mechanism, draws = subsets(130, 1.0), 60_000
    p, q, _ = mechanism.hit_chances()
    w = mechanism.chosen
    bits = mechanism.perturb(np.full(draws, 5), seeded(3))["bits"]
    table = np.unpackbits(bits, axis=1, count=130, bitorder="little").astype(np.float32)
    together = (table.T @ table).astype(np.float64) / draws
    expected = np.full((130, 130), (p * (w - 1) * (w - 2) + (1 - p) * w * (w - 1)) / (129 * 128))
    expected[5, :] = expected[:, 5] = p * (w - 1) / 129
    np.fill_diagonal(expected, q)
    expected[5, 5] = p
    bound = stats.norm.isf(0.5e-6 / expected.size)
    assert (np.abs(together - expected) < bound * np.sqrt(expected * (1 - expected) / draws)).all()


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_no_other_oracle_is_better_on_a_small_domain(epsilon: float) -> None:
    domain = {"kind": "categorical", "size": 12}

    def variance(name: str) -> float:
        oracle = build({"mechanism": name, "epsilon": epsilon, "domain": domain})
        assert isinstance(oracle, FrequencyOracle)
        return float(oracle.moments.variance(np.array([1 / 12]))[0])

    assert variance("ss") <= min(variance(name) for name in ("grr", "sue", "oue", "hrr")) * (1 + 1e-12)
