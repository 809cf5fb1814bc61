"""Hierarchical histograms: a tree over an ordered domain, one level a device, an oracle a level.

Device    Draw a level of the tree, and one of its offsets, without looking at the value; report the value's node there
          by the level's oracle.
Privacy   The oracle's: level and offset are independent of the value, and a device reports once.
Estimate  The shares at every shifted level from its own reports, made consistent by weighted least squares with the
          total known to be 1 (`crown`, `tree`); a range is a difference of two cumulative shares.
Variance  exact for every range, `crown_variance` and `tree_variance`; without consistency, `tree_parts`.
                                                                                                    Kulkarni 5.3, 5.4
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hearsay.mechanisms.base import State
from hearsay.mechanisms.domains.domain import Domain, Indices
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.postprocess import SMOOTH
from hearsay.mechanisms.estimates.ranges import Ends, RangeEstimate, sampled_ranges, standard_error
from hearsay.mechanisms.exact.one_thread import in_one_thread
from hearsay.mechanisms.options import complete
from hearsay.mechanisms.oracles.oracle import oracle_over
from hearsay.mechanisms.portable import Node, level_choice
from hearsay.mechanisms.ranges.advice import isotonic_advice
from hearsay.mechanisms.ranges.hierarchical.crown_variance import CrownVariance
from hearsay.mechanisms.ranges.hierarchical.even_tree import EvenTreeVariance
from hearsay.mechanisms.ranges.hierarchical.hierarchy import Hierarchy
from hearsay.mechanisms.ranges.hierarchical.level_plan import DEFAULT_ORACLE, equal, optimise, tree_options
from hearsay.mechanisms.ranges.hierarchical.planned_level import Plan, PlannedLevel
from hearsay.mechanisms.ranges.hierarchical.smooth import (
    LEAST_CELLS,
    MOST_CELLS,
    RawLevel,
    SmoothFit,
    looks,
    misfit_limit,
)
from hearsay.mechanisms.ranges.hierarchical.tree import Tree
from hearsay.mechanisms.ranges.hierarchical.tree_parts import PartsEstimate
from hearsay.mechanisms.ranges.hierarchical.tree_variance import TreeVariance
from hearsay.mechanisms.ranges.level_mechanism import LevelMechanism
from hearsay.mechanisms.ranges.level_noise import LevelNoise, level_shares
from hearsay.mechanisms.ranges.levels import SampledLevels, cumulative_thresholds
from hearsay.mechanisms.ranges.xor_pairs import NEGLIGIBLE, XorPairs, spread_over_pairs

DEFAULT_FANOUT = 4
_MANY = 1 << 20


@dataclass(frozen=True)
class TreeEstimate(RangeEstimate):
    """Consistent shares with the exact variance of every range."""

    uncertainty: TreeVariance
    levels: tuple[RawLevel, ...] = ()  # what `smooth` is fitted to; none where the domain has too few or too many cells

    def lacks(self, method: str) -> str | None:
        return None if method == SMOOTH and self.levels else super().lacks(method)

    @cached_property
    def smooth(self) -> SmoothFit:
        """A smooth density through all levels."""
        with in_one_thread():
            return SmoothFit.of(self.domain.size, self.levels)

    @cached_property
    def not_smooth(self) -> str | None:
        """Why smooth answers would mislead: what the data say that no smooth density does; None: nothing."""
        first, end = looks(self.domain.size)
        raw = self.ranges(first[:, None], end[:, None] - 1)
        smooth = self.smooth.ranges(first, end).value
        misfit = float(np.abs((raw.value - smooth) / raw.stderr).max())
        limit = misfit_limit(self.domain.size)
        if misfit <= limit:
            return None
        return (
            f"the data are not smooth: a stretch lies {misfit:.1f} standard errors off the smooth fit, and chance "
            f"explains {limit:.1f}; this is the isotonic answer"
        )

    def answer(self, x: Ends, y: Ends) -> tuple[Floats, Floats]:
        cumulative = self.uncertainty.cumulative
        return cumulative[y] - cumulative[x], self.uncertainty.ranges(x, y)

    @property
    def few_reports(self) -> bool:
        return self.uncertainty.few_reports

    def sensitivity(self, x: Ends, y: Ends) -> tuple[Floats | float, Floats | float]:
        slope = self.uncertainty.sensitivity(x, y)
        return slope, slope / 2

    def prefix_values(self) -> Floats:
        return self.uncertainty.cumulative[1:]


@dataclass(frozen=True)
class Hierarchical(LevelMechanism):
    """Ranges and quantiles from a tree of shares."""

    ESTIMATE: ClassVar[type[CellEstimate]] = RangeEstimate
    ID = "hierarchical"
    SUMMARY = "ranges and quantiles: a tree of histograms, made consistent"
    OPTIONS = tree_options()
    EXAMPLES = (
        {"epsilon": 1.1, "domain": {"kind": "ordinal", "size": 6}, "options": {"fanout": 2}},
        {"epsilon": 0.8, "domain": {"kind": "ordinal", "size": 5}, "options": {"fanout": 2, "oracle": "oue"}},
        {"epsilon": 1.5, "domain": {"kind": "ordinal", "size": 9}, "options": {"fanout": 3, "oracle": "grr"}},
        {
            "epsilon": 1.0,
            "domain": {"kind": "ordinal", "low": 0.0, "high": 60.0, "bins": 8},
            "options": {"fanout": 4, "oracle": "hrr", "consistency": False},
        },
        {"epsilon": 1.1, "domain": {"kind": "ordinal", "size": 8}},
        {
            "epsilon": 0.9,
            "domain": {"kind": "ordinal", "size": 7},
            "options": {"levels": ["2 grr 1024 at 4", "2 ss 1024 at 2", "2 olh 2048"]},
        },
    )

    def check(self) -> None:
        if self._levels != "uniform":
            for name in ("fanout", "oracle"):
                if self.options[name] is not None:
                    raise SpecificationError(f'options.{name} goes with levels = "uniform", not with chosen levels')
        if self.options["workload"] != "all" and self._levels != "optimised":
            raise SpecificationError('options.workload goes with levels = "optimised", not with uniform levels')
        if self._levels == "optimised" and not self.options["consistency"]:
            raise SpecificationError(what="options.consistency", expected='true with levels = "optimised"', got="false")
        self.hierarchy.check()
        if not self.options["consistency"] and len(self.hierarchy.shifted_levels) > len(self.plan):
            raise SpecificationError(what="options.consistency", expected="true where levels have offsets", got="false")

    @classmethod
    def rough_options(cls, epsilon: float, domain: Domain, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """A regular tree in place of one that is optimised: wider by a third, in nearly the same ratio everywhere."""
        optimised = _levels_of(complete(cls.OPTIONS, options)) == "optimised"
        return {"levels": "uniform", "oracle": "auto"} if optimised else options

    def advice(self, postprocess: str = "none") -> list[str]:
        return isotonic_advice(self.domain, postprocess)

    @property
    def _levels(self) -> Any:
        return _levels_of(self.options)

    @cached_property
    def plan(self) -> Plan:
        """The levels from the root down: fan-out, oracle and share of the devices."""
        if self._levels == "optimised":
            return optimise(self.domain.size, self.epsilon, self.options["workload"])
        if self._levels != "uniform":
            return tuple(PlannedLevel.parse(text) for text in self._levels)
        oracle = self.options["oracle"] or DEFAULT_ORACLE
        return equal(self.domain.size, self.options["fanout"] or DEFAULT_FANOUT, self.epsilon, oracle)

    def lasting_options(self) -> dict[str, Any]:
        options = super().lasting_options()
        solved = options["consistency"] and not isinstance(self._levels, str)
        return {**options, "levels": "optimised"} if solved else options

    def canonical_options(self) -> dict[str, Any]:
        consistency = self.options["consistency"]
        if self._levels == "uniform" and self.options["oracle"] != "auto":
            first = self.plan[0]
            return {"fanout": first.fanout, "oracle": first.oracle, "consistency": consistency, "levels": "uniform"}
        return {"consistency": consistency, "levels": [str(level) for level in self.plan]}

    @cached_property
    def hierarchy(self) -> Hierarchy:
        return Hierarchy(self.domain.size, self.plan)

    @cached_property
    def levels(self) -> SampledLevels:
        """The shifted levels, each as a level of its own."""
        hierarchy = self.hierarchy
        named = [(hierarchy.oracle(each), hierarchy.nodes(each)) for each in hierarchy.shifted_levels]
        oracles = {pair: oracle_over(*pair, self.epsilon) for pair in dict.fromkeys(named)}  # shifts share theirs
        return SampledLevels(tuple(oracles[pair] for pair in named), cumulative_thresholds(hierarchy.shares))

    def node(self, level: int, cells: Indices) -> Indices:
        return self.hierarchy.node(self.hierarchy.shifted_levels[level - 1], cells)

    def portable(self) -> Node:
        pairs = zip(self.hierarchy.shifted_levels, self.levels.oracles, strict=True)
        return level_choice(
            self.levels.thresholds, [self.hierarchy.portable(level, oracle.portable()) for level, oracle in pairs]
        )

    def estimate(self, state: State) -> CellEstimate:
        counts = self.levels.counts(state)
        noise = self._noise(counts)
        raw = [
            level_shares(oracle, self.levels.state(state, shifted_level), own_counts)
            for shifted_level, (oracle, own_counts) in enumerate(
                zip(self.levels.oracles, self._own_counts, strict=True), start=1
            )
        ]
        if not self.options["consistency"]:
            return PartsEstimate.of(self.domain, sum(counts), self.hierarchy.tree, noise, raw)
        with in_one_thread():
            return self._consistent(counts, noise, raw)

    def _consistent(self, counts: list[int], noise: tuple[LevelNoise, ...], raw: list[Floats]) -> CellEstimate:
        """The estimate by least squares."""
        variances = self._variances(noise)
        inference = self.hierarchy.inference(variances)
        tree, in_crown = inference.tree, len(inference.windows)
        spectra = tuple(
            spread_over_pairs(shares, variance) if level.pairs else None
            for shares, variance, level in zip(raw[:in_crown], variances, noise, strict=False)
        )
        pairs = self._pairs(tree, noise[in_crown:], inference.variances, raw[in_crown:])
        leaves = inference.leaves(raw[:in_crown], raw[in_crown:])
        cumulative = _cumulative(leaves)
        units = np.diff(cumulative[np.minimum(np.arange(tree.nodes[1] + 1) * tree.spans[1], tree.size)])
        of_units = spread_over_pairs(units, np.trace(inference.crown.covariance) / units.size) if any(pairs) else None
        top = CrownVariance(inference.crown, noise[:in_crown], units, spectra, of_units)
        uncertainty = TreeVariance(inference, top, noise[in_crown:], sum(counts), cumulative, pairs)
        stderr = standard_error(uncertainty.cells(), sum(counts))
        return TreeEstimate(self.domain, sum(counts), leaves, stderr, uncertainty, self._raw_levels(raw, variances))

    def _raw_levels(self, raw: list[Floats], variances: list[float]) -> tuple[RawLevel, ...]:
        if self.lacks(SMOOTH) is not None:
            return ()
        cells = np.arange(self.domain.size)
        levels = enumerate(zip(raw, variances, strict=True), start=1)
        return tuple(RawLevel(self.node(level, cells), shares, variance) for level, (shares, variance) in levels)

    def lacks(self, method: str) -> str | None:
        fits = LEAST_CELLS <= self.domain.size <= MOST_CELLS and self.options["consistency"]
        return None if method == SMOOTH and fits else super().lacks(method)

    def _noise(self, counts: list[int]) -> tuple[LevelNoise, ...]:
        pairs = zip(self.levels.oracles, counts, self._own_counts, strict=True)
        return tuple(LevelNoise.of(oracle, count, own_counts) for oracle, count, own_counts in pairs)

    @cached_property
    def _own_counts(self) -> list[bool]:
        """Whether a shifted level's hashing oracle may divide by own counts: where its exact error can be told.

        That is everywhere in the crown, and below it where pairs of nodes line up with the characters (`xor_pairs`).
        """
        hierarchy, consistent = self.hierarchy, bool(self.options["consistency"])
        below = hierarchy.below
        aligned = all(fanout & (fanout - 1) == 0 for fanout in below.fanouts[1:]) and not below.last_ragged
        return [
            consistent and (shifted_level.level <= hierarchy.depth or aligned)
            for shifted_level in hierarchy.shifted_levels
        ]

    def _variances(self, noise: tuple[LevelNoise, ...]) -> list[float]:
        """Of a node's estimate at every shifted level, as least squares weighs it."""
        pairs = zip(noise, self.hierarchy.shifted_levels, strict=True)
        return [level.contrast_variance(self.hierarchy.nodes(shifted_level)) for level, shifted_level in pairs]

    @staticmethod
    def _pairs(
        tree: Tree, noise: tuple[LevelNoise, ...], variances: tuple[float, ...], raw: list[Floats]
    ) -> tuple[XorPairs | None, ...]:
        """For level 2..h, down to the deepest that divides characters by their own counts, where it matters."""
        share = max((level.pairs / level.a for level in noise), default=0.0)
        deepest = max((index for index, level in enumerate(noise) if level.pairs), default=-1)
        return tuple(
            XorPairs.of(shares, variances[index], tree.fanouts[index + 1], NEGLIGIBLE / share)
            if index <= deepest
            else None
            for index, shares in enumerate(raw)
        )

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """For evenly filled cells; `range` is the root mean square over all ranges, by a fixed sample of them."""
        many = max(reports, _MANY)  # few reports do not divide as the shares say
        noise = self._noise([max(1, round(many * share)) for share in self.levels.probabilities])
        inference = self.hierarchy.inference(self._variances(noise))
        in_crown, tree, size = len(inference.windows), inference.tree, self.domain.size
        units = inference.crown.cells / size
        top = CrownVariance(inference.crown, noise[:in_crown], units, (None,) * in_crown, None)
        below = noise[in_crown:]
        uncertainty = EvenTreeVariance(inference, top, below, many, np.zeros(0), (None,) * (tree.height - 1))
        x, y = sampled_ranges(size)
        variance = uncertainty.ranges(x, y)
        middle = np.array([size // 2], dtype=np.int64)
        point = uncertainty.ranges(middle, middle + 1)
        scale = many / max(reports, 1)
        # Near epsilon 50 nearly all reports are true, and what is left of a variance may be rounding below 0.
        mean = np.array([point[0], np.maximum(variance, 0.0).mean()])
        at_point, at_range = standard_error(scale * mean, reports).tolist()
        return {"point": at_point, "range": at_range}


def _cumulative(leaves: Floats) -> Floats:
    """Shares before each cell; the last is exactly 1, which the inference knows."""
    cumulative = np.empty(leaves.size + 1)
    cumulative[0] = 0.0
    np.cumsum(leaves, out=cumulative[1:])
    cumulative[-1] = 1.0
    return cumulative


def _levels_of(options: Mapping[str, Any]) -> Any:
    """How the levels are chosen: optimised, unless the survey asks for something else."""
    if options["levels"] is not None:
        return options["levels"]
    plain = options["fanout"] is None and options["oracle"] is None and options["consistency"]
    return "optimised" if plain else "uniform"
