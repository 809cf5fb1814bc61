"""Cells and ranges from observed signs, each with its exact standard error (Xiang et al. 4).

For one axis let s_x be the reported sign at x divided by its correlation c, s_last the last one, and s_(-1) = -s_last.
The factor (s_b - s_(a-1))/2 has expectation 1 for a device in [a, b] and 0 for any other. So the share of a range is
the mean of the product of these factors over the axes, a sum over the 2^axes corners of the range. The second moment of
a factor is 1 + v inside [a, b] and v outside; v depends only on how many ends of the axis the interval touches. With
f(R_T) the share of devices that are in R along the axes T,

    n Var = sum over the proper subsets T of the axes of f(R_T) times the product of v over the other axes.

Example: one axis of four cells, range [1, 2]. The share is the mean of (s_2 - s_0)/2. The only proper subset is empty,
and f is 1 for it, so n Var = v = (1 - c^2)/(2 c^2).

Every term is linear in the observations, so the variance with estimated shares is unbiased. It is then clipped to the
values that are possible for some distribution of the devices.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import NamedTuple

import numpy as np

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Z95, Averages, Floats, Measured, Ranges
from hearsay.mechanisms.estimates.intervals import Spread, between, score, widened
from hearsay.mechanisms.estimates.inversion import Inversion
from hearsay.mechanisms.estimates.ranges import checked_ranges
from hearsay.mechanisms.metric.bounds import rank_bound

_CORNERS_AT_ONCE = 1 << 20
_OF_A_FIT = 2.8  # standard errors, see `SignEstimate.inversion`


class AxisNoise(NamedTuple):
    """v of one axis, for intervals that touch neither end, one end, or both ends of the axis."""

    interior: float
    edge: float
    trivial: float

    @classmethod
    def of(cls, correlation: float, anchored: bool) -> "AxisNoise":
        """v for signs of correlation c; an anchored last sign is exact."""
        interior = (1 - correlation**2) / (2 * correlation**2)
        return cls(interior, interior / 2, 0.0) if anchored else cls(interior, interior, 2 * interior)

    @property
    def correlation(self) -> float:
        """c, of the signs that are not exact."""
        return 1 / sqrt(1 + 2 * self.interior)

    def pick(self, low: Indices, high: Indices, last: int) -> Floats:
        """v of each interval [low, high]."""
        touching = (low == 0).astype(np.intp) + (high == last)
        return np.array(self)[touching]


class Corners(NamedTuple):
    """For each query a linear combination of the signs of one axis: their positions and coefficients."""

    position: Indices
    coefficient: Floats

    @classmethod
    def of(cls, low: Indices, high: Indices, last: int) -> "Corners":
        """(s_high - s_(low-1))/2, where s_(-1) = -s_last."""
        if ((low == 0) & (high == last)).all():
            return cls(np.full((len(low), 1), last), np.ones((len(low), 1)))
        before = np.where(low == 0, last, low - 1)
        halves = np.where(low == 0, 0.5, -0.5)
        return cls(np.stack([high, before], axis=1), np.stack([np.full(len(low), 0.5), halves], axis=1))

    def with_last(self, v: Floats, last: int) -> "Corners":
        """This combination plus v s_last."""
        position = np.concatenate([self.position, np.full((len(v), 1), last)], axis=1)
        return Corners(position, np.concatenate([self.coefficient, v[:, None]], axis=1))


@dataclass(frozen=True)
class SignEstimate(CellEstimate, Ranges, Averages):
    """Shares of cells and of ranges; `signs` are the means over the reports of the products of s_x over the axes."""

    signs: Floats
    noise: tuple[AxisNoise, ...]

    @classmethod
    def of(cls, domain: Cells, reports: int, signs: Floats, noise: tuple[AxisNoise, ...]) -> "SignEstimate":
        """The estimate, with value and standard error of every cell, computed one axis after the other."""
        cells, moments = signs, signs
        least, most = np.ones(()), np.ones(())
        for axis, (size, signs_size) in enumerate(zip(domain.shape, signs.shape, strict=True)):
            along = np.arange(size)
            v = noise[axis].pick(along, along, signs_size - 1)
            moments = _differences(moments, axis, size) + _along(v, axis, signs.ndim) * _last(moments, axis)
            cells = _differences(cells, axis, size)
            least, most = least[..., None] * v, most[..., None] * (1 + v)
        variance = moments - cells + least * (1 - signs.reshape(-1)[-1])
        stderr = np.sqrt(np.clip(variance, least, most - 1) / max(reports, 1))
        if not reports:
            stderr = np.where(most > 1, np.inf, 0.0)
        return cls(domain, reports, cells, stderr, signs, noise)

    def ranges(self, low: Indices, high: Indices) -> Measured:
        """Shares of ranges: a value sums 2^axes corners, its standard error at most 3^axes."""
        return self._in_steps(low, high, lambda *ends: self.measured(*self._plugged_in(*ends)))

    def plain_ranges(self, low: Indices, high: Indices) -> Measured:
        """Shares of ranges with intervals of the plain standard errors, not widened where reports are few."""
        parts = self._in_steps(low, high, lambda *ends: Measured.plain(*self._plugged_in(*ends)[:2]))
        return Measured.plain(parts.value, np.sqrt(parts.stderr / max(self.reports, 1)))

    def average(self) -> Measured:
        """The last value minus the sum of the cumulative shares before it. The signs have independent noise."""
        (axis,), (noise,) = self.domain.axes, self.noise
        last = axis.size - 1
        below = (self.signs[:last] + self.signs[-1]).sum() / 2
        signs = last if noise.trivial == 0 else last + last**2  # in the literal form every term contains the last sign
        stderr = axis.width * np.sqrt(signs * noise.interior / 2 / max(self.reports, 1))
        # Half of what one sign of one report changes.
        half_step = axis.width * np.sqrt(1 + 2 * noise.interior) / (2 * max(self.reports, 1))
        return widened(
            np.array([axis.units(last - below + axis.continuous / 2)]), np.array([stderr]), np.array([half_step])
        )

    def rank_bound(self) -> float | None:
        """Theorem 5's bound, on one axis. It is for a binary search, and far above the measured error."""
        (noise, *others), cells = self.noise, self.domain.size
        if others or cells < 2:
            return None
        return rank_bound(noise.correlation, cells, self.reports, anchored=noise.trivial == 0)

    @cached_property
    def inversion(self) -> Inversion:
        """The bands of quantiles, narrower where the monotone fit averages several prefixes.

        Errors of neighbouring prefixes are independent. Where the fit takes the mean of m prefixes, its error is
        smaller, but not normal: `_OF_A_FIT` standard errors of a prefix over sqrt(m) covered the truth in simulations
        of smooth, spiky and nearly empty distributions (as in Deng, Han and Zhang 2021). In the literal form half of
        the variance is that of the last sign, which all prefixes share, so averaging does not reduce it.
        """
        plain = super().inversion
        starts = np.flatnonzero(np.diff(plain.rising, prepend=-1.0))
        averaged = np.diff(np.append(starts, plain.rising.size))
        root_m = np.sqrt(np.repeat(averaged, averaged)[plain.cells])
        shared = 0.5 if self.noise[0].trivial else 0.0
        narrower = np.sqrt(shared + (1 - shared) * np.minimum(_OF_A_FIT / Z95 / root_m, 1.0) ** 2)
        return replace(plain, above=plain.above * narrower, below=plain.below * narrower)

    def _in_steps(self, low: Indices, high: Indices, answer: Callable[[Indices, Indices], Measured]) -> Measured:
        """The answers to all queries, computed for some at a time, so that their corners fit into memory."""
        low, after = checked_ranges(low, high, self.domain)
        step = max(1, _CORNERS_AT_ONCE // 3 ** len(self.domain.axes))
        starts = range(0, max(len(low), 1), step)
        parts = [answer(low[start : start + step], after[start : start + step] - 1) for start in starts]
        return Measured.join(parts)

    def _plugged_in(self, low: Indices, high: Indices) -> tuple[Floats, Floats, "RangeCorners"]:
        """The estimates of ranges, n Var of each, and their corners."""
        corners = self.corners(low, high)
        value = contract(self.signs, corners.value)
        # f of the empty subset is 1. The literal form observes it with noise, so it is corrected.
        moment = contract(self.signs, corners.moment) + corners.outside * (1 - self.signs.reshape(-1)[-1])
        return value, np.clip(moment - value, corners.least, corners.most), corners

    def points(self, cells: Indices) -> Measured:
        """Single cells, by row-major index, with the stored standard errors."""
        along = np.stack(np.unravel_index(cells, self.domain.shape), axis=1)
        value, stderr = self.estimate.reshape(-1)[cells], self.stderr.reshape(-1)[cells]
        return self.measured(value, stderr**2 * self.reports if self.reports else stderr, self.corners(along, along))

    def measured(self, value: Floats, variance: Floats, corners: "RangeCorners") -> Measured:
        """The answers from estimates and n Var; without reports the intervals are infinite.

        A device in the range is inside it along all axes. So if the range has a share f, n Var is at least
        `least` + f (`most` - `least`): this bound is the second spread of the score intervals.
        """
        if not self.reports:
            return widened(value, np.where(corners.most > 0, np.inf, 0.0), 0.0, self.z)
        spreads = Spread(variance, np.zeros(value.shape)), Spread(corners.least, corners.most - corners.least)
        step = np.where(corners.most > 0, corners.step, 0.0)
        ends = score(value, spreads, self.reports, step, z=self.z)
        return between(value, np.sqrt(variance / self.reports), *ends, self.z)

    def _step(self, axis: int, low: Indices, high: Indices) -> Floats:
        """1/c, or 1 if the axis is anchored and the range does not restrict it."""
        trivial = (low == 0) & (high == self.signs.shape[axis] - 1) & (self.noise[axis].trivial == 0)
        return np.where(trivial, 1.0, 1 / self.noise[axis].correlation)

    def corners(self, low: Indices, high: Indices) -> "RangeCorners":
        """The corners of each range's value and second moment, and the limits of its variance."""
        corners = RangeCorners([], [], *(np.ones(len(low)) for _ in range(4)))
        everything = np.ones(len(low), dtype=bool)
        for axis, size in enumerate(self.signs.shape):
            first, end, last = low[:, axis], high[:, axis], size - 1
            v = self.noise[axis].pick(first, end, last)
            along = Corners.of(first, end, last)
            corners.value.append(along)
            corners.moment.append(along.with_last(v, last))
            trivial = (first == 0) & (end == last)
            everything &= trivial
            corners.outside[:] *= v
            corners.least[:] *= np.where(trivial, 1 + v, v)
            corners.most[:] *= 1 + v
            corners.step[:] *= self._step(axis, first, end)
        corners.least[:] -= everything
        corners.most[:] -= 1
        return corners


class RangeCorners(NamedTuple):
    """For each axis the corners of the value and of the second moment; for each query the limits of n Var."""

    value: list[Corners]
    moment: list[Corners]
    outside: Floats  # the product of v over all axes
    least: Floats
    most: Floats
    step: Floats  # the difference between the possible scores of a report


def contract(signs: Floats, axes: list[Corners]) -> Floats:
    """For each query the sum, over all combinations of corners of the axes, of signs times coefficients."""
    queries = len(axes[0].position)
    flat, coefficient = np.zeros((queries, 1), dtype=np.int64), np.ones((queries, 1))
    for size, corners in zip(signs.shape, axes, strict=True):
        flat = (flat[:, :, None] * size + corners.position[:, None, :]).reshape(queries, -1)
        coefficient = (coefficient[:, :, None] * corners.coefficient[:, None, :]).reshape(queries, -1)
    return np.einsum("qk,qk->q", signs.reshape(-1)[flat], coefficient)


def _differences(array: Floats, axis: int, size: int) -> Floats:
    """(s_x - s_(x-1))/2 along an axis, for the first `size` cells."""
    moved = np.moveaxis(array, axis, 0)
    halves = np.empty((size, *moved.shape[1:]))
    halves[0] = moved[0] + moved[-1]
    np.subtract(moved[1:size], moved[: size - 1], out=halves[1:])
    halves *= 0.5
    return np.moveaxis(halves, 0, axis)


def _last(array: Floats, axis: int) -> Floats:
    return np.take(array, [array.shape[axis] - 1], axis=axis)


def _along(vector: Floats, axis: int, axes: int) -> Floats:
    """A vector as an array of so many axes that varies along one of them."""
    return vector.reshape([-1 if position == axis else 1 for position in range(axes)])
