"""Constrained inference against a dense solver, and the exact variances against their definition."""

import numpy as np
import pytest

from mechanisms.level_noise import LevelNoise
from mechanisms.tree import UNKNOWN, Inference, Tree
from mechanisms.tree_variance import TreeVariance
from mechanisms.xor_pairs import XorPairs

SHAPES = [
    (8, (2, 2, 2)),
    (16, (4, 4)),
    (5, (2, 2, 2)),
    (11, (4, 4)),
    (23, (3, 3, 3)),
    (17, (2,) * 5),
    (13, (4, 2, 2)),
    (9, (3, 3)),
]


def node_matrix(tree: Tree, level: int) -> np.ndarray:
    """1 where a node of the level holds a cell."""
    return (tree.node(level, np.arange(tree.size))[None, :] == np.arange(tree.nodes[level])[:, None]).astype(float)


def dense_leaves(tree: Tree, variances: tuple[float, ...], raw: list[np.ndarray]) -> np.ndarray:
    """Weighted least squares over all cells, subject to their sum being exactly 1."""
    design = np.concatenate([node_matrix(tree, level) / np.sqrt(v) for level, v in enumerate(variances, start=1)])
    target = np.concatenate([shares / np.sqrt(v) for shares, v in zip(raw, variances, strict=True)])
    size = tree.size
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = design.T @ design
    system[:size, size] = system[size, :size] = 1.0
    return np.linalg.solve(system, np.append(design.T @ target, 1.0))[:size]


def random_case(size: int, fanouts: tuple[int, ...], seed: int) -> tuple[Tree, tuple[float, ...], list[np.ndarray]]:
    generator = np.random.default_rng(seed)
    tree = Tree(size, fanouts)
    variances = tuple(generator.uniform(0.05, 3.0, tree.height))
    return tree, variances, [generator.normal(size=nodes) for nodes in tree.nodes[1:]]


@pytest.mark.parametrize(("size", "fanouts"), SHAPES)
def test_inference_equals_dense_weighted_least_squares(size: int, fanouts: tuple[int, ...]) -> None:
    tree, variances, raw = random_case(size, fanouts, seed=1)
    expected = dense_leaves(tree, variances, raw)
    found = Inference(tree, variances).leaves([shares.copy() for shares in raw])
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)


def test_shapes() -> None:
    tree = Tree.regular(1000, 4)
    assert tree.height == 5
    assert tree.spans == (1024, 256, 64, 16, 4, 1)
    assert tree.nodes == (1, 4, 16, 63, 250, 1000)
    assert tree.last_ragged == 3
    assert tree.edge_children == (4, 4, 3, 2, 4)


@pytest.mark.parametrize("unknown", [(0,), (2,), (1, 2), (0, 1, 2)])
def test_levels_without_reports_have_no_say(unknown: tuple[int, ...]) -> None:
    tree, variances, raw = random_case(11, (2, 3, 2), seed=2)
    variances = tuple(UNKNOWN if level in unknown else v for level, v in enumerate(variances))
    first = Inference(tree, variances).leaves([shares.copy() for shares in raw])
    assert np.isfinite(first).all()
    changed = [shares + (7.0 if level in unknown else 0.0) for level, shares in enumerate(raw)]
    second = Inference(tree, variances).leaves(changed)
    known = [level for level in range(1, 4) if level - 1 not in unknown]
    for level in known:
        np.testing.assert_allclose(node_matrix(tree, level) @ first, node_matrix(tree, level) @ second, atol=1e-9)


def dense_variance(
    tree: Tree, inference: Inference, noise: tuple[LevelNoise, ...], reports: int, f: np.ndarray, query: np.ndarray
) -> float:
    """The formula of `level_noise` with the weights that the inference really gives every raw estimate."""
    constant = query @ inference.leaves([np.zeros(nodes) for nodes in tree.nodes[1:]])
    total = 0.0
    for level in range(1, tree.height + 1):
        weights = []
        for node in range(tree.nodes[level]):
            raw = [np.zeros(nodes) for nodes in tree.nodes[1:]]
            raw[level - 1][node] = 1.0
            weights.append(query @ inference.leaves(raw) - constant)
        w, shares, own = np.array(weights), node_matrix(tree, level) @ f, noise[level - 1]
        numbers = np.arange(w.size)
        padded = np.zeros(1 << int(w.size - 1).bit_length())
        padded[: w.size] = shares
        together = np.array([(padded * padded[np.arange(padded.size) ^ x]).sum() for x in range(padded.size)])
        pairs = w @ together[numbers[:, None] ^ numbers[None, :]] @ w
        m, n = (w * shares).sum(), w.sum()
        moment = own.a * (w**2).sum() + own.b * (w**2 * shares).sum() + own.c * n**2 + own.d * n * m
        total += own.scale * (moment - own.mean * m**2 - own.pairs * pairs)
    inside = query @ f
    return total - inside * (1 - inside) / reports


def variance_case(tree: Tree, seed: int, pairs: float) -> tuple[TreeVariance, np.ndarray]:
    generator = np.random.default_rng(seed)
    noise = tuple(LevelNoise(*generator.uniform(0.1, 2.0, 6), pairs=pairs) for _ in tree.fanouts)
    f = generator.dirichlet(np.full(tree.size, 0.5))
    inference = Inference(tree, tuple(generator.uniform(0.05, 3.0, tree.height)))
    together = tuple(
        XorPairs.of(node_matrix(tree, level) @ f, 0.0, tree.fanouts[level - 1]) if pairs else None
        for level in range(1, tree.height + 1)
    )
    return TreeVariance(inference, noise, 50, np.append(0.0, np.cumsum(f)), together), f


def check_all_ranges(variance: TreeVariance, f: np.ndarray) -> None:
    tree = variance.inference.tree
    x, y = np.triu_indices(tree.size + 1, k=1)
    found = variance.ranges(x, y)
    for low, high, value in zip(x, y, found, strict=True):
        query = np.zeros(tree.size)
        query[low:high] = 1.0
        expected = dense_variance(tree, variance.inference, variance.noise, variance.reports, f, query)
        assert value == pytest.approx(expected, abs=1e-9), (low, high)
    single = {int(low): value for low, high, value in zip(x, y, found, strict=True) if high == low + 1}
    np.testing.assert_allclose(variance.cells(), [single[cell] for cell in range(tree.size)], atol=1e-9)


@pytest.mark.parametrize(("size", "fanouts"), SHAPES)
def test_range_and_cell_variances_are_those_of_the_real_weights(size: int, fanouts: tuple[int, ...]) -> None:
    check_all_ranges(*variance_case(Tree(size, fanouts), seed=3, pairs=0.0))


@pytest.mark.parametrize(("size", "fanouts"), [(8, (2, 2, 2)), (16, (4, 4)), (8, (4, 2)), (8, (8,))])
def test_pairs_of_characters_are_exact_where_fanouts_are_powers_of_two(size: int, fanouts: tuple[int, ...]) -> None:
    check_all_ranges(*variance_case(Tree(size, fanouts), seed=4, pairs=1.7))
