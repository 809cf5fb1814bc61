"""Intervals that hold where value +- 1.96 standard errors does not: few reports, rare cells, nearly everybody in one.

A plugged-in variance takes the estimate for the truth, and near 0 and 1 it is as wrong as the estimate. A score
interval (Wilson 1927) asks of every share f instead whether the estimate is likely under f itself:

    |value - f| <= step/(2n) + 1.96 sqrt(V(f)/n)

with V(f) the variance of one report's score given f, and half a report's step as correction for the estimate's lattice.
V is a quadratic in f, or the largest of several where the other cells matter and are not known, so that the ends are
roots of quadratics. Outside 0..1, where no share lies, V is that of the nearest one, so intervals stay unclipped.
Where both kinds of interval agree the plain one is given.

For intervals that hold together `z` takes the place of 1.96. So far out the skewness of few reports counts too: a count
with mean m is below m + z sqrt(m) + (z^2 - 1)/6 (Cornish and Fisher 1938), so that half a step becomes
(1 + (z^2 - 1.96^2)/3) halves; at 1.96 the half is the continuity correction, which is as large.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Z95, Floats, Measured

Number = Floats | float
_AS_GOOD = 0.05  # plain intervals whose ends are off by less than so many standard errors are kept
MUCH_WIDER = 1.5  # times the width by the standard error: such an interval replaces the standard error


class Spread(NamedTuple):
    """V(f) = constant + linear f + square f^2: n times the variance of an estimated share, given the true one."""

    constant: Number
    linear: Number
    square: Number = 0.0

    def __call__(self, f: Number) -> Floats:
        return np.maximum(self.constant + (self.linear + self.square * f) * f, 0.0)

    def mirrored(self) -> "Spread":
        """V of -f."""
        return Spread(self.constant, -np.asarray(self.linear), self.square)

    def of(self, cells: NDArray[np.int64]) -> "Spread":
        """For some cells, where they differ."""
        return Spread(*(part[cells] if isinstance(part, np.ndarray) else part for part in self))


def variance(spreads: Sequence[Spread], f: Number) -> Floats:
    """The largest V at a share."""
    return np.asarray(np.maximum.reduce([spread(f) for spread in spreads]))


def score(
    value: Floats, spreads: Sequence[Spread], reports: int, step: Number, most: Number = 1.0, z: float = Z95
) -> tuple[Floats, Floats]:
    """Lower and upper ends of the score interval; `most` is the largest share there can be, `z` standard errors."""
    half, k = skewed(z) * np.asarray(step) / (2 * max(reports, 1)), z**2 / max(reports, 1)
    lows = [-_end(half - value, spread.mirrored(), k, -np.asarray(most), most) for spread in spreads]
    highs = [_end(value + half, spread, k, 0.0, most) for spread in spreads]
    return np.minimum.reduce(lows), np.maximum.reduce(highs)


def skewed(z: float) -> float:
    """By how much half a step grows for the skewness of few reports, z standard errors out."""
    return 1 + max(z**2 - Z95**2, 0.0) / 3


def bernstein_log(z: float) -> float:
    """ln(2/a) of Bernstein's inequality for intervals that miss as often as z standard errors of a normal one do."""
    return log(2 / 0.05) if z == Z95 else -log(NormalDist().cdf(-z))


def _end(v: Floats, spread: Spread, k: float, least: Number, width: Number) -> Floats:
    """The largest f with f - v <= sqrt(k V(f)), k = z^2/n, where shares lie in least..least + width."""
    top = np.asarray(least) + width
    at_least, at_most = v + np.sqrt(k * spread(least)), v + np.sqrt(k * spread(top))
    rest = np.maximum(1 - k * np.asarray(spread.square), 1e-12)
    middle = v + k * np.asarray(spread.linear) / 2
    root = middle**2 - rest * (v**2 - k * np.asarray(spread.constant))
    inside = (middle + np.sqrt(np.maximum(root, 0.0))) / rest
    is_inside = (root >= 0) & (inside >= least) & (inside <= top)
    return np.where(at_most >= top, at_most, np.where(is_inside, inside, at_least))


