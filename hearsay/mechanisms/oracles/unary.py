"""Unary encoding: one bit per cell, each passed through a coin; symmetric (sue) and optimised (oue).

Device    The true cell's bit is set with probability p, every other bit with probability q, independently.
Privacy   Two values differ in two bits: the ratio is at most p(1-q)/(q(1-p)) <= e^eps.
          sue: p = e^(eps/2)/(1 + e^(eps/2)), q = 1 - p.     oue: p = 1/2, q = 1/(e^eps + 1).
Estimate  f = (ones/n - q)/(p - q), unbiased, cells independent given the values.
Variance  [f p(1-p) + (1-f) q(1-q)]/(n (p-q)^2).            Kulkarni 2.4.3, Wang et al. 2017

p is rounded down and q up to multiples of 2^-64 (oue's p is exact), so that privacy is never worse than claimed.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.errors import refuse_more
from hearsay.mechanisms.exact.bit_counting import count_bits
from hearsay.mechanisms.exact.randomness import WORD, Random
from hearsay.mechanisms.exact.thresholds import flip_threshold, keep_threshold, log_ratio, probability
from hearsay.mechanisms.layout import Layout, Reports, Vector, length_of
from hearsay.mechanisms.oracles.oracle import HitOracle, Moments
from hearsay.mechanisms.portable import Node, bits

MAXIMUM_BITS = 1 << 20  # a report of 128 KiB; larger domains need olh or hrr


@dataclass(frozen=True)
class BitOracle(HitOracle):
    """A report is one packed bit per cell, and a cell is hit when its bit is set."""

    def check(self) -> None:
        refuse_more(self.domain.size, MAXIMUM_BITS, f"cells for {self.ID}", "; use olh or hrr")

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(vector=Vector("bits", self.domain.size))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"ones": (self.domain.size,), "n": (1,)}

    def fold(self, state: State, reports: Reports) -> State:
        state["ones"] += count_bits(reports["bits"], self.domain.size)
        state["n"] += length_of(reports)
        return state

    def reports(self, state: State) -> int:
        return int(state["n"][0])

    def strings(self) -> NDArray[np.bool_]:
        """Every possible report in the order of `layout.enumerate`, unpacked: one row each."""
        packed = self.layout.enumerate()["bits"]
        return np.unpackbits(packed, axis=1, count=self.domain.size, bitorder="little").astype(bool)


def set_bits(packed: NDArray[np.uint8], cells: NDArray[np.int64], values: NDArray[np.bool_]) -> None:
    """In every row, give the bit of that row's cell the value, in place."""
    rows, byte, bit = np.arange(len(cells)), cells >> 3, np.uint8(1) << (cells & 7).astype(np.uint8)
    packed[rows, byte] = (packed[rows, byte] & ~bit) | np.where(values, bit, np.uint8(0))


@dataclass(frozen=True)
class UnaryEncoding(BitOracle):
    """What `sue` and `oue` share; they differ in their two thresholds only."""

    @property
    @abstractmethod
    def thresholds(self) -> tuple[int, int]:
        """Chances out of 2^64 that the true cell's bit and another cell's bit are set."""

    def _exact(self) -> tuple[Fraction, Fraction]:
        yes, no = self.thresholds
        return probability(yes), probability(no)

    def hit_chances(self) -> tuple[float, float, float]:
        p, q = self._exact()
        return float(p), float(q), float(p - q)

    @property
    def spent_epsilon(self) -> float:
        p, q = self._exact()
        return log_ratio(p * (1 - q), q * (1 - p))

    def range_span(self, x: int, y: int) -> float:
        """A false report may set every bit, or none."""
        return (y - x) / self.hit_chances()[2]

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values)
        yes, no = self.thresholds
        packed = random.bits(no, cells.size, self.domain.size)
        set_bits(packed, cells, random.bernoulli(yes, cells.size))
        return {"bits": packed}

    def portable(self) -> Node:
        return bits(self.domain.size, *self.thresholds)

    @cached_property
    def moments(self) -> Moments:
        p, q, _ = self.hit_chances()
        return Moments.of_bits(p, q)

    def channel(self) -> NDArray[np.float64]:
        p, q, _ = self.hit_chances()
        strings = self.strings()
        table = np.empty((self.domain.size, len(strings)))
        for cell in range(self.domain.size):
            others = np.delete(strings, cell, axis=1).sum(axis=1)
            rest = q**others * (1 - q) ** (self.domain.size - 1 - others)
            table[cell] = np.where(strings[:, cell], p, 1 - p) * rest
        return table


@dataclass(frozen=True)
class SUE(UnaryEncoding):
    """Symmetric unary encoding: every bit flipped with the same probability, as in basic RAPPOR."""

    ID = "sue"
    SUMMARY = "symmetric unary encoding: one bit per value, each flipped with the same probability"
    EXAMPLES = (
        {"epsilon": 1.1, "domain": {"kind": "categorical", "size": 5}},
        {"epsilon": 3.0, "domain": {"kind": "ordinal", "size": 9}},
    )

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        keep = keep_threshold(self.epsilon / 2, 2)  # halving is exact in binary
        return keep, WORD - keep


@dataclass(frozen=True)
class OUE(UnaryEncoding):
    """Optimised unary encoding: of all p and q, p = 1/2 makes the variance of rare values least."""

    ID = "oue"
    SUMMARY = "optimised unary encoding: one bit per value, the least error of all oracles on large domains"
    EXAMPLES = (
        {"epsilon": 1.1, "domain": {"kind": "categorical", "size": 5}},
        {"epsilon": 0.5, "domain": {"kind": "grid", "sizes": [3, 4]}},
    )

    @cached_property
    def thresholds(self) -> tuple[int, int]:
        return WORD // 2, flip_threshold(self.epsilon)
