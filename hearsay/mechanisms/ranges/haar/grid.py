"""The Haar wavelet over a grid of two or more axes, released by signed Hadamard randomised response.

Device    Every axis is padded to 2^h cells (`axis`). Draw a depth of every axis, roots included but not all of
          them, without looking at the value. The value lies in one node of each axis, in its left half (sign +1) or its
          right half (-1), +1 at a root: the product of the signs, at the product of the nodes, is one entry of a vector
          of K = the product of the axes' numbers of nodes. Draw one of its K characters, and report it with
          sign x character(node) flipped with probability 1/(e^eps + 1).
Privacy   Tuple and character are independent of the value; the sign has probability p or 1 - p, ratio at most e^eps.
Fold      sum[tuple][alpha] += sign, count[tuple][alpha] += 1.
Estimate  d = WHT(sum)/(n_tuple c), c = 2p - 1, is the tuple's coefficients; a cell is the sum over the tuples of the
          product of the axes' weights times the coefficient. The coefficient of the roots is 1.
Variance  A range has weights w = the products of the axes' weights, non-zero at the at most two nodes of each axis that
          it cuts. One report's part of sum w d has mean square sum w^2/c^2, so
          Var = sum over tuples of [sum w^2/c^2 - (sum w d)^2]/n_tuple, less f(R)(1 - f(R))/n, since a device answers
          for one tuple only.                                          Kulkarni 5.5, 7.1.2; docs/explanation/ranges.md
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.errors import SpecificationError, refuse_more
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.grids import expected_errors
from hearsay.mechanisms.exact.counting import add_signs
from hearsay.mechanisms.exact.hadamard import parity, walsh_hadamard
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import probability
from hearsay.mechanisms.layout import Layout, Reports, Scalar, smallest_unsigned
from hearsay.mechanisms.oracles.flipped_sign import FlippedSign
from hearsay.mechanisms.ranges.haar.axis import HaarAxis
from hearsay.mechanisms.ranges.haar.grid_estimate import HaarGridEstimate
from hearsay.mechanisms.ranges.hierarchical.tree import UNKNOWN
from hearsay.mechanisms.ranges.levels import cumulative_thresholds, probabilities

MAXIMUM_TUPLES = 1024  # each tuple has its share of the devices only
MAXIMUM_CELLS = 1 << 22  # of the padded grid: all tuples together have as many coefficients


@dataclass(frozen=True)
class HaarGrid(FlippedSign):
    """What `haar` is on a grid."""

    ESTIMATE: ClassVar[type[CellEstimate]] = HaarGridEstimate
    ID = "haar"
    SAMPLES = True
    SUMMARY = "ranges on a grid: a tuple of Haar levels a device"
    EXAMPLES = ({"epsilon": 1.2, "domain": {"kind": "grid", "sizes": [3, 4]}},)

    def check(self) -> None:
        if len(self.domain.axes) < 2:
            raise SpecificationError(what="domain", must="have at least two axes for haar on a grid", got=1)
        refuse_more(prod(axis.height + 1 for axis in self.axes) - 1, MAXIMUM_TUPLES, "tuples of levels for haar")
        cells = 1 << sum(axis.height for axis in self.axes)
        refuse_more(cells, MAXIMUM_CELLS, "cells, each axis padded to a power of two, for haar")

    @cached_property
    def axes(self) -> tuple[HaarAxis, ...]:
        return tuple(HaarAxis(size) for size in self.domain.shape)

    @cached_property
    def tuples(self) -> list[tuple[int, ...]]:
        """The tuples of depths, without the tuple of roots."""
        return list(product(*(range(axis.height + 1) for axis in self.axes)))[1:]

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """How many nodes each tuple has along every axis."""
        return [tuple(int(axis.nodes[depth]) for axis, depth in self._along(depths)) for depths in self.tuples]

    def _along(self, depths: tuple[int, ...]) -> "zip[tuple[HaarAxis, int]]":
        return zip(self.axes, depths, strict=True)

    @cached_property
    def nodes(self) -> list[int]:
        """K of every tuple."""
        return [prod(shape) for shape in self.shapes]

    @cached_property
    def _thresholds(self) -> NDArray[np.uint64]:
        return cumulative_thresholds([Fraction(1)] * len(self.tuples))

    @cached_property
    def layout(self) -> Layout:
        return Layout.choice("level", tuple(Layout.of(Scalar("character", K), Scalar("minus", 2)) for K in self.nodes))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {f"{number}/{name}": (K,) for number, K in enumerate(self.nodes, start=1) for name in ("sum", "count")}

    def _entry(self, cells: Indices, index: NDArray[np.intp]) -> tuple[Indices, Indices]:
        """The node of each cell's entry in the vector of its tuple, row-major over the axes, and 1 where it is -1."""
        depths, shapes = np.array(self.tuples)[index], np.array(self.shapes)[index]
        node, minus = np.zeros(len(cells), dtype=np.int64), np.zeros(len(cells), dtype=np.int64)
        for number, axis in enumerate(self.axes):
            shift = axis.shifts[depths[:, number]]
            node = node * shapes[:, number] + (cells[:, number] >> shift)
            minus ^= cells[:, number] >> (shift - 1) & 1
        return node, minus

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.check(values)
        index = random.choose(self._thresholds, len(cells))
        node, minus = self._entry(cells, index)
        # K is a power of two, so a masked word is uniform below it.
        character = random.words(len(cells)) & np.array(self.nodes, dtype=np.uint64)[index] - np.uint64(1)
        sign = minus.astype(np.uint64) ^ parity(node.astype(np.uint64) & character)
        sign ^= random.bernoulli(self.flip, len(cells))
        return {
            "level": index.astype(smallest_unsigned(len(self.tuples))),
            "symbol": (character << np.uint64(1) | sign).astype(smallest_unsigned(2 * max(self.nodes))),
        }

    def fold(self, state: State, reports: Reports) -> State:
        sums, counts = ([state[f"{number}/{name}"] for number in self._numbers] for name in ("sum", "count"))
        add_signs(sums, counts, reports["level"], reports["symbol"])
        return state

    @property
    def _numbers(self) -> range:
        return range(1, len(self.tuples) + 1)

    def _counts(self, state: State) -> NDArray[np.int64]:
        """Reports of every tuple."""
        return np.array([state[f"{number}/count"].sum() for number in self._numbers])

    def reports(self, state: State) -> int:
        return int(self._counts(state).sum())

    def estimate(self, state: State) -> CellEstimate:
        counts = self._counts(state)
        coefficients = np.ones([1 << axis.height for axis in self.axes])
        for number, (depths, shape, n) in enumerate(zip(self.tuples, self.shapes, counts, strict=True), start=1):
            first = [int(axis.starts[depth]) for axis, depth in self._along(depths)]
            block = tuple(slice(start, start + count) for start, count in zip(first, shape, strict=True))
            d = walsh_hadamard(state[f"{number}/sum"] / (max(int(n), 1) * self.correlation))
            coefficients[block] = d.reshape(shape)
        noise, reported = self._noise(counts)
        return HaarGridEstimate.of(
            self.domain, int(counts.sum()), self.axes, coefficients, noise, reported, self.correlation
        )

    def _noise(self, counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """1/(n c^2) and n of every tuple, by depth along every axis; nothing at the roots."""
        shape = [axis.height + 1 for axis in self.axes]
        known, scale = counts > 0, 1 / np.maximum(counts, 1)
        noise = np.where(known, scale / self.correlation**2, UNKNOWN)
        return np.append(0.0, noise).reshape(shape), np.append(0.0, counts).reshape(shape)

    def channel(self) -> NDArray[np.float64]:
        cells = np.stack(np.unravel_index(np.arange(self.domain.size), self.domain.shape), axis=1)
        q = float(probability(self.flip))
        parts = []
        for index, (share, K) in enumerate(zip(probabilities(self._thresholds), self.nodes, strict=True)):
            node, negative = self._entry(cells, np.full(len(cells), index))
            minus = parity(node[:, None] & np.arange(K)[None, :]) ^ negative[:, None]
            signs = np.stack([np.where(minus, q, 1 - q), np.where(minus, 1 - q, q)], axis=2)
            parts.append(share / K * signs.reshape(len(cells), 2 * K))
        return np.concatenate(parts, axis=1)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """For evenly filled cells: the middle cell, and the root mean square over a fixed sample of ranges."""
        coefficients = np.ones(())
        for axis in self.axes:
            coefficients = np.multiply.outer(coefficients, axis.even)
        noise, counts = self._noise(np.full(len(self.tuples), max(1, reports // len(self.tuples))))
        shares = np.full(self.domain.shape, 1 / self.domain.size)
        return expected_errors(
            HaarGridEstimate(
                self.domain, reports, shares, shares, self.axes, coefficients, noise, counts, self.correlation
            )
        )
