"""The mathematics of planned grids with whole matrices, as the tests hold it against the sweeps."""

from functools import reduce

import numpy as np

from hearsay.mechanisms.ranges.hierarchical.crown import inverse_at_known_total
from hearsay.mechanisms.ranges.planned_grid.axis import BinaryAxis
from hearsay.mechanisms.ranges.planned_grid.tuples import TupleInference


def boxes_of_leaves(heights: tuple[int, ...], levels: tuple[int, ...]) -> np.ndarray:
    """A: 1 where a box of the tuple holds a leaf."""
    along = (np.kron(np.eye(1 << own), np.ones((1, 1 << (h - own)))) for h, own in zip(heights, levels, strict=True))
    return reduce(np.kron, along)


def owners(axes: tuple[BinaryAxis, ...]) -> np.ndarray:
    """1 where a cell owns a leaf."""
    return reduce(np.kron, [(axis.owner[None, :] == np.arange(axis.size)[:, None]).astype(float) for axis in axes])


def first_leaves(axes: tuple[BinaryAxis, ...]) -> np.ndarray:
    """1 where a leaf is the one at which a cell's devices report."""
    return reduce(np.kron, [(np.arange(axis.leaves)[:, None] == axis.edges[None, :-1]).astype(float) for axis in axes])


def least_squares(inference: TupleInference) -> list[np.ndarray]:
    """C A'/V of every tuple: the weights of its boxes in the estimate of each leaf."""
    designs = [boxes_of_leaves(inference.heights, levels) for levels in inference.asked]
    counts = [len(design) for design in designs]
    variances = [noise.contrast_variance(count) for noise, count in zip(inference.noise, counts, strict=True)]
    information = sum(design.T @ design / variance for design, variance in zip(designs, variances, strict=True))
    covariance, _ = inverse_at_known_total(np.asarray(information))
    return [covariance @ design.T / variance for design, variance in zip(designs, variances, strict=True)]


def variance(inference: TupleInference, query: np.ndarray, shares: np.ndarray) -> float:
    """Of a query on the leaves, whose shares are given, with all four moments of the oracles."""
    total = 0.0
    for levels, noise, weights in zip(inference.asked, inference.noise, least_squares(inference), strict=True):
        w = query @ weights
        f = boxes_of_leaves(inference.heights, levels) @ shares
        square, square_f, mean, sum_ = (w**2).sum(), (w**2 * f).sum(), (w * f).sum(), w.sum()
        total += noise.scale * (
            noise.a * square + noise.b * square_f + noise.c * sum_**2 + noise.d * sum_ * mean - mean**2
        )
    return float(total)


def dense_slope(inference: TupleInference, query: np.ndarray) -> float:
    """What somebody more adds to the variance at the leaf where it is most."""
    added = np.zeros(query.size)
    for levels, noise, weights in zip(inference.asked, inference.noise, least_squares(inference), strict=True):
        added += noise.slope * ((query @ weights) ** 2) @ boxes_of_leaves(inference.heights, levels)
    return float(added.max())
