"""Choosing a tree's levels, their oracles and how often each is asked, for a workload of ranges.

For evenly spread devices a consistent tree answers a range with variance sum over levels of kappa_l U_l, where U_l is
the blended variance of a node (`tree`) and kappa_l how much the range's q differs between siblings: the sum over nodes
of q_u^2 less B times that of the level above, averaged over the workload. With s_l the workload's mean of sum W^2 on
level l the same variance is sum V_l s_l / p_l, V_l the oracle's variance per report and p_l the level's probability.
Both the weights given p (constrained inference) and p given the weights (p_l proportional to sqrt(V_l s_l)) are solved
in closed form, and W^2/p is convex in both together, so that alternating between them ends at the best p of all.

A level with p = 0 is as good as absent, so the binary tree holds every tree with fan-outs that are powers of two.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from mechanisms.errors import SpecificationError
from mechanisms.options import Option, choice, flag, integer
from mechanisms.oracle import FrequencyOracle
from mechanisms.registry import REGISTRY
from mechanisms.result import Floats
from mechanisms.tree import Inference, Tree

ORACLES = ("grr", "ss", "oue", "olh", "hrr")
DEFAULT_ORACLE = "olh"
SHORT_REPORTS = ("grr", "olh", "hrr")  # a few bytes whatever the number of nodes
BIT_REPORTS = ("ss", "oue")  # a bit a node
WORKLOADS = ("all", "prefix", "short")
PARTS = 4096  # probabilities are multiples of 1/PARTS, so that every machine derives the same ones
_WIDEST_BITS = 256
_WORTH_ITS_BITS = 0.98  # a report of many bits must have less than this share of the variance of a short one
_SHORT_SHARE = 100  # "short" ranges hold up to 1/100 of the domain
_SAMPLES = 1 << 14
_ROUNDS = 400


class PlannedLevel(NamedTuple):
    """One level from the root down: children of a node above, the oracle, and its parts of all devices."""

    fanout: int
    oracle: str
    parts: int

    def __str__(self) -> str:
        return f"{self.fanout} {self.oracle} {self.parts}"

    @classmethod
    def parse(cls, text: Any) -> "PlannedLevel":
        """The inverse of `str`."""
        words = text.split() if isinstance(text, str) else []
        if len(words) == 3 and words[0].isdecimal() and words[2].isdecimal() and words[1] in ORACLES:
            made = cls(int(words[0]), words[1], int(words[2]))
            if made.fanout >= 2 and 1 <= made.parts <= PARTS:
                return made
        raise SpecificationError(
            f'options.levels must hold texts like "4 olh 512" (fan-out, oracle, parts of the devices), got {text!r}'
        )


Plan = tuple[PlannedLevel, ...]


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
                f'options.levels must be "uniform", "optimised" or a list of levels, got {value!r}'
            )
        plan = tuple(PlannedLevel.parse(text) for text in value)
        return [str(level) for level in plan]

    return Option("levels", None, check, "uniform, optimised (the default unless fanout or oracle is given), or a list")


def tree_options() -> tuple[Option, ...]:
    """The options of hierarchical, on one axis or two."""
    return (
        integer("fanout", None, 2, 1 << 10, "children of a node where levels are uniform; 4 where absent"),
        oracle_option(),
        flag("consistency", True, "make the levels agree by weighted least squares"),
        levels_option(),
        choice("workload", "all", WORKLOADS, "the ranges that optimised levels are best for"),
    )


def oracle_over(name: str, nodes: int, epsilon: float) -> FrequencyOracle:
    """The named oracle on a level's nodes."""
    return cast(FrequencyOracle, REGISTRY[name].over(nodes, epsilon))


def contrast_variance(oracle: str, nodes: int, epsilon: float) -> float:
    """V of one report: what a difference between evenly filled nodes costs per unit of squared weight."""
    moments = oracle_over(oracle, nodes, epsilon).moments
    return moments.a + moments.b / nodes


def best_oracle(nodes: int, epsilon: float) -> tuple[str, float]:
    """The oracle with the least variance; one that sends a bit a node only where that is clearly worth it."""
    variance = {name: contrast_variance(name, nodes, epsilon) for name in SHORT_REPORTS}
    best = min(variance, key=variance.__getitem__)
    if nodes <= _WIDEST_BITS:
        bits = {name: contrast_variance(name, nodes, epsilon) for name in BIT_REPORTS}
        wide = min(bits, key=bits.__getitem__)
        if bits[wide] < _WORTH_ITS_BITS * variance[best]:
            return wide, bits[wide]
    return best, variance[best]


