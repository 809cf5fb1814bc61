"""Constrained inference against a dense solver, and the exact variances against their definition."""

from functools import lru_cache

import numpy as np
import pytest

from hearsay.mechanisms.ranges.hierarchical.crown_variance import CrownVariance
from hearsay.mechanisms.ranges.hierarchical.hierarchy import Hierarchy
from hearsay.mechanisms.ranges.hierarchical.planned_level import PlannedLevel
from hearsay.mechanisms.ranges.hierarchical.tree import UNKNOWN, Tree
from hearsay.mechanisms.ranges.hierarchical.tree_variance import TreeVariance
from hearsay.mechanisms.ranges.level_noise import LevelNoise
from hearsay.mechanisms.ranges.xor_pairs import XorPairs, spread_over_pairs

# Cells, fan-outs, offsets by level, and the most units that the crown may have.
SHAPES = [
    (8, (2, 2, 2), (1, 1, 1), 2),
    (16, (4, 4), (1, 1), 256),
    (5, (2, 2, 2), (1, 1, 1), 4),
    (11, (4, 4), (1, 1), 4),
    (23, (3, 3, 3), (1, 1, 1), 4),
    (17, (2,) * 5, (1,) * 5, 2),
    (13, (4, 2, 2), (1, 1, 1), 4),
    (9, (3, 3), (1, 1), 9),
    (16, (2, 2, 2, 2), (4, 2, 1, 1), 8),
    (13, (2, 2, 2, 2), (4, 4, 2, 1), 16),
    (27, (2, 2, 2, 2, 2), (2, 2, 1, 1, 1), 8),
    (29, (2, 2, 4, 2), (4, 4, 1, 1), 16),
    (40, (4, 3, 4), (3, 1, 1), 12),
]
Shape = tuple[int, tuple[int, ...], tuple[int, ...], int]


def hierarchy_of(shape: Shape) -> Hierarchy:
    size, fanouts, offsets, units = shape
    levels = zip(fanouts, offsets, strict=True)
    made = Hierarchy(size, tuple(PlannedLevel(fanout, "oue", 1, offset) for fanout, offset in levels), units)
    made.check()
    return made


def node_matrix(tree: Tree, level: int) -> np.ndarray:
    """1 where a node of the level holds a cell."""
    return (tree.node(level, np.arange(tree.size))[None, :] == np.arange(tree.nodes[level])[:, None]).astype(float)


def place_matrices(hierarchy: Hierarchy) -> list[np.ndarray]:
    """1 where a node of a place holds a cell."""
    cells = np.arange(hierarchy.size)
    return [
        (hierarchy.node(shifted_level, cells)[None, :] == np.arange(hierarchy.nodes(shifted_level))[:, None]).astype(
            float
        )
        for shifted_level in hierarchy.shifted_levels
    ]


def dense_leaves(hierarchy: Hierarchy, variances: list[float], raw: list[np.ndarray]) -> np.ndarray:
    """Weighted least squares over all cells, subject to their sum being exactly 1."""
    matrices = place_matrices(hierarchy)
    design = np.concatenate([matrix / np.sqrt(v) for matrix, v in zip(matrices, variances, strict=True)])
    target = np.concatenate([shares / np.sqrt(v) for shares, v in zip(raw, variances, strict=True)])
    size = hierarchy.size
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = design.T @ design
    system[:size, size] = system[size, :size] = 1.0
    return np.linalg.solve(system, np.append(design.T @ target, 1.0))[:size]


def leaves(hierarchy: Hierarchy, variances: list[float], raw: list[np.ndarray]) -> np.ndarray:
    inference = hierarchy.inference(variances)
    in_crown = len(inference.windows)
    return inference.leaves(raw[:in_crown], [shares.copy() for shares in raw[in_crown:]])


