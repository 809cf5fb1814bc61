"""Answers on a grid from pairs of tree levels; the formulas are in `hierarchical_grid`."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechanisms.domain import Domain
from mechanisms.errors import QueryError
from mechanisms.level_noise import LevelNoise
from mechanisms.range_result import standard_error
from mechanisms.result import Estimate, Floats, Measured

Cells = NDArray[np.int64]
_ENTRIES = 1 << 20  # weights held at a time


@dataclass(frozen=True)
class Pair:
    """One pair of levels: which, its estimated shares as a grid of rectangles, and their noise."""

    left: int
    right: int
    shares: Floats
    noise: LevelNoise


@dataclass(frozen=True)
class GridEstimate(Estimate):
    """Shares of the cells of a grid; any linear query has an exact standard error.

    `weights` are those of prefixes along either axis, by level (`axis_weights`).
    """

    weights: tuple[list[Floats], list[Floats]]
    pairs: tuple[Pair, ...]

    @classmethod
    def of(
        cls, domain: Domain, reports: int, weights: tuple[list[Floats], list[Floats]], pairs: tuple[Pair, ...]
    ) -> "GridEstimate":
        """Every cell with its standard error."""
        made = cls(domain, reports, np.zeros(0), np.zeros(0), weights, pairs)
        one, two = made._cell_weights
        cells = one[0] @ two[0].T  # the pair of roots is known to be 1
        for pair in pairs:
            cells = cells + one[pair.left] @ pair.shares @ two[pair.right].T
        variance = np.zeros(domain.shape)
        for pair in pairs:
            variance += made._outer(pair, one[pair.left], two[pair.right])
        return replace(made, estimate=cells, stderr=standard_error(variance - _spread(cells, reports)))

    def _outer(self, pair: Pair, one: Floats, two: Floats) -> Floats:
        """A pair's variance for every product of a row of `one` and a row of `two`."""
        shares = pair.shares
        square = np.outer((one**2).sum(axis=1), (two**2).sum(axis=1))
        square_f, mean = one**2 @ shares @ (two**2).T, one @ shares @ two.T
        total = np.outer(one.sum(axis=1), two.sum(axis=1))
        variance: Floats = np.asarray(pair.noise.variance(square, square_f, mean, total, 0.0))
        return variance

    def ranges(self, low: Cells, high: Cells) -> Measured:
        low, high = self._checked(low, high)
        value, variance = np.zeros(len(low)), np.zeros(len(low))
        whole = (low == 0).all(axis=1) & (high == np.array(self.domain.shape)).all(axis=1)
        step = max(1, _ENTRIES // max(self.domain.shape))
        for start in range(0, len(low), step):
            part = slice(start, start + step)
            one, two = (
                [level[high[part, axis]] - level[low[part, axis]] for level in self.weights[axis]] for axis in (0, 1)
            )
            value[part] = one[0][:, 0] * two[0][:, 0]
            for pair in self.pairs:
                a, b, shares, noise = one[pair.left], two[pair.right], pair.shares, pair.noise
                mean = ((a @ shares) * b).sum(axis=1)
                square_f = ((a**2 @ shares) * b**2).sum(axis=1)
                square, total = (a**2).sum(axis=1) * (b**2).sum(axis=1), a.sum(axis=1) * b.sum(axis=1)
                value[part] += mean
                variance[part] += noise.variance(square, square_f, mean, total, 0.0)
        value[whole], variance[whole] = 1.0, 0.0
        return Measured(value, standard_error(variance - _spread(value, self.reports)))

    def linear(self, coefficients: Floats | None = None) -> Measured:
        if coefficients is None:
            raise QueryError("query linear needs coefficients: hierarchical has no workload of its own")
        held = np.maximum(self.estimate, 0.0)
        held = held / max(held.sum(), 1e-300)
        answers = [self._linear(row.reshape(self.domain.shape), held) for row in coefficients]
        value, variance = np.array(answers).reshape(-1, 2).T
        return Measured(value, standard_error(variance))

    def _linear(self, query: Floats, held: Floats) -> tuple[float, float]:
        """Sum of share times `query` over all cells, and its variance."""
        one, two = self._cell_weights
        value, variance = float((one[0].T @ query @ two[0])[0, 0]), 0.0
        for pair in self.pairs:
            w = one[pair.left].T @ query @ two[pair.right]
            mean, square_f = (w * pair.shares).sum(), (w**2 * pair.shares).sum()
            value += float(mean)
            variance += float(pair.noise.variance((w**2).sum(), square_f, mean, w.sum(), 0.0))
        spread = float((query**2 * held).sum() - (query * held).sum() ** 2)
        return value, variance - spread / max(self.reports, 1)

    @cached_property
    def _cell_weights(self) -> tuple[list[Floats], list[Floats]]:
        one, two = self.weights
        return [np.diff(level, axis=0) for level in one], [np.diff(level, axis=0) for level in two]

    def _checked(self, low: Cells, high: Cells) -> tuple[Cells, Cells]:
        """Ranges as first cells and first cells after, refusing what is no range of the grid."""
        low, high = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
        if low.ndim != 2 or low.shape[1] != 2 or low.shape != high.shape:
            raise QueryError(f"ranges must have shape (queries, 2) at both ends, got {low.shape} and {high.shape}")
        sizes = np.array(self.domain.shape)
        for axis, (name, size) in enumerate(zip((a.name for a in self.domain.axes), sizes, strict=True)):
            first, last = low[:, axis], high[:, axis]
            for wrong, rule in (
                ((first < 0) | (first >= size) | (last < 0) | (last >= size), f"lie in 0..{size - 1}"),
                (first > last, "have its low end at or below its high end"),
            ):
                if wrong.any():
                    at = int(np.argmax(wrong))
                    raise QueryError(f"range along {name} must {rule}, got {first[at]}..{last[at]}")
        return low, high + 1


def _spread(share: Floats, reports: int) -> Floats:
    """f(1 - f)/n: a device answers for one pair of levels only."""
    held = np.clip(share, 0.0, 1.0)
    return held * (1 - held) / max(reports, 1)
