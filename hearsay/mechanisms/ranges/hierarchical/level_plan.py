"""Choosing a hierarchy's levels, their oracles, offsets and how often each is asked, for a workload of ranges.

For evenly spread devices the variance of a query is sum over shifted levels of (V/p) sum W^2: V the oracle's variance
per report, p the shifted level's probability, W the weights of its nodes. Averaged over the workload this is

    trace(C Omega) + sum over the levels below the units of kappa_l U_l

with C the units' covariance (`crown`), Omega the mean of q q' over the workload's queries on the units, U_l the blended
variance of a node (`tree`) and kappa_l how much q differs between siblings: the mean of the sum over nodes of q_u^2
less B times that of the level above. Both the weights given p (least squares) and p given the weights (proportional to
sqrt(V sum W^2), a level's offsets alike) are solved in closed form, and W^2/p is convex in both together, so that
alternating between them ends at the best p of all.

A level with p = 0 is as good as absent, so the binary tree holds every tree with fan-outs that are powers of two. What
its levels above the units gain from offsets is as much as choosing oracles and p gains at all: nodes at one offset only
leave some cuts many nodes away from an answer.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.one_thread import in_one_thread
from hearsay.mechanisms.options import Option, choice, flag, integer
from hearsay.mechanisms.oracles.covering_hashing import CoveringOLH
from hearsay.mechanisms.oracles.oracle import oracle_over
from hearsay.mechanisms.ranges.hierarchical.crown_squares import CrownSquares
from hearsay.mechanisms.ranges.hierarchical.hierarchy import Hierarchy
from hearsay.mechanisms.ranges.hierarchical.planned_level import ORACLES, PARTS, Plan, PlannedLevel
from hearsay.mechanisms.ranges.hierarchical.tree import Inference, Tree

DEFAULT_ORACLE = "olh"
# A few bytes whatever the number of nodes: optimised levels use no others, since a bit a node would save 1.5% of their
# error at most, and make reports of a hundred bits and folding slow.
SHORT_REPORTS = ("grr", "olh", "hrr")
BIT_REPORTS = ("ss", "oue")
_WIDEST_BITS = 256
_WORTH_ITS_BITS = 0.98  # a report of many bits must have less than this share of the variance of a short one
WORKLOADS = ("all", "prefix", "short", "long")
LEVELS_TEXT = (
    "uniform, optimised (the default unless fanout, oracle or consistency is given), or a list from the root down: "
    '"2 grr 200 at 8" is fan-out 2, oracle grr, 200 parts of all devices, nodes at 8 offsets; on a grid "4x16 olh 300" '
    "is the tuple of levels with 4 by 16 boxes"
)
OFFSETS = {"all": 8, "prefix": 2, "short": 2, "long": 8}  # more of them cost prefixes what they save elsewhere
_SHORT_SHARE = 100  # "short" ranges hold up to 1/100 of the domain, "long" ones at least half
_SAMPLES = 1 << 14
_ROUNDS = 40  # after ten the variance is within a thousandth of the least
_ROUNDS_TO_DROP = 8


def oracle_option() -> Option:
    """`oracle`: the one of uniform levels; None, the default, leaves the choice to the mechanism."""
    allowed = choice("oracle", DEFAULT_ORACLE, (*ORACLES, "auto"), "")

    def check(value: Any) -> Any:
        return None if value is None else allowed.check(value)

    return Option("oracle", None, check, "the oracle of every uniform level; auto picks one a level; olh where absent")


def levels_option() -> Option:
    """`levels`: how the tree's levels are chosen, or the choice itself."""

    def check(value: Any) -> Any:
        if value in (None, "uniform", "optimised"):
            return value
        if not isinstance(value, list | tuple) or not value:
            raise SpecificationError(
                what="options.levels", expected='"uniform", "optimised" or a list of levels', got=repr(value)
            )
        plan = tuple(PlannedLevel.parse(text) for text in value)
        return [str(level) for level in plan]

    return Option("levels", None, check, LEVELS_TEXT)