def random_case(hierarchy: Hierarchy, seed: int) -> tuple[list[float], list[np.ndarray]]:
    generator = np.random.default_rng(seed)
    variances = list(generator.uniform(0.05, 3.0, len(hierarchy.shifted_levels)))
    return variances, [
        generator.normal(size=hierarchy.nodes(shifted_level)) for shifted_level in hierarchy.shifted_levels
    ]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_inference_equals_dense_weighted_least_squares(shape: Shape) -> None:
    hierarchy = hierarchy_of(shape)
    variances, raw = random_case(hierarchy, seed=1)
    found = leaves(hierarchy, variances, raw)
    np.testing.assert_allclose(found, dense_leaves(hierarchy, variances, raw), atol=1e-9)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)


def test_shapes() -> None:
    tree = Tree.regular(1000, 4)
    assert tree.height == 5
    assert tree.spans == (1024, 256, 64, 16, 4, 1)
    assert tree.nodes == (1, 4, 16, 63, 250, 1000)
    assert tree.last_ragged == 3
    assert tree.edge_children == (4, 4, 3, 2, 4)


@pytest.mark.parametrize("units", [2, 6, 256])
@pytest.mark.parametrize("unknown", [(0,), (2,), (1, 2), (0, 1, 2)])
def test_levels_without_reports_have_no_say(unknown: tuple[int, ...], units: int) -> None:
    hierarchy = hierarchy_of((11, (2, 3, 2), (1, 1, 1), units))
    tree = hierarchy.tree
    variances, raw = random_case(hierarchy, seed=2)
    variances = [UNKNOWN if level in unknown else v for level, v in enumerate(variances)]
    first = leaves(hierarchy, variances, raw)
    assert np.isfinite(first).all()
    changed = [shares + (7.0 if level in unknown else 0.0) for level, shares in enumerate(raw)]
    second = leaves(hierarchy, variances, changed)
    known = [level for level in range(1, 4) if level - 1 not in unknown]
    for level in known:
        np.testing.assert_allclose(node_matrix(tree, level) @ first, node_matrix(tree, level) @ second, atol=1e-9)


@lru_cache(maxsize=2)
def influences(hierarchy: Hierarchy, variances: tuple[float, ...]) -> list[np.ndarray]:
    """What 1 more in every raw estimate, by place, adds to every cell: as the inference really does it."""
    nothing = [np.zeros(hierarchy.nodes(shifted_level)) for shifted_level in hierarchy.shifted_levels]
    constant = leaves(hierarchy, list(variances), nothing)
    by_place = []
    for index, none in enumerate(nothing):
        added = np.empty((none.size, hierarchy.size))
        for node in range(none.size):
            raw = [shares.copy() for shares in nothing]
            raw[index][node] = 1.0
            added[node] = leaves(hierarchy, list(variances), raw) - constant
        by_place.append(added)
    return by_place


def dense_weights(hierarchy: Hierarchy, variances: list[float], query: np.ndarray) -> list[np.ndarray]:
    """The weights that the inference really gives every raw estimate, by place."""
    return [added @ query for added in influences(hierarchy, tuple(variances))]


def dense_variance(
    hierarchy: Hierarchy,
    variances: list[float],
    noise: tuple[LevelNoise, ...],
    reports: int,
    f: np.ndarray,
    query: np.ndarray,
) -> float:
    """The formula of `level_noise` with those weights."""
    total = 0.0
    of_shifted_levels = zip(dense_weights(hierarchy, variances, query), place_matrices(hierarchy), noise, strict=True)
    for w, matrix, own in of_shifted_levels:
        shares = matrix @ f
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


