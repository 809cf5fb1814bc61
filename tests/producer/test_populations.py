"""Simulated populations follow the probabilities that they state, over any domain."""

import numpy as np
import pytest

from hearsay.mechanisms.catalogue import parse_domain as parse
from hearsay.mechanisms.domains.shapes import SHAPES, shares
from hearsay.producer.errors import DistributionError
from hearsay.producer.populations import Population

ORDINAL = parse({"kind": "ordinal", "size": 50})
GRID = parse({"kind": "grid", "sizes": [4, 7]})


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("size", [2, 3, 64, 1 << 16])
def test_shares_are_probabilities(name: str, size: int) -> None:
    found = shares(name, size)
    assert found.shape == (size,)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("domain", [ORDINAL, GRID])
def test_draws_follow_the_truth(name: str, domain: object) -> None:
    count = 200_000
    population = Population(name, domain, np.random.default_rng(1))  # type: ignore[arg-type]
    cells = domain.flatten(population.take(count))  # type: ignore[attr-defined]
    truth = population.truth.reshape(-1)
    seen = np.bincount(cells, minlength=truth.size) / count
    # Six standard deviations of a binomial share, and the discreteness of one draw: below 1e-6 over all cells.
    assert (np.abs(seen - truth) <= 6 * np.sqrt(truth * (1 - truth) / count) + 6 / count).all()


def test_the_same_seed_gives_the_same_people() -> None:
    first, second = (Population("cauchy", GRID, np.random.default_rng(7)).take(100) for _ in range(2))
    assert (first == second).all()


def test_an_unknown_distribution_is_named() -> None:
    with pytest.raises(DistributionError, match=r"must be one of cauchy, zipf.*got 'cauchi'"):
        Population("cauchi", ORDINAL, np.random.default_rng(1))
