"""A smooth density through the raw shares of all levels, with a band of its own, and a guard where data are not smooth.

Model     The shares of the cells are B theta: cubic B-splines over the domain, at most 128. A level l measures its
          nodes' shares, X_l theta, with variance v_l. theta minimises

              sum over levels of |raw_l - X_l theta|^2/v_l + weight |second differences of theta|^2,

          with the total held at 1 (Eilers and Marx 1996). The weight is that of the largest restricted likelihood.
Band      c'(M + weight P)^-1 c for a range c'theta, with M = sum X'X/v: the covariance of the penalised fit, whose
          prior stands for the bias (Wahba 1983).
Guard     The largest difference between raw and smooth shares over dyadic intervals of 1 to 64 cells, in standard
          errors of the raw ones. Above its 95% point under smoothness the data are taken not to be smooth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.estimates.estimate import Z95, Floats, Measured
from hearsay.mechanisms.estimates.inversion import Inversion, Quantiles, sampled_cells
from hearsay.mechanisms.estimates.postprocess import isotonic
from hearsay.mechanisms.estimates.simultaneous import critical_value

LEAST_CELLS, MOST_CELLS = 32, 1 << 16
SPLINES = 128
WIDEST_LOOK = 64  # cells of the widest interval that the guard looks at
_DEGREE = 3
_FIT_ADDS = 1.02
_TOTAL_ERROR = 1e-5  # the total is known; an exact constraint would need another solver
_WEIGHTS = np.logspace(-6, 12, 145)  # of the penalty, in units of the data's information


class RawLevel(NamedTuple):
    """What one level says of its nodes: every cell's node, the raw shares, and the variance of each."""

    nodes: Indices
    shares: Floats
    variance: float


def splines(cells: int) -> Floats:
    """B, the mean of every spline over every cell: cells x splines."""
    pieces = max(min(SPLINES, cells // 2) - _DEGREE, 1)
    position = (np.arange(cells) + 0.5) * (pieces / cells)
    piece = np.minimum(position.astype(np.int64), pieces - 1)
    u = position - piece
    basis = np.stack([(1 - u) ** 3, 3 * u**3 - 6 * u**2 + 4, -3 * u**3 + 3 * u**2 + 3 * u + 1, u**3], axis=1) / 6
    matrix = np.zeros((cells, pieces + _DEGREE))
    np.put_along_axis(matrix, piece[:, None] + np.arange(_DEGREE + 1), basis, axis=1)
    return matrix


@dataclass(frozen=True)
class SmoothFit:
    """Cumulative shares that are smooth and never fall, and what their errors follow from."""

    cumulative: Floats  # before each cell, and at the end
    rows: Floats  # cumulative splines times the root of the covariance: the error of a range is a difference of rows

    @classmethod
    def of(cls, cells: int, levels: Sequence[RawLevel]) -> "SmoothFit":
        basis = splines(cells)
        size = basis.shape[1]
        cumulative = np.concatenate([np.zeros((1, size)), np.cumsum(basis, axis=0)])
        total = cumulative[-1]
        information = np.outer(total, total) / _TOTAL_ERROR**2
        seen = total / _TOTAL_ERROR**2
        for nodes, shares, variance in levels:
            design = _design(cumulative, nodes, len(shares))
            information += design.T @ design / variance
            seen += design.T @ shares / variance
        differences = np.diff(np.eye(size), n=2, axis=0)
        root = np.linalg.cholesky(information + 1e-12 * np.trace(information) / size * np.eye(size))
        inverse = np.linalg.inv(root)
        penalty, directions = np.linalg.eigh(inverse @ (differences.T @ differences) @ inverse.T)
        penalty = np.maximum(penalty, 0.0)
        z = directions.T @ (inverse @ seen)
        weight = _restricted_likelihood(penalty, z, size - 2)
        shrunk = 1 / (1 + weight * penalty)
        back = inverse.T @ directions
        raw = cumulative @ (back @ (z * shrunk))
        rising = np.concatenate([[0.0], isotonic(raw[1:])])
        rows = cumulative @ (back * np.sqrt(shrunk))
        rising[-1], rows[-1] = 1.0, 0.0  # the total is known
        return cls(rising, rows)

    def ranges(self, x: Indices, y: Indices) -> Measured:
        """Shares of cells x..y-1, with their band."""
        value = self.cumulative[y] - self.cumulative[x]
        stderr = np.sqrt(((self.rows[y] - self.rows[x]) ** 2).sum(axis=1))
        return Measured(value, stderr, value - Z95 * stderr, value + Z95 * stderr)

    def quantiles(self, ranks: Floats) -> Quantiles:
        """The first cell at which the cumulative share reaches each rank, with its band."""
        cells = sampled_cells(self.cumulative.size - 1)
        stderr = self.ranges(np.zeros_like(cells), cells + 1).stderr
        return Inversion(self.cumulative[1:], cells, stderr, Z95 * stderr, Z95 * stderr).quantiles(ranks)


def _design(cumulative: Floats, nodes: Indices, count: int) -> Floats:
    """X: what every spline adds to every node. A node is a run of cells, or two where it goes around the end."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(nodes)) + 1])
    runs = cumulative[np.append(starts[1:], nodes.size)] - cumulative[starts]
    design = np.zeros((count, cumulative.shape[1]))
    np.add.at(design, nodes[starts], runs)
    return design


def _restricted_likelihood(penalty: Floats, z: Floats, rank: int) -> float:
    """The weight with the largest restricted likelihood, given that the noise is known."""
    weights = _WEIGHTS / max(float(np.median(penalty)), 1e-300)
    shrunk = 1 / (1 + weights[:, None] * penalty)
    lacking = -np.log(shrunk).sum(axis=1) - rank * np.log(weights) - (z**2 * shrunk).sum(axis=1)
    return float(weights[int(lacking.argmin())])


def looks(cells: int) -> tuple[Indices, Indices]:
    """The dyadic intervals of 1 to 64 cells, as first cell and end."""
    widths = [1 << power for power in range(WIDEST_LOOK.bit_length()) if 1 << power <= cells // 4]
    starts = [np.arange(0, cells - width + 1, width) for width in widths]
    lengths = [np.full(start.size, width) for start, width in zip(starts, widths, strict=True)]
    first = np.concatenate(starts)
    return first, first + np.concatenate(lengths)


def misfit_limit(cells: int) -> float:
    """The 95% point of the largest misfit under smoothness: 4.3 at 1,024 cells, as measured.

    Independent normal errors would have 4.2; those of the fit come on top.
    """
    return _FIT_ADDS * critical_value(looks(cells)[0].size)
