"""Surveys of counts: every device holds a count 0..max and reports another one, by a matrix of exact probabilities.

Privacy   no report is more than e^(epsilon k) times likelier under one of two counts k apart than under the other;
          with `local` e^epsilon for any two counts, with `within` for any two at most so far apart. The integer
          weights satisfy this exactly: `promise`.
Estimate  the inverse of the matrix, exactly unbiased; what a singular matrix does not tell is unknown. `estimate`.
Variance  sum_j f_j v_j/n, v_j the variance of a report's score by the count it comes from.

A matrix that was solved for is part of the canonical survey: devices need no solver, and machines cannot disagree.
Kulkarni chapter 6.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hearsay.mechanisms.base import Mechanism, State
from hearsay.mechanisms.counts.design import Design, facts
from hearsay.mechanisms.counts.domain import Count
from hearsay.mechanisms.counts.estimate import CountEstimate, Scores, inverse
from hearsay.mechanisms.counts.heat_map import heat_map
from hearsay.mechanisms.counts.integers import to_shares
from hearsay.mechanisms.counts.packing import pack, unpack
from hearsay.mechanisms.counts.promise import Table
from hearsay.mechanisms.counts.properties import properties_of
from hearsay.mechanisms.counts.settings import DESIGN, MATRIX, PACKED, TIE
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.ranges import sampled_ranges
from hearsay.mechanisms.exact.mixtures import Weights
from hearsay.mechanisms.exact.thresholds import log_ratio
from hearsay.mechanisms.guarantees.promises import Guarantee, LimitedPrecision, MetricLp, PureLDP
from hearsay.mechanisms.oracles.finite_channel import FiniteChannel

_PROGRAMMED = "its matrix is found by linear programming and checked in exact integers"
LARGEST_PACKED = 64  # a survey carries at most 23 KB of matrix


@dataclass(frozen=True)
class CountMechanism(FiniteChannel):
    """A matrix for counts."""

    PROMISE = "metric"

    domain: Count

    ESTIMATE: ClassVar[type[CountEstimate]] = CountEstimate
    SOLVED: ClassVar[tuple[str, ...]] = (MATRIX,)
    PICTURE = "heat_map"

    @cached_property
    def design(self) -> Design:
        return Design(self.ID, self.domain.largest, self.epsilon, self.options)

    @cached_property
    def whole(self) -> Table:
        """P[output, input] as integers out of 2^64: the survey's own, or as designed."""
        text = self.options.get(MATRIX)
        return self.design.whole() if text is None else unpack(text, self.domain.largest)

    @cached_property
    def weights(self) -> Weights:
        return tuple(map(tuple, self.whole.T.tolist()))

    def check(self) -> None:
        largest, design = self.domain.largest, self.design
        if design.solved and largest > LARGEST_PACKED:
            raise SpecificationError(
                what="domain.max",
                expected=f"at most {LARGEST_PACKED} for mechanism {self.ID}, whose matrix is part of the survey",
                got=largest,
                ending="; gm, em and um take more, and so does hearsay release",
            )
        design.check()
        if self.options.get(MATRIX) is None:
            return
        if not design.promise.kept(self.whole):
            raise SpecificationError(
                what=f"options.{MATRIX}", must="keep the promise for every pair of counts", ending=", and does not"
            )
        missing = design.asked - set(properties_of(to_shares(self.whole), design.promise.ratio))
        if missing:
            raise SpecificationError(
                what=f"options.{MATRIX}",
                must="have the properties that are asked for",
                ending=f", and lacks {', '.join(sorted(missing))}",
            )

    def canonical_options(self) -> dict[str, Any]:
        options = super().canonical_options()
        return {**options, MATRIX: pack(self.whole)} if self.design.solved else options

    def facts(self) -> dict[str, list[str]]:
        known = facts(self.design, self.whole)
        return {"properties": list(known.properties), "warnings": list(known.warnings)}

    def picture(self) -> list[str]:
        return heat_map(self.channel().T)

    def asks_the_same(self, other: Mechanism) -> bool:
        """The same design, whichever machine solved it; a matrix that the survey brings along counts as asked for."""
        if self.options.get(MATRIX) is not None or not isinstance(other, type(self)):
            return self == other
        mine, theirs = ({**each.options, MATRIX: None} for each in (self, other))
        return (self.epsilon, self.domain, mine) == (other.epsilon, other.domain, theirs)

    @cached_property
    def guarantee(self) -> Guarantee:
        if self.design.promise.local:
            return PureLDP(self.epsilon)
        within = self.design.promise.within
        return MetricLp(self.epsilon) if within == 1 else LimitedPrecision(self.epsilon, within)

    @cached_property
    def spent_epsilon(self) -> float:
        """The worst loss over counts that the promise is about, of the integers really drawn."""
        possible = self.whole[(self.whole > 0).any(axis=1)]
        worst = Fraction(1)
        for apart in range(1, self.design.promise.reach(self.domain.largest) + 1):
            for one, other in (
                (possible[:, apart:], possible[:, :-apart]),
                (possible[:, :-apart], possible[:, apart:]),
            ):
                # The largest quotients as floats, their exact value from the integers: rounding picks among near ties.
                at = np.unravel_index(np.argmax((one / other).astype(np.float64)), one.shape)
                worst = max(worst, Fraction(int(one[at]), int(other[at])))
        return log_ratio(worst, Fraction(1))

    @cached_property
    def inverse(self) -> Floats:
        """M with M P = I, or what comes nearest where the matrix is singular."""
        return inverse(self.channel())

    def estimate(self, state: State) -> CountEstimate:
        reports = self.reports(state)
        return CountEstimate.of(self.domain, reports, self.channel(), self.inverse, state["hist"] / max(reports, 1))

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """For counts equally frequent: cells, ranges and the mean, those of them that can be told."""
        size = self.domain.size
        x, y = sampled_ranges(size)
        count = np.arange(size)
        inside = (count >= x[:, None]) & (count < y[:, None]) & (y - x < size)[:, None]
        asked = {
            "point": np.eye(size),
            "range": inside[inside.any(axis=1)].astype(np.float64),
            "mean": count[None].astype(np.float64),
        }
        predicted = {}
        for kind, rows in asked.items():
            scores = Scores(self.channel(), self.inverse, rows)
            if scores.known.all():
                predicted[kind] = float(np.sqrt(scores.variances.mean() / reports))
        return predicted