def spread(tree: Tree, workload: str) -> Floats:
    """kappa of level 1..h, averaged over an even sample of the workload's ranges."""
    size = tree.size
    step = np.arange(_SAMPLES)
    # Two irrational steps fill the square evenly (the plastic number's sequence, Roberts 2018).
    one, two = (
        np.floor((step * irrational + 0.5) % 1 * size) for irrational in (0.7548776662466927, 0.5698402909980532)
    )
    if workload == "prefix":
        x, y = np.zeros(_SAMPLES), two
    elif workload == "short":
        x = one
        y = np.minimum(x + 1 + np.floor((step * 0.5698402909980532 + 0.5) % 1 * max(1, size // _SHORT_SHARE)), size)
    else:
        x, y = np.minimum(one, two), np.maximum(one, two)

    def squares(span: int) -> Floats:
        left, right = np.floor(x / span), np.floor(y / span)
        left_part, right_part = x / span - left, y / span - right
        apart = right - left - 1 + (1 - left_part) ** 2 + right_part**2
        return np.where(left == right, (right_part - left_part) ** 2, apart)

    means = [squares(span).mean() for span in tree.spans]
    pairs = zip(means[1:], means, tree.fanouts, strict=False)
    return np.array([max(below - fanout * above, 0.0) for below, above, fanout in pairs])


def expected_variance(tree: Tree, variances: Sequence[float], kappa: Floats) -> float:
    """Mean variance over the workload, given each level's variance (V/p of one report, or V/n of n)."""
    return float(kappa @ np.array(Inference(tree, tuple(variances)).blended[1:]))


def best_shares(tree: Tree, variance: Floats, kappa: Floats) -> Floats:
    """p of level 1..h with the least mean variance over the workload."""
    shares = np.full(tree.height, 1 / tree.height)
    for _ in range(_ROUNDS):
        before = shares
        own = Inference(tree, tuple(variance / np.maximum(shares, 1e-12))).own
        square, total = np.empty(tree.height), 0.0
        for level in range(1, tree.height + 1):
            total = (1 - own[level - 1]) ** 2 * tree.fanouts[level - 1] * total + kappa[level - 1]
            square[level - 1] = own[level] ** 2 * total
        shares = np.sqrt(variance * square)
        shares /= shares.sum()
        if np.abs(shares - before).max() < 0.01 / PARTS:
            break
    return shares


@lru_cache(maxsize=64)
def optimise(size: int, epsilon: float, workload: str) -> Plan:
    """The best levels for a workload, over all trees with fan-outs that are powers of two."""
    tree = Tree.regular(size, 2)
    while True:
        oracles, variances = zip(*(best_oracle(nodes, epsilon) for nodes in tree.nodes[1:]), strict=True)
        shares = best_shares(tree, np.array(variances), spread(tree, workload))
        scarce = np.flatnonzero(shares[:-1] < 0.25 / tree.height)
        if not scarce.size:
            return _plan(tree, oracles, shares)
        tree = _without(tree, int(scarce[np.argmin(shares[scarce])]))


def equal(size: int, fanout: int, epsilon: float, oracle: str) -> Plan:
    """A regular tree whose levels are asked equally often, by one oracle or, with `auto`, each by its best."""
    tree = Tree.regular(size, fanout)
    oracles = [best_oracle(nodes, epsilon)[0] if oracle == "auto" else oracle for nodes in tree.nodes[1:]]
    return tuple(PlannedLevel(fanout, name, 1) for name in oracles)


def _without(tree: Tree, index: int) -> Tree:
    """The tree without the level `index` + 1: its children become its parent's."""
    fanouts = list(tree.fanouts)
    fanouts[index : index + 2] = [fanouts[index] * fanouts[index + 1]]
    return Tree(tree.size, tuple(fanouts))


def _plan(tree: Tree, oracles: Sequence[str], shares: Floats) -> Plan:
    parts = np.maximum(1, np.round(shares * PARTS)).astype(int)
    parts[-1] += PARTS - parts.sum()
    return tuple(
        PlannedLevel(fanout, oracle, int(part))
        for fanout, oracle, part in zip(tree.fanouts, oracles, parts, strict=True)
    )
