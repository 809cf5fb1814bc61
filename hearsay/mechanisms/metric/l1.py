"""Ranges on grids of any dimension, with privacy in proportion to distance (Xiang, Ding, He, Zhou 2020, section 4).

Device    Encode the value along each axis as signs: -1 before the value, +1 from the value on. Flip every sign with
          probability q = 1/(e^eps + 1). Two values at L1 distance k differ in k signs.
Privacy   P(report | x)/P(report | y) <= e^(eps |x - y|_1). For an L^p distance signs spend eps / axes^(1-1/p), because
          the L1 norm is at most axes^(1-1/p) times the L^p norm. On a continuous axis eps is per unit, so a sign
          spends eps times the bin width.
Fold      Sum over the reports the outer product of the axes' signs: one integer per cell.
Estimate  Divide every sign by its correlation c = 1 - 2q; see `sign_estimate`. Cells and ranges are unbiased, and
          their exact variance does not depend on the sizes of the axes.

The last sign of every axis is always +1. The anchored form (the default, better than the paper's) neither sends nor
perturbs it, so a range has noise only from the axes that it restricts. `anchored = false` is the paper's literal form,
and `dummy = true` adds the paper's extra value to every axis (section 4.2).
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import EPSILON_LIMIT, CellMechanism, State, Values
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.bit_counting import Packed
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import flip_threshold, log_ratio, probability
from hearsay.mechanisms.guarantees.promises import Guarantee, MetricLp
from hearsay.mechanisms.layout import Layout, Reports, Vector, length_of
from hearsay.mechanisms.metric.bounds import advice_on_bins
from hearsay.mechanisms.metric.sign_estimate import AxisNoise, SignEstimate
from hearsay.mechanisms.metric.sign_vectors import SignVectors
from hearsay.mechanisms.options import choice, flag, number
from hearsay.mechanisms.portable import Node, flipped_signs

MAXIMUM_OBSERVATIONS = 1 << 24  # 128 MiB of state for each window
MINIMUM_EPSILON_PER_CELL = 1e-9
# Rescaling epsilon takes a few roundings in double precision; this factor makes the result err towards more privacy.
_ROUND_DOWN = 1 - 2.0**-50


@dataclass(frozen=True)
class MetricL1Signs(CellMechanism):
    """Randomly flipped signs along every axis."""

    ESTIMATE: ClassVar[type[CellEstimate]] = SignEstimate
    PROMISE = "metric"
    ID = "metric-l1"
    SUMMARY = "ranges on one or more axes, close values hidden better than distant ones; error free of the axes' sizes"
    OPTIONS = (
        flag("anchored", True, "leave out each axis' constant last sign; false is the paper's literal form"),
        flag("dummy", False, "add one value to every axis that nobody holds (literal form only)"),
        choice(
            "weights", "none", ("none", "public", "private"), "whether the last axis is a weight, and if so a secret"
        ),
        number(
            "p", 1.0, 1.0, 1e6, 'the distance is the L^p norm over the axes; "inf" for the largest difference', True
        ),
    )
    EXAMPLES = (
        {"epsilon": 1.0, "domain": {"kind": "ordinal", "size": 5}},
        {"epsilon": 0.8, "domain": {"kind": "grid", "sizes": [3, 2]}},
        {"epsilon": 1.0, "domain": {"kind": "grid", "sizes": [3, 2]}, "options": {"anchored": False}},
        {"epsilon": 1.2, "domain": {"kind": "ordinal", "size": 4}, "options": {"anchored": False, "dummy": True}},
        {"epsilon": 1.5, "domain": {"kind": "grid", "sizes": [2, 3, 2]}, "options": {"p": 2}},
        {"epsilon": 0.05, "domain": {"kind": "ordinal", "low": 0, "high": 100, "bins": 4}},
    )

    def check(self) -> None:
        if self.options["dummy"] and self.options["anchored"]:
            raise SpecificationError("options.dummy goes with anchored = false; the anchored form has no use for it")
        observations = prod(self.sizes)
        if observations > MAXIMUM_OBSERVATIONS:
            raise SpecificationError(
                f"domain needs {observations} observations, {observations / 2**17:.0f} MiB of state for each window; "
                f"metric-l1 holds at most {MAXIMUM_OBSERVATIONS}, {MAXIMUM_OBSERVATIONS / 2**17:.0f} MiB: "
                "use fewer axes or coarser ones"
            )
        for axis, epsilon in zip(self.value_domain.axes, self.epsilon_per_cell, strict=False):
            if not MINIMUM_EPSILON_PER_CELL <= epsilon <= EPSILON_LIMIT:
                raise SpecificationError(
                    what="epsilon",
                    must=f"give {MINIMUM_EPSILON_PER_CELL:g}..{EPSILON_LIMIT:g} per cell of {axis.name}",
                    got=f"{epsilon:g}",
                    ending=" (epsilon per unit times the bin's width)",
                )

    @property
    def value_domain(self) -> Cells:
        """The domain of range queries: all axes, without the weight where there is one."""
        return self.domain

    def advice(self, postprocess: str = "none") -> list[str]:
        axes = zip(self.value_domain.axes, self.epsilon_per_cell, strict=False)
        return [advice_on_bins(axis, epsilon) for axis, epsilon in axes if axis.low is not None]

    @property
    def anchored(self) -> bool:
        return bool(self.options["anchored"])

    @cached_property
    def p(self) -> float:
        """The distance's exponent."""
        return inf if self.options["p"] == "inf" else float(self.options["p"])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of signs along each axis, including the dummy value's."""
        return tuple(size + int(self.options["dummy"]) for size in self.value_domain.shape)

    @cached_property
    def signs(self) -> SignVectors:
        return SignVectors(self.sizes, self.anchored)

    @cached_property
    def _scales(self) -> tuple[float, ...]:
        """The L1 epsilon of one cell along each axis, divided by epsilon."""
        of_norm = len(self.value_domain.axes) ** -(1 - 1 / self.p)
        return tuple(axis.width * of_norm for axis in self.value_domain.axes)

    @cached_property
    def epsilon_per_cell(self) -> tuple[float, ...]:
        """The epsilon of one sign, for each axis."""
        return tuple(self.epsilon if s == 1 else self.epsilon * s * _ROUND_DOWN for s in self._scales)

    @cached_property
    def flips(self) -> tuple[int, ...]:
        """The chance q out of 2^64 of flipping a sign, for each axis."""
        return tuple(flip_threshold(epsilon) for epsilon in self.epsilon_per_cell)

    @cached_property
    def correlations(self) -> tuple[float, ...]:
        """c = 1 - 2q for each axis, with the exact q of `flips`."""
        return tuple(float(1 - 2 * probability(flip)) for flip in self.flips)

    @cached_property
    def noise(self) -> tuple[AxisNoise, ...]:
        return tuple(AxisNoise.of(c, self.anchored) for c in self.correlations)

    @property
    def lp(self) -> MetricLp:
        """The guarantee for the values; with the widths of bins if an axis is continuous."""
        axes = self.value_domain.axes
        continuous = any(axis.low is not None for axis in axes)
        return MetricLp(self.epsilon, self.p, tuple(axis.width for axis in axes) if continuous else None)

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.lp

    @cached_property
    def spent_epsilon(self) -> float:
        spent = [log_ratio(1 - probability(flip), probability(flip)) for flip in self.flips]
        return max(epsilon / scale for epsilon, scale in zip(spent, self._scales, strict=True))

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(vector=Vector("bits", self.signs.width))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        observation: dict[str, tuple[int, ...]] = {"observation": self.sizes}
        return observation if self.anchored else {**observation, "n": (1,)}

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.check(values).reshape(-1, len(self.sizes))
        return {"bits": self.signs.pack(cells) ^ self._flipped(len(cells), random)}

    def _flipped(self, rows: int, random: Random) -> Packed:
        if len(set(self.flips)) == 1:
            return random.bits(self.flips[0], rows, self.signs.width)
        coins = [
            np.unpackbits(random.bits(flip, rows, length), axis=1, count=length, bitorder="little")
            for flip, length in zip(self.flips, self.signs.lengths, strict=True)
        ]
        return np.packbits(np.concatenate(coins, axis=1), axis=1, bitorder="little")

    def portable(self) -> Node:
        return flipped_signs(self.domain.shape, self.signs.lengths, self.flips)

    def fold(self, state: State, reports: Reports) -> State:
        state["observation"] += self.signs.observe(reports["bits"])
        if not self.anchored:
            state["n"] += length_of(reports)
        return state

    def reports(self, state: State) -> int:
        return int(state["observation"].reshape(-1)[-1] if self.anchored else state["n"][0])

    def estimate(self, state: State) -> SignEstimate:
        n = self.reports(state)
        return SignEstimate.of(self.domain, n, self.rescale(state["observation"] / max(n, 1)), self.noise)

    def rescale(self, observed: Floats) -> Floats:
        """Divide observed signs by their correlation, in place. The last axes of the array are those of the signs."""
        leading = observed.ndim - len(self.sizes)
        for axis, (length, c) in enumerate(zip(self.signs.lengths, self.correlations, strict=True)):
            np.moveaxis(observed, leading + axis, 0)[:length] /= c
        return observed

    def channel(self) -> NDArray[np.float64]:
        return self.sign_channel(self.domain.shape)

    def sign_channel(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """P(bits | cell) for every cell of a grid of this shape and every string of bits."""
        cells = np.stack(np.unravel_index(np.arange(prod(shape)), shape), axis=1)
        strings = Layout.of(vector=Vector("bits", self.signs.width)).enumerate()["bits"]
        truth, outcomes = self._bits(self.signs.pack(cells)), self._bits(strings)
        flip = np.repeat([float(probability(flip)) for flip in self.flips], self.signs.lengths)
        return np.where(truth[:, None, :] == outcomes[None, :, :], 1 - flip, flip).prod(axis=2)

    def _bits(self, packed: Packed) -> NDArray[np.uint8]:
        return np.unpackbits(packed, axis=1, count=self.signs.width, bitorder="little")

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """On uniform data: of an interior cell, and of an interior range that covers half of each axis."""

        def stderr(shares: list[float]) -> float:
            inside = [
                noise.interior if size > 2 or not self.anchored else noise.edge
                for noise, size in zip(self.noise, self.value_domain.shape, strict=False)
            ]
            moment = prod(v + share for v, share in zip(inside, shares, strict=True))
            return float(np.sqrt((moment - prod(shares)) / max(reports, 1)))

        return {
            "point": stderr([1 / size for size in self.value_domain.shape]),
            "range": stderr([0.5 for _ in self.value_domain.shape]),
        }
