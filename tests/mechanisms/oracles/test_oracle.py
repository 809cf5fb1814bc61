"""What an oracle says about its score is what its channel does: unbiased, with exactly the stated second moments."""

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.layout import length_of, select
from hearsay.mechanisms.oracles.linear_hashing import LinearHashing
from hearsay.mechanisms.oracles.oracle import FrequencyOracle
from tests.mechanisms.shared import CASES, Case

ORACLES = [case for case in CASES if isinstance(case.build(), FrequencyOracle)]


def scores(oracle: FrequencyOracle) -> np.ndarray:
    """psi: what each possible report, alone, says about every cell."""
    outcomes = oracle.layout.enumerate()
    kept = oracle.channel().sum(axis=0) > 0
    single = [
        oracle.estimate(oracle.fold(oracle.empty(), select(outcomes, slice(number, number + 1)))).estimate.reshape(-1)
        if kept[number]
        else np.zeros(oracle.domain.size)
        for number in range(length_of(outcomes))
    ]
    return np.array(single)


@pytest.mark.parametrize("case", ORACLES, ids=lambda case: case.name)
def test_a_single_report_is_unbiased_and_has_the_stated_second_moments(case: Case) -> None:
    oracle = case.build()
    assert isinstance(oracle, FrequencyOracle)
    channel, psi = oracle.channel(), scores(oracle)
    np.testing.assert_allclose(channel @ psi, np.eye(oracle.domain.size), atol=1e-9)
    if oracle.ID == "hr" or (isinstance(oracle, LinearHashing) and oracle.t > 1):
        # Their moments treat pairs of characters as spread evenly, which they are only on the average.
        chosen = np.eye(oracle.domain.size)[:3] if oracle.ID == "hr" else np.empty((0, 0))
    else:
        chosen = np.random.default_rng(3).normal(size=(3, oracle.domain.size))
    for weights in chosen:
        a, b, c, d = oracle.moments
        second = channel @ (psi @ weights) ** 2
        stated = a * (weights**2).sum() + b * weights**2 + c * weights.sum() ** 2 + d * weights * weights.sum()
        np.testing.assert_allclose(second, stated, rtol=1e-9)


def test_weighted_variance_of_a_single_cell_is_its_own() -> None:
    oracle = build({"mechanism": "ss", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 9}})
    assert isinstance(oracle, FrequencyOracle)
    f = np.random.default_rng(1).dirichlet(np.ones(9))
    for cell in range(9):
        unit = np.eye(9)[cell]
        assert oracle.moments.weighted(unit, f) == pytest.approx(oracle.moments.variance(f)[cell])


@pytest.mark.parametrize("name", ["grr", "ss"])
def test_the_sum_over_all_cells_of_an_oracle_that_sums_to_one_has_no_variance(name: str) -> None:
    oracle = build({"mechanism": name, "epsilon": 1.0, "domain": {"kind": "categorical", "size": 9}})
    assert isinstance(oracle, FrequencyOracle)
    assert oracle.moments.weighted(np.ones(9), np.full(9, 1 / 9)) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Kulkarni 2.4, corrected as in docs/explanation/references.md: at f = 0, with e = exp(eps).
        ("grr", lambda e, size: (e + size - 2) / (e - 1) ** 2),
        ("oue", lambda e, size: 4 * e / (e - 1) ** 2),
        ("sue", lambda e, size: np.sqrt(e) / (np.sqrt(e) - 1) ** 2),
    ],
)
def test_variance_at_zero_is_the_published_one(name: str, expected: object) -> None:
    oracle = build({"mechanism": name, "epsilon": 1.3, "domain": {"kind": "categorical", "size": 20}})
    assert isinstance(oracle, FrequencyOracle)
    assert callable(expected)
    assert oracle.moments.variance(np.zeros(1))[0] == pytest.approx(expected(np.exp(1.3), 20), rel=1e-12)
