"""Intervals that hold for all cells at once."""

import numpy as np
import pytest
from scipy.stats import norm

from hearsay.mechanisms import build
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.simultaneous import critical_value, together
from hearsay.mechanisms.exact.randomness import seeded


def test_one_cell_has_the_pointwise_interval() -> None:
    assert critical_value(1) == pytest.approx(1.959964, abs=1e-6)


@pytest.mark.parametrize("cells", [2, 10, 1000, 1 << 22])
def test_sidak_is_sharper_than_bonferroni_but_not_by_much(cells: int) -> None:
    sharp, plain = critical_value(cells), critical_value(cells, method="bonferroni")
    assert 0.99 * plain < sharp < plain


def test_known_values() -> None:
    assert critical_value(10, 0.95, "bonferroni") == pytest.approx(2.807034, abs=1e-6)
    assert critical_value(10, 0.95, "sidak") == pytest.approx(norm.isf((1 - 0.95**0.1) / 2), abs=1e-9)


@pytest.mark.parametrize("name", ["grr", "oue", "olh"])
def test_all_cells_are_covered_together_as_often_as_promised(name: str) -> None:
    mechanism = build({"mechanism": name, "epsilon": 1.5, "domain": {"kind": "categorical", "size": 12}})
    n, runs = 4_000, 600
    cells = np.arange(n) % 12
    truth = np.bincount(cells) / n
    random, held = seeded(21), 0
    for _ in range(runs):
        result = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random)))
        every, z = np.arange(12), critical_value(12)
        low, high = together(result.points(every), result.at_level(z).points(every), z)
        held += bool(((low <= truth) & (truth <= high)).all())
    # 95% or more; five standard deviations of a share of 600 are 4.4%.
    assert held / runs > 0.95 - 0.045


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95])
def test_impossible_confidences_are_refused(confidence: float) -> None:
    with pytest.raises(QueryError, match="confidence must be above 0 and below 1"):
        critical_value(3, confidence)


def test_unknown_methods_are_refused() -> None:
    with pytest.raises(QueryError, match="method must be one of sidak, bonferroni, got 'scheffe'"):
        critical_value(3, method="scheffe")