def between(value: Floats, stderr: Floats, low: Floats, high: Floats, z: float = Z95) -> Measured:
    """The plain interval where it is as good; where nothing is known, all shares there are.

    A standard error that says less than the interval does was plugged in where it cannot be: it follows the interval.
    """
    unknown, least, most = ~np.isfinite(stderr), value - z * stderr, value + z * stderr
    with np.errstate(invalid="ignore"):
        plain = ~unknown & (np.maximum(np.abs(low - least), np.abs(high - most)) <= _AS_GOOD * stderr)
    if plain.all() and z == Z95:
        return Measured.plain(value, stderr)
    low = np.where(unknown, 0.0, np.where(plain, least, np.minimum(low, value)))
    high = np.where(unknown, 1.0, np.where(plain, most, np.maximum(high, value)))
    half_width = (high - low) / (2 * z)
    with np.errstate(invalid="ignore"):
        stderr = np.where(half_width > MUCH_WIDER * stderr, half_width, stderr)
    return Measured(value, stderr, low, high)


def widened(value: Floats, stderr: Floats, half_step: Number, z: float = Z95) -> Measured:
    """The plain interval with a continuity correction on either side, where that matters."""
    away = z * stderr + skewed(z) * np.asarray(half_step)
    return between(value, stderr, value - away, value + away, z)


def leaning(value: Floats, stderr: Floats, slope: Number, half_step: Number, z: float = Z95) -> Measured:
    """Score intervals where only a bound is known on how much a share's own change can change the variance.

    The variance at the estimate was plugged in; at a share f it may be larger by `slope` |f - estimate|, as where a
    cell that was taken for empty holds somebody, or one that was taken for full does not.
    """
    known, clipped = np.isfinite(stderr), np.clip(value, 0.0, 1.0)
    error, rise, half = (np.where(known, part, 0.0) for part in (stderr, slope, half_step))
    spreads = [Spread(error**2 + sign * rise * clipped, -sign * rise) for sign in (-1, 0, 1)]
    return between(value, stderr, *score(value, spreads, 1, 2 * half, z=z), z)


def wilson_high(share: float, reports: int) -> float:
    """The upper score limit, one standard error up, of a share that is observed as it is; itself for many reports."""
    n = max(reports, 1)
    return min(1.0, (share + 0.5 / n + sqrt((share * (1 - share) + 0.25 / n) / n)) / (1 + 1 / n))


def least_explained(explained: Number, reports: Number, noise: float) -> Floats:
    """A lower limit of E, of which `explained` is an estimate from so many signs, each with variance noise - E.

    E is the square of a mean, or an average of such squares. The limit is that of a score interval for the mean; where
    it is near 1, as much is known about it as about the few signs that contradict it.
    """
    mean = np.sqrt(np.clip(explained, 0.0, 1.0))
    k = Z95**2 / np.maximum(reports, 1.0)
    low = (mean - np.sqrt(np.maximum(k * (noise * (1 + k) - mean**2), 0.0))) / (1 + k)
    return np.asarray(np.maximum(low, 0.0) ** 2)


@dataclass(frozen=True)
class ScoredCells(CellEstimate):
    """Shares of cells with score intervals."""

    spreads: tuple[Spread, ...]
    step: Number
    most: Number = 1.0

    def points(self, cells: NDArray[np.int64]) -> Measured:
        return between(self.estimate.reshape(-1)[cells], self.stderr.reshape(-1)[cells], *self.ends(cells), self.z)

    def ends(self, cells: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The score intervals of some cells; all shares there are where there is no report."""
        value = self.estimate.reshape(-1)[cells]
        if not self.reports:
            return np.zeros(value.shape), np.ones(value.shape)
        step, most = (part[cells] if isinstance(part, np.ndarray) else part for part in (self.step, self.most))
        return score(value, [spread.of(cells) for spread in self.spreads], self.reports, step, most, self.z)


def scored_cells(
    domain: Cells, reports: int, f: Floats, spreads: Sequence[Spread], step: Number, most: Number = 1.0
) -> ScoredCells:
    """Shares of all cells in a row, with standard errors from V at the estimate; of no reports nothing is known.

    V may vanish at 0 or at 1: it is taken to be at least what it changes by one report away from there.
    """
    if not reports:
        f, stderr = np.zeros(f.shape), np.full(f.shape, np.inf)
    else:
        one = np.minimum(1 / reports, most)
        at_ends = [variance(spreads, share) for share in (0.0, one, most - one, most)]
        least = np.minimum(np.abs(at_ends[1] - at_ends[0]), np.abs(at_ends[3] - at_ends[2]))
        stderr = np.sqrt(np.maximum(variance(spreads, np.clip(f, 0.0, most)), least) / reports)
    shape = domain.shape
    return ScoredCells(domain, reports, f.reshape(shape), stderr.reshape(shape), tuple(spreads), step, most)
