"""How evenly shares are spread, as hrr and olh see it: F(x) = sum_y f_y f_(y xor x).

A level's pairs P = sum over u, v of K_u K_v F(u xor v) belong to `tree_variance`. Where fan-outs B are powers of two,
the differences that each level brings live on characters of their own, so P_l = (1 - w)^2 B P_(l-1) + Z with Z the
pairs of the level's own differences: only children of cut parents have any. By their digit within the parent,

    Z = (1/B) sum over b = 1..B-1 of  d_b^2 E_b(0) + d'_b^2 E_b(0) - 2 d_b d'_b E_b(p xor p'),

d_b = sum_i (-1)^<b,i> q_i over the children i of the parent p that one end cuts, d' and p' for the other end, and
E_b(x) = sum_i (-1)^<b,i> F(x B + i). For other fan-outs pairs of different nodes are treated as spread evenly.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechanisms.hadamard import power_of_two_at_least, walsh_hadamard
from mechanisms.result import Floats


@dataclass(frozen=True)
class XorPairs:
    """E_b(x) of one level (`digits[b, x]`); where B is no power of two, F(0) less its even part (`digits[0, 0]`)."""

    fanout: int
    digits: Floats

    @classmethod
    def of(cls, shares: Floats, noise: float, fanout: int) -> "XorPairs":
        """From estimated shares of the level's nodes, each with the given noise variance, which is taken out."""
        size = max(power_of_two_at_least(shares.size), power_of_two_at_least(fanout))
        spectrum = np.zeros(size)
        spectrum[: shares.size] = shares
        spectrum = walsh_hadamard(spectrum)
        np.square(spectrum, out=spectrum)
        spectrum -= noise * shares.size
        together = walsh_hadamard(spectrum)
        together /= size
        if fanout & (fanout - 1):
            alone = min(max(float(together[0]), 0.0), 1.0)
            even = (1 - alone) / max(shares.size - 1, 1)
            return cls(fanout, np.full((1, 1), max(alone - even, 0.0)))
        digits = walsh_hadamard(together.reshape(-1, fanout)).T
        limit = np.maximum(digits[:, :1], 0.0)
        return cls(fanout, np.ascontiguousarray(np.clip(digits, -limit, limit)))

    @cached_property
    def alone(self) -> float:
        """Z of a single child with q = 1."""
        return float(self.digits[1:, 0].sum() / self.fanout) if len(self.digits) > 1 else float(self.digits[0, 0])

    @cached_property
    def _characters(self) -> tuple[Floats, Floats]:
        """(-1)^<b,i>, and its sum over the digits before i, both by b and i."""
        characters = walsh_hadamard(np.eye(self.fanout))
        return characters, np.cumsum(characters, axis=1) - characters

    def of_prefixes(
        self, left: NDArray[np.int64], left_part: Floats, right: NDArray[np.int64], right_part: Floats
    ) -> Floats:
        """Z where two prefixes cut the nodes `left` and `right`, holding the given parts of them."""
        parent, other = left // self.fanout, right // self.fanout
        place, other_place = left - parent * self.fanout, right - other * self.fanout
        if len(self.digits) == 1:
            return self._evenly(parent == other, place + left_part, left_part, other_place + right_part, right_part)
        characters, before = self._characters
        total, distance = np.zeros(left.size), parent ^ other
        for b in range(1, self.fanout):
            one = before[b][place] + characters[b][place] * left_part
            two = before[b][other_place] + characters[b][other_place] * right_part
            total += (one * one + two * two) * self.digits[b, 0] - 2 * one * two * self.digits[b][distance]
        return total / self.fanout

    def _evenly(
        self, same: NDArray[np.bool_], left: Floats, left_part: Floats, right: Floats, right_part: Floats
    ) -> Floats:
        """Sum of the squared differences between children's q and their parent's, times what a node has alone."""

        def spread(count: Floats, part: Floats) -> Floats:
            return count - part * (1 - part) - count**2 / self.fanout

        lower, upper = np.minimum(left, right), np.maximum(left, right)
        lower_part, upper_part = np.where(left < right, (left_part, right_part), (right_part, left_part))
        together = np.where(np.floor(lower) == np.floor(upper), lower_part * (1 - upper_part), 0.0)
        crossed = np.where(same, lower - together - lower * upper / self.fanout, 0.0)
        total: Floats = spread(left, left_part) + spread(right, right_part) - 2 * crossed
        return total * self.digits[0, 0]
