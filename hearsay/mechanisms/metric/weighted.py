"""Weighted ranges under metric privacy: the mean over all devices of weight x [value in range] (Xiang et al. 4.3.2).

With `weights = "public"` or `"private"`, the last axis of the grid is a weight w (integers, or the middle of a bin).

Public    The device reports the weight as it is, with the signs of the other axes. Reports of equal weight are a group;
          a weighted range is the weighted sum of the groups' ranges (theorem 4, 1).
Private   The device rounds its weight at random to one of the two ends of the axis, with w as expectation, and reports
          the end as another axis of two cells (theorem 4, 2). Two values that differ only in their weights are
          protected by plain epsilon-LDP, whatever the weights are.
Variance  Let phi be a report's score for the range, the product of factors in `sign_estimate`, and [in] be 1 if the
          device is in the range, otherwise 0. Public weights: n Var = mean of w^2 (E phi^2 - [in]). Private weights
          with ends l and l + D, b = (w - l)/D, and v of the weight's axis:
          n Var = mean of (l^2 + (2 l D + D^2) b + D^2 v) E phi^2 - (w [in])^2.
          The mean of (w [in])^2 cannot be estimated. It is at least (mean of w [in])^2 / (share in the range), so a
          lower bound of this is subtracted: the mean is moved one standard error towards 0, and the share is increased
          by one standard error. The result is at least the noise of the coins; without these precautions the variance
          would often be too small for ranges with few devices.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.domains.axis import Axis
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.domains.grid import ordered
from hearsay.mechanisms.errors import NotPortable, SpecificationError
from hearsay.mechanisms.estimates.cells import CellEstimate, ExactCells
from hearsay.mechanisms.estimates.estimate import Floats, Measured, Weighted
from hearsay.mechanisms.estimates.intervals import Spread, between, score, widened
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.promises import Guarantee, MetricLp
from hearsay.mechanisms.layout import Layout, Reports, Scalar, Vector, smallest_unsigned
from hearsay.mechanisms.metric.l1 import MAXIMUM_OBSERVATIONS, MetricL1Signs
from hearsay.mechanisms.metric.sign_estimate import SignEstimate, contract
from hearsay.mechanisms.portable import Node


@dataclass(frozen=True)
class WeightedEstimate(SignEstimate, Weighted):
    """Shares, and weighted ranges.

    `first`, `second` and `squares` are signs weighted for the mean, for its second moment and, if weights are public,
    for the mean of w^2 [in].
    """

    first: Floats
    second: Floats
    squares: Floats | None
    scores: "WeightScores"

    def weighted(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Measured:
        """The mean over all reports of weight x [in range]; the total weight is the number of reports times this."""
        return self._in_steps(low, high, self._weighted)

    def _weighted(self, low: Indices, high: Indices) -> Measured:
        corners, scores = self.corners(low, high), self.scores
        value = contract(self.first, corners.value)
        if not self.reports:
            return Measured(value, np.full(value.shape, np.inf), *(np.full(value.shape, end) for end in scores.ends))
        outside, inside = corners.outside, corners.most + 1
        moment = np.clip(contract(self.second, corners.moment), scores.least * outside, scores.most * inside)
        step = scores.step * corners.step
        if self.squares is not None:
            square = contract(self.squares, corners.value)
            stderr = np.sqrt(np.maximum(moment - square, scores.coins * outside) / self.reports)
            return widened(value, stderr, step / (2 * self.reports))
        in_range = self.measured(*self._plugged_in(low, high))
        largest_share = np.clip(in_range.value + in_range.stderr, 1 / self.reports, 1.0)
        least_mean = np.maximum(np.abs(value) - np.sqrt(moment / self.reports), 0.0)
        variance = np.maximum(moment - least_mean**2 / largest_share, scores.coins * outside)
        stderr, (least, most) = np.sqrt(variance / self.reports), scores.ends
        if least < 0:
            return widened(value, stderr, step / (2 * self.reports))
        # A weight w is rounded up to `most` with probability at most w / most: the variance by rounding alone.
        rounding = Spread(scores.least * outside, most * inside, -1 / largest_share)
        spreads = Spread(variance, np.zeros(value.shape)), rounding
        return between(value, stderr, *score(value, spreads, self.reports, step, most))


@dataclass(frozen=True)
class ExactWeights(ExactCells, Weighted):
    """True shares, and for every cell the mean over all devices of weight x [value in the cell]."""

    weights: Floats

    def weighted(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Measured:
        return replace(self, estimate=self.weights).ranges(low, high)


class WeightScores(NamedTuple):
    """The factor of a report's score for its weight."""

    ends: tuple[float, float]  # the limits of a mean weight
    least: float  # of the second moment over all weights
    most: float
    coins: float  # variance by the coins of the device
    step: float  # the difference between its possible values

    @classmethod
    def of(cls, ends: tuple[float, float], noise: float, step: float) -> "WeightScores":
        squares = [end**2 for end in ends]
        low, high = min(ends[0], 0.0), max(ends[1], 0.0)
        return cls((low, high), min(squares) + noise, max(squares) + noise, noise, step)