def tree_options() -> tuple[Option, ...]:
    """The options of hierarchical, on one axis or several."""
    return (
        integer("fanout", None, 2, 1 << 10, "children of a node where levels are uniform; 4 where absent"),
        oracle_option(),
        flag("consistency", True, "make the levels agree by weighted least squares"),
        levels_option(),
        choice(
            "workload",
            "all",
            WORKLOADS,
            "the ranges that optimised levels are best for; short: up to 1/100 of the domain, long: at least half",
        ),
    )


@lru_cache(maxsize=1 << 12)
def contrast_variance(oracle: str, nodes: int, epsilon: float) -> float:
    """V of one report: what a difference between evenly filled nodes costs per unit of squared weight."""
    moments = oracle_over(oracle, nodes, epsilon).moments
    return moments.a + moments.b / nodes


def best_oracle(nodes: int, epsilon: float) -> tuple[str, float]:
    """The oracle with the least variance; one that sends a bit a node only where that is clearly worth it."""
    short, variance = best_short_oracle(nodes, epsilon)
    if nodes <= _WIDEST_BITS:
        bits = {name: contrast_variance(name, nodes, epsilon) for name in BIT_REPORTS}
        wide = min(bits, key=bits.__getitem__)
        if bits[wide] < _WORTH_ITS_BITS * variance:
            return wide, bits[wide]
    return short, variance


@lru_cache(maxsize=1 << 10)
def best_short_oracle(nodes: int, epsilon: float) -> tuple[str, float]:
    """The oracle with the least variance among those with short reports; with it, V."""
    names = dict.fromkeys((*SHORT_REPORTS, CoveringOLH.best_inside(nodes, epsilon)))
    variance = {name: contrast_variance(name, nodes, epsilon) for name in names}
    best = min(variance, key=variance.__getitem__)
    return best, variance[best]


class Spread(NamedTuple):
    """What the mean over a workload needs to know of it: Omega, and kappa of level 2..h of the tree below the units."""

    units: Floats
    below: Floats


def spread(tree: Tree, workload: str) -> Spread:
    """From an even sample of the workload's ranges; level 1 of the tree is that of the units."""
    x, y = sampled(tree.size, workload)

    def squares(span: int) -> float:
        left, right = np.floor(x / span), np.floor(y / span)
        left_part, right_part = x / span - left, y / span - right
        apart = right - left - 1 + (1 - left_part) ** 2 + right_part**2
        return float(np.where(left == right, (right_part - left_part) ** 2, apart).mean())

    means = [squares(span) for span in tree.spans[1:]]
    pairs = zip(means[1:], means, tree.fanouts[1:], strict=False)
    below = np.array([max(low - fanout * above, 0.0) for low, above, fanout in pairs])
    return Spread(_omega(tree.size, tree.spans[1], workload), below)


