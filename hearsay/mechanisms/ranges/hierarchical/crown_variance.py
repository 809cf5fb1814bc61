"""What a range costs at the top of a hierarchy, looked up in tables over all pairs of cuts between the units.

A range is the difference of two prefixes, and a prefix that cuts a unit lies between two whole ones, so everything that
is quadratic in a query on the units is a bilinear lookup in a table of shape (units + 1, units + 1):

    the variance of all partitions' estimates (`level_noise`), with weights A C q/V on the windows,
    sum K^2, sum K^2 f and the pairs P of the weights K = C q/U on the trees below, with which `tree_variance` goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.ranges.hierarchical.crown import Crown
from hearsay.mechanisms.ranges.hierarchical.tree import UNKNOWN
from hearsay.mechanisms.ranges.level_noise import LevelNoise

Nodes = NDArray[np.int64]
_NOT_KNOWN = 1e-9  # the least squared share of a query in unknown directions that counts


@dataclass(frozen=True)
class CrownVariance:
    """Tables for estimated shares `f` of the units.

    `spectra` has, for partitions that divide characters by their own counts, F(u xor v) of their windows; `pairs` is
    that of the units, where a level below needs it.
    """

    crown: Crown
    noise: tuple[LevelNoise, ...]
    f: Floats
    spectra: tuple[Floats | None, ...]
    pairs: Floats | None

    @cached_property
    def prefixes(self) -> Floats:
        """C q of the prefixes of 0..units whole units, one column each."""
        return np.cumsum(np.pad(self.crown.covariance, ((0, 0), (1, 0))), axis=1)

    @cached_property
    def coefficients(self) -> Floats:
        """K on every unit (rows) for the prefixes (columns)."""
        return self.prefixes / self.crown.below[:, None]

    @cached_property
    def projected(self) -> Floats:
        """The nearest shares there can be: what is below 0 must not take anything from a heavy unit."""
        return project(self.f)

    @cached_property
    def _of_windows(self) -> Floats:
        """The table of the variance of all partitions' estimates."""
        crown = self.crown
        weights = crown.precisions[:, None] * (crown.design @ self.prefixes)
        f = crown.design @ self.projected
        starts = np.cumsum([0, *crown.sizes])
        scale, a, b, c, d, mean, _ = (np.array(field)[:, None] for field in zip(*self.noise, strict=True))
        squares = np.repeat(scale * a, crown.sizes) + np.repeat(scale * b, crown.sizes) * f
        rooted = np.sqrt(np.maximum(squares, 0.0))[:, None] * weights
        totals = np.add.reduceat(weights, starts[:-1])
        means = np.add.reduceat(f[:, None] * weights, starts[:-1])
        table = rooted.T @ rooted + totals.T @ (scale * (c * totals + d / 2 * means))
        table += means.T @ (scale * (d / 2 * totals - mean * means))
        for noise, start, stop, spectrum in zip(self.noise, starts, starts[1:], self.spectra, strict=False):
            if spectrum is not None:
                numbers = np.arange(stop - start)
                w = weights[start:stop]
                table -= noise.scale * noise.pairs * (w.T @ spectrum[numbers[:, None] ^ numbers[None, :]] @ w)
        return table

    @cached_property
    def tables(self) -> Floats:
        """Shape (units + 1, units + 1, 4): variance, sum K^2, sum K^2 f, pairs."""
        K = self.coefficients
        paired = np.zeros((K.shape[1], K.shape[1]))
        if self.pairs is not None:
            numbers = np.arange(K.shape[0])
            paired = K.T @ self.pairs[numbers[:, None] ^ numbers[None, :]] @ K
        return np.stack([self._of_windows, K.T @ K, (K.T * self.projected) @ K, paired], axis=2)

    @cached_property
    def lines(self) -> Floats:
        """Shape (units + 1, 2): sum K f and sum K of the prefixes."""
        return np.stack([self.f @ self.coefficients, self.coefficients.sum(axis=0)], axis=1)

    @cached_property
    def _unknown(self) -> Floats | None:
        projection = self.crown.unknown
        if projection is None:
            return None
        return np.pad(projection, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)[:, :, None]

    def quadratic(self, node: Nodes, part: Floats) -> Floats:
        """The tables' values, shape (tables, ranges), of ranges between two prefixes (rows 0 and 1 of `node`, `part`).

        A prefix holds all units before `node` and `part` of that one.
        """
        values = _between(self.tables, node, part)
        if self._unknown is not None:
            values[0] = np.where(_between(self._unknown, node, part)[0] > _NOT_KNOWN, UNKNOWN, values[0])
        return values

    def linear(self, node: Nodes, part: Floats) -> Floats:
        """Sum K f and sum K, shape (2, ranges)."""
        lines: Floats = _on(self.lines, node, part[..., None])
        return (lines[1] - lines[0]).T

    def coefficient(self, unit: Nodes | int, node: Nodes, part: Floats) -> Floats:
        """K on a unit for every range."""
        K = self.coefficients
        before, after = K[unit, node[0]], K[unit, node[1]]
        before = before + part[0] * (K[unit, node[0] + 1] - before)
        after = after + part[1] * (K[unit, node[1] + 1] - after)
        coefficient: Floats = after - before
        return coefficient

    def alone(self, units: Sequence[int] | Nodes) -> Floats:
        """The tables' values, shape (tables, units), of one whole unit each."""
        at = np.asarray(units, dtype=np.int64)
        return self.quadratic(np.stack([at, at]), np.stack([np.zeros(at.size), np.ones(at.size)]))


def _on(table: Floats, node: Nodes, part: Floats) -> Floats:
    low = table[node]
    interpolated: Floats = low + part * (table[node + 1] - low)
    return interpolated


def _between(tables: Floats, node: Nodes, part: Floats) -> Floats:
    """v'Xv for v the difference of two prefixes: X(y, y) + X(x, x) - 2 X(x, y), each between neighbouring entries."""
    size = tables.shape[0]
    flat = tables.reshape(size * size, -1)
    diagonal, beside = flat[:: size + 1], flat[1 :: size + 1]
    t = part[..., None]
    alone = (1 - t) ** 2 * diagonal[node]
    alone += (2 * t * (1 - t)) * beside[node]
    alone += t**2 * diagonal[node + 1]
    corner = node[0] * size + node[1]
    x, y = t
    low = flat[corner]
    low += y * (flat[corner + 1] - low)
    corner += size
    high = flat[corner]
    high += y * (flat[corner + 1] - high)
    low += x * (high - low)
    low *= -2
    low += alone[0]
    low += alone[1]
    return low.T