@dataclass(frozen=True)
class WeightedGuarantee(Guarantee):
    """A metric on the values, plus plain epsilon-LDP between different weights, or nothing if they are public."""

    values: MetricLp
    value_domain: Cells
    private: bool

    def matrix(self, domain: Cells) -> NDArray[np.float64]:
        weights = domain.shape[-1]
        values = np.repeat(np.repeat(self.values.matrix(self.value_domain), weights, axis=0), weights, axis=1)
        between = self.values.epsilon if self.private else np.inf
        same = np.tile(np.eye(weights, dtype=bool), (self.value_domain.size, self.value_domain.size))
        return values + np.where(same, 0.0, between)

    def words(self) -> str:
        weight = (
            f"The weight is hidden by local differential privacy with epsilon = {self.values.epsilon:g} on top."
            if self.private
            else "The weight is public and reported as it is."
        )
        return f"{self.values.words()} {weight}"

    def table(self) -> dict[str, Any]:
        return {**self.values.table(), "weights": "private" if self.private else "public"}


@dataclass(frozen=True)
class WeightedSigns(MetricL1Signs):
    """The common part of both forms: the last axis is the weight."""

    ESTIMATE: ClassVar[type[CellEstimate]] = WeightedEstimate

    def check(self) -> None:
        if not self.anchored:
            raise SpecificationError("options.weights goes with anchored = true")
        if len(self.domain.axes) < 2 or self.weight_axis.labels is not None:
            raise SpecificationError("options.weights needs a last axis of numbers beside at least one other axis")
        super().check()

    @property
    def weight_axis(self) -> Axis:
        return self.domain.axes[-1]

    @cached_property
    def value_domain(self) -> Cells:
        axes = self.domain.axes[:-1]
        return ordered(axes)

    @cached_property
    def weights(self) -> Floats:
        """The weight of each cell of the last axis: the integer, or the middle of the bin."""
        middle = 0.0 if self.weight_axis.low is None else 0.5
        return np.array([self.weight_axis.units(index + middle) for index in range(self.weight_axis.size)])

    def exact(self, values: Values) -> ExactWeights:
        rows, domain = self.domain.check(values), self.value_domain
        cells = domain.flatten(rows[:, 0] if domain.is_line else rows[:, :-1])
        plain = ExactCells.of(domain, rows[:, 0] if domain.is_line else rows[:, :-1])
        weights = np.bincount(cells, self.weights[rows[:, -1]], domain.size).reshape(domain.shape) / len(rows)
        return ExactWeights(**vars(plain), weights=weights)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The least and the largest weight."""
        axis = self.weight_axis
        return axis.units(0), axis.units(axis.size if axis.continuous else axis.size - 1)

    @cached_property
    def guarantee(self) -> Guarantee:
        return WeightedGuarantee(self.lp, self.value_domain, self.options["weights"] == "private")

    def portable(self) -> Node:
        raise NotPortable(f"weights of {self.ID} have no form for other languages; use Python's Device")


@dataclass(frozen=True)
class PrivateWeights(WeightedSigns):
    """The device rounds the weight to one of the ends, and perturbs it like the other axes."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return (*self.value_domain.shape, 2)

    @cached_property
    def _scales(self) -> tuple[float, ...]:
        return (*super()._scales, 1.0)

    @cached_property
    def _chances(self) -> tuple[NDArray[np.uint64], int]:
        """The chance of rounding each weight up: numerators, and their common denominator."""
        size = self.weight_axis.size
        if self.weight_axis.low is None:
            return np.arange(size, dtype=np.uint64), size - 1
        return np.arange(1, 2 * size, 2, dtype=np.uint64), 2 * size

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.check(values)
        numerators, denominator = self._chances
        rounded = cells.copy()
        rounded[:, -1] = random.below(denominator, len(cells)) < numerators[cells[:, -1]]
        return {"bits": self.signs.pack(rounded) ^ self._flipped(len(cells), random)}

    def estimate(self, state: State) -> WeightedEstimate:
        n = self.reports(state)
        signs = self.rescale(state["observation"] / max(n, 1))
        whole = np.ascontiguousarray(signs[..., 1])
        upper = (signs[..., 1] - signs[..., 0]) / 2  # of the devices that rounded up
        least, largest = self.ends
        span, noise = largest - least, self.noise[-1].edge
        plain = SignEstimate.of(self.value_domain, n, whole, self.noise[:-1])
        first = least * whole + span * upper
        second = (least**2 + span**2 * noise) * whole + (2 * least * span + span**2) * upper
        scores = WeightScores.of(self.ends, span**2 * noise, span / self.noise[-1].correlation)
        return WeightedEstimate(**vars(plain), first=first, second=second, squares=None, scores=scores)

    def channel(self) -> NDArray[np.float64]:
        numerators, denominator = self._chances
        up = numerators.astype(np.float64) / denominator
        ends = self.sign_channel(self.sizes).reshape(self.value_domain.size, 2, -1)
        mixed = (1 - up)[None, :, None] * ends[:, :1] + up[None, :, None] * ends[:, 1:]
        return mixed.reshape(self.domain.size, -1)