@lru_cache(maxsize=8)
def _omega(size: int, span: int, workload: str) -> Floats:
    """The mean of q q' for units of `span` cells."""
    x, y = sampled(size, workload)
    units = np.arange(-(-size // span))
    q = np.clip(y[:, None] / span - units, 0.0, 1.0) - np.clip(x[:, None] / span - units, 0.0, 1.0)
    if size % span:
        q[:, -1] *= span / (size % span)
    omega: Floats = q.T @ q / _SAMPLES
    omega.setflags(write=False)
    return omega


def sampled(size: int, workload: str) -> tuple[Floats, Floats]:
    """Ranges x..y-1 of a workload."""
    step = np.arange(_SAMPLES)
    # Two irrational steps fill the square evenly (the plastic number's sequence, Roberts 2018).
    one, two = ((step * irrational + 0.5) % 1 for irrational in (0.7548776662466927, 0.5698402909980532))
    if workload == "prefix":
        return np.zeros(_SAMPLES), np.floor(two * size)
    if workload == "short":
        x = np.floor(one * size)
        return x, np.minimum(x + 1 + np.floor(two * max(1, size // _SHORT_SHARE)), size)
    if workload == "long":
        length = size - np.floor(one * (size // 2 + 1))
        x = np.floor(two * (size - length + 1))
        return x, x + length
    one, two = np.floor(one * size), np.floor(two * size)
    return np.minimum(one, two), np.maximum(one, two)


def expected_variance(inference: Inference, workload: Spread) -> float:
    """Mean variance over the workload for evenly spread devices."""
    units = float((inference.crown.covariance * workload.units).sum())
    return units + float(workload.below @ np.array(inference.blended[2:]))


def best_shares(hierarchy: Hierarchy, variance: Floats, workload: Spread, shares: Floats, rounds: int) -> Floats:
    """p of level 1..h with the least mean variance over the workload, given each level's V and where to start."""
    depth, tree = hierarchy.depth, hierarchy.below
    crown = CrownSquares(hierarchy, workload.units)
    for _ in range(rounds):
        before, per_level = shares, np.maximum(shares, 1e-12) / variance
        below = Inference(tree, tuple(1 / per_level[depth:]), (), ())
        units = below.crown.below
        # Mean of sum W^2: in the crown by level, below from level to level as in `tree_variance`.
        traces, total = crown.traces(per_level, units)
        squares = list(per_level[: len(traces)] ** 2 * traces)
        for level in range(2, tree.height + 1):
            total = (1 - below.own[level - 1]) ** 2 * tree.fanouts[level - 1] * total + workload.below[level - 2]
            squares.append(below.own[level] ** 2 * total)
        shares = np.sqrt(variance * np.array(squares))
        shares /= shares.sum()
        if np.abs(shares - before).max() < 0.01 / PARTS:
            break
    return shares


@lru_cache(maxsize=64)
def optimise(size: int, epsilon: float, workload: str, offsets: int | None = None) -> Plan:
    """The best levels for a workload: any tree with fan-outs that are powers of two, with offsets above the units."""
    with in_one_thread():
        return _optimise(size, epsilon, workload, offsets or OFFSETS[workload])


def _optimise(size: int, epsilon: float, workload: str, offsets: int) -> Plan:
    """Begin with the binary tree, and drop the scarcest level until none is scarce."""
    fanouts = [2] * Tree.regular(size, 2).height
    units = Hierarchy(size, tuple(PlannedLevel(2, DEFAULT_ORACLE, 1) for _ in fanouts)).depth
    shares, scarce_below = np.full(len(fanouts), 1 / len(fanouts)), 0.25 / len(fanouts)
    while True:
        hierarchy, variance = _with_offsets(size, epsilon, fanouts, units, offsets)
        load = spread(hierarchy.below, workload)
        for rounds in (_ROUNDS_TO_DROP, _ROUNDS):
            shares = best_shares(hierarchy, variance, load, shares, rounds)
            scarce = [level for level in range(1, len(fanouts)) if level != units and shares[level - 1] < scarce_below]
            if scarce:
                break
        else:
            return _plan(hierarchy.plan, shares)
        dropped = min(scarce, key=lambda level: float(shares[level - 1]))
        fanouts[dropped - 1 : dropped + 1] = [fanouts[dropped - 1] * fanouts[dropped]]
        shares = np.delete(shares, dropped - 1) / (1 - shares[dropped - 1])
        units -= dropped < units


def _with_offsets(size: int, epsilon: float, fanouts: list[int], units: int, most: int) -> tuple[Hierarchy, Floats]:
    """Every level with its best oracle and, above level `units`, offsets; and each level's V."""
    tree = Tree(size, tuple(fanouts))
    oracles, variances = zip(*(best_short_oracle(nodes, epsilon) for nodes in tree.nodes[1:]), strict=True)
    offsets = [min(most, max(1, span // tree.spans[units])) for span in tree.spans[1:]]
    levels = zip(fanouts, oracles, offsets, strict=True)
    plan = tuple(PlannedLevel(fanout, oracle, 1, offset) for fanout, oracle, offset in levels)
    return Hierarchy(size, plan), np.array(variances)


def equal(size: int, fanout: int, epsilon: float, oracle: str) -> Plan:
    """A regular tree whose levels are asked equally often, by one oracle or, with `auto`, each by its best."""
    tree = Tree.regular(size, fanout)
    oracles = [best_oracle(nodes, epsilon)[0] if oracle == "auto" else oracle for nodes in tree.nodes[1:]]
    return tuple(PlannedLevel(fanout, name, 1) for name in oracles)


def _plan(levels: Plan, shares: Floats) -> Plan:
    parts = np.maximum(1, np.round(shares * PARTS)).astype(int)
    parts[-1] += PARTS - parts.sum()
    return tuple(level._replace(parts=int(part)) for level, part in zip(levels, parts, strict=True))
