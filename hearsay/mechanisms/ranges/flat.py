"""Ranges from a plain histogram: any oracle over the cells, and prefix sums.

Device    Report the cell by the oracle, as it is.
Privacy   The oracle's.
Estimate  The oracle's shares; a range is the sum of its cells, the whole domain is known to be 1.
Variance  exact for every range from the oracle's second moments with weights 1 inside the range (`level_noise`), where
          pairs of cells come from the range's dyadic parts (`xor_pairs`).                       Kulkarni 5.2

The error grows with the square root of the range's length: right for small domains and for short ranges.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import CellMechanism, State, Values
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.inversion import Inversion
from hearsay.mechanisms.estimates.ranges import Ends, RangeEstimate, middle_half, sampled_ranges, standard_error
from hearsay.mechanisms.exact.hadamard import power_of_two_at_least
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.promises import Guarantee
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.options import Option
from hearsay.mechanisms.oracles.covering_hashing import NUMBERED_OLH, CoveringOLH
from hearsay.mechanisms.oracles.linear_hashing import LinearHashing
from hearsay.mechanisms.oracles.on_oracle import OnOracle
from hearsay.mechanisms.oracles.oracle import FrequencyOracle, oracle_over
from hearsay.mechanisms.portable import Node
from hearsay.mechanisms.ranges.hierarchical.tree import sum_children
from hearsay.mechanisms.ranges.level_noise import LevelNoise
from hearsay.mechanisms.ranges.xor_pairs import NEGLIGIBLE, XorPairs

ORACLES = ("grr", "ss", "sue", "oue", "olh", "hrr")


def check_oracle(value: Any) -> Any:
    """One of the oracles, or olh with numbers; None leaves it to the mechanism."""
    if value is None or value in ORACLES or (isinstance(value, str) and NUMBERED_OLH.fullmatch(value)):
        return value
    raise SpecificationError(
        what="options.oracle", expected=f"one of {', '.join(ORACLES)} or like olh-12", got=repr(value)
    )


@dataclass(frozen=True)
class FlatEstimate(RangeEstimate):
    """Shares of the cells; `cumulative` is the share before each cell, `pairs` go from halves of the domain down."""

    cumulative: Floats
    noise: LevelNoise
    pairs: tuple[XorPairs | None, ...]
    hashed: bool = False

    def answer(self, x: Ends, y: Ends) -> tuple[Floats, Floats]:
        share = self.cumulative[y] - self.cumulative[x]
        whole = y - x == self.domain.size
        return np.where(whole, 1.0, share), np.where(whole, 0.0, self.variance(x, y, share))

    def variance(self, x: Ends, y: Ends, share: Floats) -> Floats:
        """Of ranges x..y-1 that hold these shares; of the whole domain it is that of a sum that is not known."""
        count, noise = (y - x).astype(np.float64), self.noise
        clipped = np.clip(share, 0.0, 1.0)
        moment = noise.a * count + noise.b * clipped + noise.c * count**2 + noise.d * count * clipped
        moment -= noise.mean * clipped**2
        if noise.pairs:
            moment -= noise.pairs * np.clip(self._paired(x, y, count), 0.0, count)
        variance: Floats = noise.scale * moment - clipped * (1 - clipped) / max(self.reports, 1)
        return variance

    def _paired(self, x: Ends, y: Ends, count: Floats) -> Floats:
        """Sum of F over all pairs of cells of the range: its mean over the domain, then halves, quarters, ..."""
        size = 1 << len(self.pairs)
        ends = np.stack([x, np.where(y == size, 0, y)])  # neither cuts a node
        paired = (count / size) ** 2
        for level, pairs in enumerate(self.pairs, start=1):
            paired = 2 * paired
            if pairs is not None:
                span = size >> level
                node = ends // span
                paired += pairs.of_prefixes(node, (ends - node * span) / float(span))
        return paired

    @property
    def few_reports(self) -> bool:
        return self.noise.has_few_reports()

    def sensitivity(self, x: Ends, y: Ends) -> tuple[Floats | float, Floats | float]:
        """Every cell counts with weight 1; a hash may show a range as a whole, or nothing of it."""
        slope = self.noise.slope
        count = np.minimum(y - x, self.domain.size - (y - x))
        return slope, slope / 2 * (np.sqrt(count) if self.hashed else 1.0)

    def prefix_values(self) -> Floats:
        return np.append(self.cumulative[1:-1], 1.0)

    @cached_property
    def inversion(self) -> Inversion:
        """Errors add up along the cells, and over a long stretch that holds nobody some limit is passed more often than
        each one is: a band reaches to the first cell whose upper limit reaches the rank, and the last before which the
        lower one does not.
        """
        plain = super().inversion
        at = plain.rising[plain.cells]
        upper = np.maximum.accumulate(at + plain.above)
        lower = np.minimum.accumulate((at - plain.below)[::-1])[::-1]
        return replace(plain, above=upper - at, below=at - lower)


@dataclass(frozen=True)
class Flat(CellMechanism, OnOracle):
    """Ranges and quantiles from one histogram."""

    ESTIMATE: ClassVar[type[CellEstimate]] = FlatEstimate
    ID = "flat"
    SUMMARY = "ranges and quantiles from one histogram: for small domains and short ranges"
    OPTIONS = (
        Option(
            "oracle",
            None,
            check_oracle,
            f"the oracle of the histogram: {', '.join(ORACLES)}, or olh with t and named, such as olh-12 or olh-4-3; "
            "where absent olh, from about epsilon 6 on with the best t",
        ),
    )
    EXAMPLES = (
        {"epsilon": 1.1, "domain": {"kind": "ordinal", "size": 6}},
        {"epsilon": 1.0, "domain": {"kind": "ordinal", "size": 8}, "options": {"oracle": "hrr"}},
        {"epsilon": 2.0, "domain": {"kind": "ordinal", "size": 5}, "options": {"oracle": "oue"}},
        {"epsilon": 0.7, "domain": {"kind": "ordinal", "size": 7}, "options": {"oracle": "olh-3-3"}},
    )

    def check(self) -> None:
        self.oracle.check()

    @cached_property
    def oracle(self) -> FrequencyOracle:
        return oracle_over(self._oracle, self.domain.size, self.epsilon)

    @cached_property
    def _oracle(self) -> str:
        return self.options["oracle"] or CoveringOLH.best_inside(self.domain.size, self.epsilon)

    def canonical_options(self) -> dict[str, Any]:
        return {"oracle": self._oracle}

    def advice(self, postprocess: str = "none") -> list[str]:
        return [
            "A range is the sum of its cells, and the estimated cells do not sum to exactly 1: range A LAST differs "
            "from 1 - prefix (A - 1) by the error of that sum. Of a range of more than half of the domain more is "
            "known by 1 less the rest."
        ]

    @property
    def guarantee(self) -> Guarantee:
        return self.oracle.guarantee

    def perturb(self, values: Values, random: Random) -> Reports:
        return self.oracle.perturb(self.domain.flatten(values), random)

    def portable(self) -> Node:
        return self.oracle.portable()

    def estimate(self, state: State) -> CellEstimate:
        cells = self.oracle.estimate(state)
        noise = LevelNoise.of(self.oracle, cells.reports)
        cumulative = np.append(0.0, np.cumsum(cells.estimate))
        pairs = self._pairs(cells.estimate, noise)
        stderr = cells.stderr if cells.reports else np.full(cells.stderr.shape, np.inf)
        return FlatEstimate(self.domain, cells.reports, cells.estimate, stderr, cumulative, noise, pairs, self._hashed)

    @property
    def _hashed(self) -> bool:
        return isinstance(self.oracle, LinearHashing)

    def _pairs(self, shares: Floats, noise: LevelNoise) -> tuple[XorPairs | None, ...]:
        """Of halves, quarters, ... of the padded domain, where characters are divided by their own counts."""
        if not noise.pairs:
            return ()
        size = power_of_two_at_least(self.domain.size)
        nodes = np.zeros(size)
        nodes[: shares.size] = shares
        variance, real = noise.own_variance(shares), shares.size
        pairs = []
        while nodes.size > 1:
            # Padding has no noise: a node's is the average over its level.
            per_node = variance * real / nodes.size
            pairs.append(XorPairs.of(nodes, per_node, 2, NEGLIGIBLE * noise.a / noise.pairs))
            nodes = sum_children(nodes, 2, nodes.size // 2)
        return tuple(reversed(pairs))

    def report_spans(self) -> dict[str, float]:
        span = self.oracle.range_span(*middle_half(self.domain.size))
        return {**self.oracle.report_spans(), **({} if span is None else {"range": span})}

    @property
    def raised_norms(self) -> float:
        return self.oracle.raised_norms

    def channel(self) -> NDArray[np.float64]:
        return self.oracle.channel()

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """For evenly filled cells; `range` is the root mean square over all ranges, by a fixed sample of them."""
        size = self.domain.size
        noise = LevelNoise.of(self.oracle, reports, own_counts=False)
        even = FlatEstimate(self.domain, reports, *(np.zeros(0),) * 3, noise, (), self._hashed)
        x, y = sampled_ranges(size)
        # Not from prefix sums: those of 2^28 cells take gigabytes, and most of the time that `auto` needs.
        variance = np.where(y - x == size, 0.0, even.variance(x, y, y / size - x / size))
        mean = np.maximum(variance, 0.0).mean(keepdims=True)  # near epsilon 50 rounding may leave less than nothing
        return {**self.oracle.predicted_stderr(reports), "range": float(standard_error(mean, reports)[0])}