def check_variances(hierarchy: Hierarchy, seed: int, pairs: float) -> None:
    """Every range where there are few, else a sample; and every cell."""
    generator = np.random.default_rng(seed)
    noise = tuple(LevelNoise(*generator.uniform(0.1, 2.0, 6), pairs=pairs) for _ in hierarchy.shifted_levels)
    f = generator.dirichlet(np.full(hierarchy.size, 0.5))
    variances = list(generator.uniform(0.05, 3.0, len(hierarchy.shifted_levels)))
    inference = hierarchy.inference(variances)
    in_crown, tree = len(inference.windows), inference.tree
    matrices = place_matrices(hierarchy)
    spectra = tuple(spread_over_pairs(matrix @ f, 0.0) if pairs else None for matrix in matrices[:in_crown])
    units = node_matrix(tree, 1) @ f
    of_units = spread_over_pairs(units, 0.0) if pairs else None
    top = CrownVariance(inference.crown, noise[:in_crown], units, spectra, of_units)
    together = tuple(
        XorPairs.of(node_matrix(tree, level) @ f, 0.0, tree.fanouts[level - 1]) if pairs else None
        for level in range(2, tree.height + 1)
    )
    variance = TreeVariance(inference, top, noise[in_crown:], 50, np.append(0.0, np.cumsum(f)), together)
    x, y = np.triu_indices(hierarchy.size + 1, k=1)
    found = variance.ranges(x, y)
    checked = np.flatnonzero(generator.random(x.size) < 150 / x.size)
    for low, high, value in zip(x[checked], y[checked], found[checked], strict=True):
        query = np.zeros(hierarchy.size)
        query[low:high] = 1.0
        expected = dense_variance(hierarchy, variances, noise, variance.reports, f, query)
        assert value == pytest.approx(expected, abs=1e-9), (low, high)
    single = {int(low): value for low, high, value in zip(x, y, found, strict=True) if high == low + 1}
    np.testing.assert_allclose(variance.cells(), [single[cell] for cell in range(hierarchy.size)], atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_range_and_cell_variances_are_those_of_the_real_weights(shape: Shape) -> None:
    check_variances(hierarchy_of(shape), seed=3, pairs=0.0)


@pytest.mark.parametrize(
    "shape",
    [
        (8, (2, 2, 2), (1, 1, 1), 2),
        (16, (4, 4), (1, 1), 4),
        (8, (4, 2), (1, 1), 4),
        (8, (8,), (1,), 8),
        (16, (2, 2, 2, 2), (2, 1, 1, 1), 4),
        (16, (2, 2, 2, 2), (4, 4, 2, 1), 256),
        (13, (2, 2, 2, 2), (4, 4, 2, 1), 256),
    ],
    ids=str,
)
def test_pairs_of_characters_are_exact_where_fanouts_are_powers_of_two(shape: Shape) -> None:
    check_variances(hierarchy_of(shape), seed=4, pairs=1.7)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_slopes_bound_what_one_more_at_any_cell_adds(shape: Shape) -> None:
    """And closely: where reports are few, intervals are as wide as the slope says."""
    hierarchy, generator = hierarchy_of(shape), np.random.default_rng(5)
    noise = tuple(LevelNoise(*generator.uniform(0.1, 2.0, 6), pairs=0.0) for _ in hierarchy.shifted_levels)
    variances = list(generator.uniform(0.05, 3.0, len(hierarchy.shifted_levels)))
    inference = hierarchy.inference(variances)
    in_crown = len(inference.windows)
    even = np.full(inference.tree.nodes[1], 1 / inference.tree.nodes[1])
    top = CrownVariance(inference.crown, noise[:in_crown], even, (None,) * in_crown, None)
    levels = noise[in_crown:]
    variance = TreeVariance(
        inference, top, levels, 50, np.linspace(0.0, 1.0, hierarchy.size + 1), (None,) * len(levels)
    )
    x, y = np.triu_indices(hierarchy.size + 1, k=1)
    checked = (generator.random(x.size) < 100 / x.size) & (y - x < hierarchy.size)
    x, y = x[checked], y[checked]
    slopes, ratios = variance.sensitivity(x, y), []
    cells = np.arange(hierarchy.size)
    for low, high, slope in zip(x, y, slopes, strict=True):
        query = ((cells >= low) & (cells < high)).astype(float)
        of_shifted_levels = zip(
            dense_weights(hierarchy, variances, query), hierarchy.shifted_levels, noise, strict=True
        )
        added = sum(
            own.slope * w[hierarchy.node(shifted_level, cells)] ** 2 for w, shifted_level, own in of_shifted_levels
        )
        ratios.append(slope / np.max(added))
    assert min(ratios) > 1 - 1e-9
    assert max(ratios) < 2.5