@dataclass(frozen=True)
class PublicWeights(WeightedSigns):
    """The device reports the weight as it is; the state has observations for each weight."""

    def check(self) -> None:
        super().check()
        cells = int(np.prod(self.arrays["observation"]))
        if cells > MAXIMUM_OBSERVATIONS:
            raise SpecificationError(
                f"domain needs {cells} observations over all weights, {cells / 2**17:.0f} MiB of state for each "
                f"window; metric-l1 holds at most {MAXIMUM_OBSERVATIONS}: use fewer weights"
            )

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("weight", self.weight_axis.size), vector=Vector("bits", self.signs.width))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"observation": (self.weight_axis.size, *self.sizes)}

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.check(values)
        weight = cells[:, -1].astype(smallest_unsigned(self.weight_axis.size))
        return {"weight": weight, "bits": self.signs.pack(cells[:, :-1]) ^ self._flipped(len(cells), random)}

    def fold(self, state: State, reports: Reports) -> State:
        for group in np.unique(reports["weight"]):
            state["observation"][group] += self.signs.observe(reports["bits"][reports["weight"] == group])
        return state

    def reports(self, state: State) -> int:
        return int(state["observation"].reshape(self.weight_axis.size, -1)[:, -1].sum())

    def estimate(self, state: State) -> WeightedEstimate:
        n = self.reports(state)
        signs = self.rescale(state["observation"] / max(n, 1))
        plain = SignEstimate.of(self.value_domain, n, signs.sum(axis=0), self.noise)
        first, second = (np.tensordot(self.weights**power, signs, axes=1) for power in (1, 2))
        largest = max(abs(end) for end in self.ends)
        scores = WeightScores.of(self.ends, 0.0, largest)
        return WeightedEstimate(**vars(plain), first=first, second=second, squares=second, scores=scores)

    def channel(self) -> NDArray[np.float64]:
        cells = self.sign_channel(self.value_domain.shape)
        known = np.eye(self.weight_axis.size)
        return np.einsum("xs,wv->xwvs", cells, known).reshape(self.domain.size, -1)
