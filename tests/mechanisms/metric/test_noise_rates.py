"""The scale optimiser: closed forms, exact feasibility for every pair, speed."""

import time

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from hearsay.mechanisms.catalogue import parse_domain as parse
from hearsay.mechanisms.guarantees.distances import Distances, distances
from hearsay.mechanisms.metric.noise_rates import (
    CONTINUOUS,
    LATTICE,
    RATE_BITS,
    Noise,
    allowed,
    optimise,
    round_down,
    spent,
    violation,
)
from hearsay.ops.experiments.metric.figures import EXPECTED_1 as FIGURE_1


def sensitive(cells: int, count: int) -> Distances:
    return distances({"kind": "sensitive"}, parse({"kind": "categorical", "size": cells, "sensitive": [*range(count)]}))


@pytest.mark.parametrize("count", FIGURE_1)
@pytest.mark.parametrize(("number", "noise"), [(0, CONTINUOUS), (1, LATTICE)], ids=["continuous", "lattice"])
def test_sensitive_values_as_in_the_paper_and_on_the_lattice(count: int, number: int, noise: Noise) -> None:
    rates = optimise(np.eye(100, dtype=np.int64), np.ones(100), sensitive(100, count), noise)
    total = noise.variance(rates).sum()
    assert total == pytest.approx(FIGURE_1[count][number], rel=0.0005)
    # Closed form: sensitive values get t, others 1 - t, and two sensitive ones at most 1 together.
    best = minimize_scalar(
        lambda t: count * noise.variance(np.array(t)) + (100 - count) * noise.variance(np.array(1 - t)),
        bounds=(0.01, 0.5 if count > 1 else 0.99),
        method="bounded",
        options={"xatol": 1e-12},
    )
    assert total == pytest.approx(best.fun, rel=1e-6)


def test_prefix_on_a_line_spends_epsilon_on_every_step() -> None:
    bound = 0.7 * distances({"kind": "l1"}, parse({"kind": "ordinal", "size": 30}))
    rows = np.tril(np.ones((30, 30), dtype=np.int64))[:-1]
    np.testing.assert_allclose(optimise(rows, np.ones(29), bound), 0.7, rtol=1e-6)


@pytest.mark.parametrize("kind", ["ldp", "l2"])
def test_every_pair_is_feasible_in_exact_arithmetic(kind: str) -> None:
    generator = np.random.default_rng(4)
    given = distances({"kind": kind}, parse({"kind": "grid", "sizes": [4, 5]}))
    rows = generator.integers(-2, 4, (25, 20))
    rates = optimise(rows, generator.random(25) + 0.1, 1.3 * given)
    numerators = round_down(rates, rows, 1.3, given)
    assert violation(numerators, rows, 1.3, given) is None
    exact = np.array(
        [[int((numerators * np.abs(rows[:, x] - rows[:, y])).sum()) for y in range(20)] for x in range(20)]
    )
    np.testing.assert_array_equal(spent(rows, numerators), exact)
    assert (exact <= 1.3 * given * 2.0**RATE_BITS * (1 + 1e-15)).all()
    tight = exact[given > 0] / (1.3 * given[given > 0] * 2.0**RATE_BITS)
    assert tight.max() > 1 - 1e-9


def test_a_rate_too_high_is_named() -> None:
    given = distances({"kind": "ldp"}, parse({"kind": "categorical", "size": 3}))
    numerators = np.array([1, 1, 1], dtype=np.int64) << RATE_BITS
    assert violation(numerators, np.eye(3, dtype=np.int64), 1.5, given) == (
        "values 0 and 1 would differ by 2, above the 1.5 allowed"
    )
    assert allowed(1.5, np.array([[0.0, np.inf]])).tolist() == [[0, np.iinfo(np.int64).max]]


def test_no_promise_between_two_values_leaves_the_rate_finite() -> None:
    given = distances({"kind": "graph", "edges": [[0, 1]]}, parse({"kind": "categorical", "size": 3}))
    rates = optimise(np.eye(3, dtype=np.int64), np.ones(3), given)
    assert np.isfinite(rates).all()
    assert rates[0] + rates[1] <= 1 + 1e-9
    assert rates[2] > 10


def test_five_hundred_values_take_seconds() -> None:
    bound = sensitive(500, 50)
    started = time.perf_counter()
    rows = np.eye(500, dtype=np.int64)
    numerators = round_down(optimise(rows, np.ones(500), bound), rows, 1.0, bound)
    assert time.perf_counter() - started < 60  # about 2 s when the machine is free
    assert violation(numerators, rows, 1.0, bound) is None
