"""Channels from the survey: checked, inverted, refused."""

from math import exp, inf, log
from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.context_aware.channel import Channel
from hearsay.mechanisms.domains.numbers import read_matrix
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import WORD, seeded
from hearsay.mechanisms.guarantees.promises import EMatrix
from hearsay.mechanisms.oracles.finite_channel import broken_pair, losses


def channel(matrix: Any, epsilon: float = 1.0, kind: str = "categorical", **options: Any) -> Channel:
    domain = {"kind": kind, "size": len(matrix)}
    table = {"mechanism": "channel", "epsilon": epsilon, "domain": domain, "options": {"matrix": matrix, **options}}
    mechanism = build(table)
    assert isinstance(mechanism, Channel)
    return mechanism


def grr(size: int, epsilon: float) -> list[list[float]]:
    p = exp(epsilon) / (exp(epsilon) + size - 1)
    return [[p if x == y else (1 - p) / (size - 1) for y in range(size)] for x in range(size)]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.3, 8.0])
@pytest.mark.parametrize("size", [2, 3, 17])
def test_a_channel_on_the_edge_of_its_promise_is_made_to_keep_it(size: int, epsilon: float) -> None:
    mechanism = channel(grr(size, epsilon), epsilon)
    bound = mechanism.guarantee.matrix(mechanism.domain)
    assert broken_pair(mechanism.weights, bound) is None
    assert all(sum(row) == WORD for row in mechanism.weights)
    assert epsilon * (1 - 1e-6) < mechanism.spent_epsilon <= epsilon
    np.testing.assert_allclose(mechanism.channel(), grr(size, epsilon), atol=1e-6)


def test_a_channel_that_says_more_is_refused_with_the_pair() -> None:
    with pytest.raises(SpecificationError, match=r"values \(0, 1\) must be at most 1, got 1.09861"):
        channel([[0.75, 0.25], [0.25, 0.75]])
    with pytest.raises(SpecificationError, match="must be at most 1, got inf"):
        channel([[1.0, 0.0], [0.5, 0.5]])


def test_an_e_matrix_may_leave_pairs_open() -> None:
    matrix = [[1.0, 0.0], [0.5, 0.5]]
    mechanism = channel(matrix, privacy=[[0, log(2)], ["inf", 0]])
    assert mechanism.epsilon == log(2)
    assert isinstance(mechanism.guarantee, EMatrix)
    with pytest.raises(SpecificationError, match=r"values \(0, 1\)"):
        channel(matrix, privacy=[[0, 0.5], ["inf", 0]])


def test_dependent_rows_have_no_unbiased_estimate_but_a_likelihood() -> None:
    matrix = [[0.5, 0.5], [0.4, 0.6], [0.6, 0.4]]
    with pytest.raises(SpecificationError, match=r"dependent rows \(rank 2 of 3\), so no unbiased estimate exists"):
        channel(matrix)
    mechanism = channel(matrix, estimator="likelihood")
    result = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(np.zeros(100, int), seeded(1))))
    assert result.estimate.sum() == pytest.approx(1.0)
    assert np.isnan(result.stderr).all()
    assert mechanism.predicted_stderr(100) == {}


def test_likelihood_agrees_with_the_inverse_inside_the_simplex() -> None:
    cells = np.repeat([0, 1, 2], [5000, 3000, 2000])
    results = []
    for estimator in ("inverse", "likelihood"):
        mechanism = channel(grr(3, 1.0), estimator=estimator)
        results.append(mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(5)))))
    np.testing.assert_allclose(results[0].estimate, results[1].estimate, atol=1e-6)
    np.testing.assert_allclose(results[0].stderr, results[1].stderr, rtol=1e-3)


def test_outputs_that_a_value_never_gives_are_never_drawn() -> None:
    rows = [[0.0, 0.5, 0.0, 0.5], [0.5, 0.25, 0.0, 0.25]]
    mechanism = channel(rows, privacy=[[0, log(2)], ["inf", 0]])
    assert set(mechanism.perturb(np.zeros(2000, int), seeded(1))["output"]) == {1, 3}
    assert set(mechanism.perturb(np.ones(2000, int), seeded(1))["output"]) == {0, 1, 3}


def test_an_output_that_nobody_gives_counts_for_nothing() -> None:
    mechanism = channel([[0.6, 0.0, 0.4], [0.4, 0.0, 0.6]])
    state = mechanism.fold(mechanism.empty(), mechanism.perturb(np.arange(1000) % 2, seeded(3)))
    assert np.isfinite(mechanism.estimate(state).estimate).all()


@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        (None, {}, "options.matrix is missing"),
        ([[0.5, 0.5]], {}, "options.matrix must have 2 rows, one per value, got 1"),
        ([[0.5, 0.4], [0.5, 0.5]], {}, "options.matrix row 0 must sum to 1, got 0.9"),
        ([[0.5, 0.5], [1.0]], {}, "options.matrix must have rows of one length"),
        ([[1.5, -0.5], [0.5, 0.5]], {}, "options.matrix must hold numbers >= 0, got -0.5"),
        ([["x", 0.5], [0.5, 0.5]], {}, "options.matrix must hold numbers >= 0, got 'x'"),
        ("channel.csv", {}, "options.matrix must be a list of rows, got str"),
        (grr(2, 1.0), {"privacy": [[0, 1]]}, "options.privacy must be 2 x 2, got 1 x 2"),
        (grr(2, 1.0), {"privacy": [[1, 1], [1, 0]]}, "options.privacy must be 0 on its diagonal"),
        (grr(2, 1.0), {"privacy": [[0, "inf"], ["inf", 0]]}, "options.privacy must have a finite entry above 0"),
        (grr(2, 1.0), {"privacy": [[0, -1], [1, 0]]}, 'options.privacy must hold numbers >= 0 or "inf", got -1'),
    ],
)
def test_what_is_refused(matrix: Any, options: dict[str, Any], message: str) -> None:
    table = {"mechanism": "channel", "epsilon": 1.0, "domain": {"kind": "binary"}}
    with pytest.raises(SpecificationError, match=message):
        build({**table, "options": {**options, **({"matrix": matrix} if matrix else {})}})


def test_a_matrix_may_come_as_text() -> None:
    assert read_matrix("0.5, 0.5\n\n0.25,0.75\n") == [[0.5, 0.5], [0.25, 0.75]]
    assert read_matrix("0,inf\nx,0") == [[0.0, "inf"], ["x", 0.0]]


def test_losses_are_infinite_where_a_zero_gives_a_value_away() -> None:
    found = losses(np.array([[0.5, 0.5], [0.0, 1.0]]))
    assert found[0, 1] == inf
    assert found[1, 0] == pytest.approx(log(2))
