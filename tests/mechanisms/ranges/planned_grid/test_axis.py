"""The binary tree over an axis: cells as nodes, ranges cut into parts, and what each level adds."""

import numpy as np
import pytest

from hearsay.mechanisms.ranges.planned_grid.axis import BinaryAxis

SIZES = [2, 3, 4, 5, 7, 8, 9, 16, 17, 33]


def every_range(axis: BinaryAxis) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.triu_indices(axis.size + 1, k=1)
    return axis.edges[x], axis.edges[y]


def averages(axis: BinaryAxis, level: int) -> np.ndarray:
    span = axis.leaves >> level
    return np.kron(np.eye(1 << level), np.full((span, span), 1 / span))


@pytest.mark.parametrize("size", SIZES)
def test_every_cell_is_a_node_and_all_leaves_have_an_owner(size: int) -> None:
    axis = BinaryAxis(size)
    widths = np.diff(axis.edges)
    assert set(widths.tolist()) <= {1, 2}
    assert widths.sum() == axis.leaves
    assert (axis.edges[:-1][widths == 2] % 2 == 0).all()
    assert axis.owner.tolist() == np.repeat(np.arange(size), widths).tolist()
    assert (1 << axis.cell_levels) * widths == pytest.approx(axis.leaves)
    assert (axis.leaf(np.arange(size)) == axis.edges[:-1]).all()
    for leaf in range(axis.leaves + 1):
        assert axis.cells_before[leaf] == (axis.edges[:-1] < leaf).sum()


@pytest.mark.parametrize("size", SIZES)
def test_nodes_are_nested_and_share_the_cells_out_evenly(size: int) -> None:
    axis, cells = BinaryAxis(size), np.arange(size)
    for level in range(axis.height):
        node = axis.node(level, cells)
        assert (node == axis.node(level + 1, cells) >> 1).all()
        held = np.bincount(node, minlength=1 << level)
        assert held.max() - held.min() <= 1


@pytest.mark.parametrize("size", SIZES)
def test_parts_cover_the_axis_once_and_are_constant_at_every_level(size: int) -> None:
    axis = BinaryAxis(size)
    x, y = every_range(axis)
    parts = axis.parts(x, y)
    assert parts.shape == (x.size, axis.slots, 2)
    details = axis.details(x, y, parts[:, :, 0])
    matrices = [averages(axis, level) for level in range(axis.height + 1)]
    inside = (np.arange(axis.leaves) >= x[:, None]) & (np.arange(axis.leaves) < y[:, None])
    steps = np.diff(np.stack([inside @ matrix for matrix in matrices], axis=2), axis=2, prepend=0.0)
    leaves = np.arange(axis.leaves)
    taken = (leaves >= parts[:, :, :1]) & (leaves < parts[:, :, 1:])  # by range, part and leaf
    assert (taken.sum(axis=1) == 1).all()
    np.testing.assert_allclose(np.einsum("qpl,qpi->qli", taken, details), steps, atol=1e-12)
    np.testing.assert_allclose(axis.squares(x, y), (steps**2).sum(axis=1), atol=1e-12)


def test_what_a_level_does_not_add_is_exactly_nothing() -> None:
    """A range of whole nodes of level 7 of 11 adds nothing below: the least rounding would make it unknown."""
    axis = BinaryAxis(2_048)
    found = axis.squares(np.array([16 * 5]), np.array([16 * 101]))
    assert (found[0, 8:] == 0).all()
    assert (found[0, :8] > 0).all()
