"""The Chow-Liu tree: the right tree from exact tables, nearly the right one from noisy ones, and what it implies."""

from itertools import combinations

import numpy as np
import pytest

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.marginals.analyses.information import mutual_information
from hearsay.mechanisms.marginals.analyses.tree import Edge, Tree, spanning_tree
from hearsay.mechanisms.marginals.methods.inp_ht import InpHT
from tests.mechanisms.marginals.shared import Surveys, make, summed


def random_tree(attributes: int, flips: tuple[float, float], generator: np.random.Generator) -> Floats:
    """Shares of all combinations: each attribute copies an earlier one, flipped with a chance in `flips`."""
    shares = np.full(2, 0.5)
    for place in range(1, attributes):
        parent, flip = int(generator.integers(place)), generator.uniform(*flips)
        copied = np.arange(shares.size) >> (place - 1 - parent) & 1
        chances = np.where(copied[:, None] == np.arange(2), 1 - flip, flip)
        shares = (shares[:, None] * chances).reshape(-1)
    return shares


def pairs_of(shares: Floats, attributes: int) -> dict[Edge, Floats]:
    sizes = (2,) * attributes
    return {pair: summed(shares, sizes, pair).reshape(2, 2) for pair in combinations(range(attributes), 2)}


def information(pairs: dict[Edge, Floats]) -> dict[Edge, float]:
    return {pair: float(mutual_information(table)) for pair, table in pairs.items()}


def test_a_spanning_tree_has_no_circle_and_the_most_weight() -> None:
    weights = dict(zip(combinations(range(4), 2), (5.0, 4.0, 1.0, 3.0, 2.0, 6.0), strict=True))
    assert spanning_tree(4, weights) == ((2, 3), (0, 1), (0, 2))


def test_exact_tables_of_a_tree_give_it_back_with_its_joint_distribution() -> None:
    shares = random_tree(6, (0.05, 0.3), np.random.default_rng(3))
    pairs = pairs_of(shares, 6)
    tree = Tree.of((2,) * 6, spanning_tree(6, information(pairs)), pairs)
    np.testing.assert_allclose(tree.marginal(tuple(range(6))), shares, atol=1e-12)
    for chosen in ((4, 1), (5, 0, 2), (3,)):
        np.testing.assert_allclose(tree.marginal(chosen), summed(shares, (2,) * 6, chosen), atol=1e-12)


def test_a_tree_of_categories_sums_to_one() -> None:
    generator = np.random.default_rng(2)
    sizes = (3, 2, 5)
    measured = {pair: generator.normal(0.1, 0.1, (sizes[pair[0]], sizes[pair[1]])) for pair in ((0, 1), (1, 2))}
    tree = Tree.of(sizes, ((0, 1), (1, 2)), measured)
    joint = tree.marginal((2, 0, 1))
    assert joint.shape == (30,)
    assert (joint >= 0).all()
    assert joint.sum() == pytest.approx(1.0)


def share_of_information(flips: tuple[float, float], seed: int) -> float:
    """The true information of the private tree's edges over that of the best tree's."""
    generator = np.random.default_rng(seed)
    shares = random_tree(10, flips, generator)
    true = information(pairs_of(shares, 10))
    estimate = Surveys(make(InpHT, (2,) * 10, 2, 1.1, weights="uniform"), shares, seed + 1000).estimate(200_000)
    noisy = {pair: float(mutual_information(estimate.table(pair).projected.reshape(2, 2))) for pair in true}
    best, ours = spanning_tree(10, true), spanning_tree(10, noisy)
    return sum(true[edge] for edge in ours) / sum(true[edge] for edge in best)


@pytest.mark.parametrize(("flips", "trees"), [((0.1, 0.3), 3), ((0.3, 0.45), 3)])
def test_private_trees_keep_the_information(flips: tuple[float, float], trees: int) -> None:
    assert np.mean([share_of_information(flips, seed) for seed in range(trees)]) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("flips", [(0.1, 0.3), (0.3, 0.45)])
def test_fifty_private_trees_keep_the_information(flips: tuple[float, float]) -> None:
    kept = np.array([share_of_information(flips, seed) for seed in range(50)])
    assert kept.mean() >= 0.985
    assert (kept > 0.95).mean() >= 0.9
