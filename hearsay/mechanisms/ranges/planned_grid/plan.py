"""Choosing how often each tuple of levels is asked, for a workload of ranges that are drawn along every axis by itself.

For evenly spread devices the variance of a query is the sum over tuples of (V_t/p_t) sum W^2: V the oracle's variance
per report, p the tuple's probability, W the weights of its boxes. With S_i the mean over the workload of sum (D_i q)^2,
the product of the axes' means, and m_t = s_t p_t/V_t (`tuples`), the mean of sum W^2 is

    m_t^2/s_t  sum over i <= t, i != roots, of S_i L_i^2.

Weights given p are those of least squares, p given the weights is proportional to sqrt(V_t sum W^2). Both are the best
there are, and W^2/p is convex in both together, so that alternating between them ends at the best p of all. Tuples that
are hardly asked are left out.
"""

import re
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.oracles.covering_hashing import NUMBERED_OLH
from hearsay.mechanisms.ranges.hierarchical.level_plan import best_short_oracle, sampled
from hearsay.mechanisms.ranges.hierarchical.planned_level import ORACLES, PARTS
from hearsay.mechanisms.ranges.planned_grid.axis import BinaryAxis
from hearsay.mechanisms.ranges.planned_grid.sweeps import Levels, sums_from, sums_up_to

MAXIMUM_LEVELS = 8192  # tuples that could be asked
MAXIMUM_TUPLES = 256  # that are asked: each has its share of the devices only
MAXIMUM_BOXES = 1 << 24  # of all tuples together: the state
_PATTERN = re.compile(r"([0-9]{1,8}(?:x[0-9]{1,8})+) ([a-z0-9-]+) ([0-9]{1,4})")
_SCARCE = 0.1  # tuples with less than this part of an even share are left out; it costs less than a thousandth
_ROUNDS = 40  # after ten the error is within a thousandth of the least


class PlannedTuple(NamedTuple):
    """How many boxes there are along every axis, a power of two each, their oracle, and its parts of all devices."""

    boxes: tuple[int, ...]
    oracle: str
    parts: int

    def __str__(self) -> str:
        return f"{'x'.join(map(str, self.boxes))} {self.oracle} {self.parts}"

    @property
    def levels(self) -> Levels:
        return tuple(count.bit_length() - 1 for count in self.boxes)

    @classmethod
    def parse(cls, text: Any) -> "PlannedTuple":
        """The inverse of `str`."""
        match = _PATTERN.fullmatch(text) if isinstance(text, str) else None
        if match is not None:
            boxes, oracle, parts = match.groups()
            made = cls(tuple(map(int, boxes.split("x"))), oracle, int(parts))
            powers = all(count > 0 and count & (count - 1) == 0 for count in made.boxes)
            known = oracle in ORACLES or NUMBERED_OLH.fullmatch(oracle)
            if powers and known and prod(made.boxes) > 1 and 1 <= made.parts <= PARTS:
                return made
        raise SpecificationError(
            what="options.levels",
            must='hold texts like "4x16 olh 300" on a grid (boxes along every axis, powers of two; oracle; parts of '
            "the devices)",
            got=repr(text),
        )


TuplePlan = tuple[PlannedTuple, ...]


@lru_cache(maxsize=64)
def plan(sizes: tuple[int, ...], epsilon: float, workload: str) -> TuplePlan:
    """The best tuples for a workload, from coarse to fine."""
    axes = [BinaryAxis(size) for size in sizes]
    shape = tuple(axis.height + 1 for axis in axes)
    boxes = _outer([np.exp2(np.arange(levels, dtype=np.float64)) for levels in shape])
    oracles = [best_short_oracle(1 << level, epsilon) if level else ("", np.inf) for level in range(sum(shape))]
    levels = sum(np.indices(shape))
    variance = np.array([one for _, one in oracles])[levels]
    squares = _outer([mean_squares(axis, workload) for axis in axes])
    shares = np.ones(shape)
    shares.flat[0] = 0.0
    while True:
        shares = best_shares(squares, variance, boxes, shares)
        left_out = _to_leave_out(shares, boxes)
        if not left_out.any():
            break
        shares[left_out] = 0.0
    parts = np.where(shares > 0, np.maximum(1, np.round(shares * PARTS)), 0).astype(int)
    parts.flat[parts.argmax()] += PARTS - parts.sum()  # the most frequent one notices what rounding leaves least
    return tuple(
        PlannedTuple(tuple(1 << level for level in chosen), oracles[sum(chosen)][0], int(parts[chosen]))
        for chosen in np.ndindex(shape)
        if parts[chosen]
    )


def mean_squares(axis: BinaryAxis, workload: str) -> Floats:
    """The mean of sum (D_i q)^2 over the workload's ranges along an axis, never empty ones."""
    first, after = (ends.astype(np.int64) for ends in sampled(axis.size, workload))
    if workload in ("all", "prefix"):
        after += 1
    means: Floats = axis.squares(axis.edges[first], axis.edges[after]).mean(axis=0)
    return means


def best_shares(squares: Floats, variance: Floats, boxes: Floats, shares: Floats) -> Floats:
    """p of every tuple with the least mean variance, given S, V, and where to start; what is 0 stays 0."""
    spans = boxes.flat[-1] / boxes
    asked = shares > 0
    shares = shares / shares.sum()
    for _ in range(_ROUNDS):
        before, information = shares, np.where(asked, spans * shares / variance, 0.0)
        inverse = 1 / sums_from(information)
        inverse.flat[0] = 0.0
        weights = information**2 / spans * sums_up_to(squares * inverse**2)
        shares = np.sqrt(np.where(asked, variance, 0.0) * weights)
        shares /= shares.sum()
        if np.abs(shares - before).max() < 0.01 / PARTS:
            break
    return shares


def _to_leave_out(shares: Floats, boxes: Floats) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The tuples that are scarce, or one that is worth least where there are too many; never the finest one."""
    asked = shares > 0
    least = np.where(asked, shares, np.inf)
    least.flat[-1] = np.inf
    if boxes[asked].sum() > MAXIMUM_BOXES:
        return np.asarray(least / boxes == (least / boxes).min())
    if np.count_nonzero(asked) > MAXIMUM_TUPLES:
        return np.asarray(least <= np.sort(least, axis=None)[np.count_nonzero(asked) - MAXIMUM_TUPLES - 1])
    return np.asarray(least < _SCARCE / np.count_nonzero(asked))


def _outer(vectors: list[Floats]) -> Floats:
    tensor = np.ones(())
    for vector in vectors:
        tensor = np.multiply.outer(tensor, vector)
    return tensor