@dataclass(frozen=True)
class Geometric(CountMechanism):
    """gm"""

    ID = "gm"
    SUMMARY = "geometric noise cut to 0..max: best under L0, best mean, ends too likely"
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = ({"epsilon": 0.7, "domain": {"kind": "count", "max": 4}},)


@dataclass(frozen=True)
class ExplicitFair(CountMechanism):
    """em"""

    ID = "em"
    SUMMARY = "the explicit fair mechanism: every count is released unchanged with the same probability"
    OPTIONS = (TIE, PACKED)
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 0.7, "domain": {"kind": "count", "max": 5}},
        {
            "epsilon": 0.4,
            "domain": {"kind": "count", "max": 3},
            "options": {
                "tie": "l1",
                "matrix": "W8HdwzqzsQBbwd3DOrOw_izZQXcW1CfmG6MDAnPEdhw9gbptePHE_lvB3cM6s7C_PYG6bXjxxP4pOq1h02jFRQ",
            },
        },
    )


@dataclass(frozen=True)
class Uniform(CountMechanism):
    """um"""

    ID = "um"
    SUMMARY = "a blind guess, to compare with: it tells nothing"
    ERROR_FLOOR = "it is the same guess for every count"
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = ({"epsilon": 0.7, "domain": {"kind": "count", "max": 3}},)


@dataclass(frozen=True)
class WeaklyHonest(CountMechanism):
    """wm"""

    PLANNED_WHEN_NAMED = "its constraints are about single releases: in surveys it is never below the error of gm"
    ID = "wm"
    LONG_CHECK = _PROGRAMMED
    SUMMARY = "the best under L0 that is weakly honest, row and column monotone"
    OPTIONS = (PACKED,)
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "epsilon": 0.4,
            "domain": {"kind": "count", "max": 3},
            "options": {
                "matrix": "clJQft1q6q5Iz_8c22fYMCJu2DJV0FKRIm7YMfFc6pFMocwX6gtf3kyhzBjJmhPgM14z5_EatyEzXjPnWz_VIQ"
            },
        },
    )


@dataclass(frozen=True)
class Programmed(CountMechanism):
    """lp"""

    PLANNED_WHEN_NAMED = "its constraints are about single releases: in surveys it is never below the error of gm"
    ID = "lp"
    LONG_CHECK = _PROGRAMMED
    SUMMARY = "the best for any objective, weights and properties, by linear programming"
    OPTIONS = (*DESIGN, PACKED)
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "epsilon": 0.4,
            "domain": {"kind": "count", "max": 3},
            "options": {
                "properties": ["WH"],
                "matrix": "hSqSsnKXYtY197zpRjtiCBzBzkW0FW8-KBviHpMXy-RZQ5gwQ93-PEAAAABvx3eBKuaGDS_Pdpk71eHCHIsTqg",
            },
        },
        {
            "epsilon": 1.0,
            "domain": {"kind": "count", "max": 2},
            "options": {"local": True, "matrix": "k3xlar4dKS42Qc1KoPFWaTZBzUqg8YBpNkHNSqDxf76TfGVqvh0AhA"},
        },
    )
