"""The pairs P in the variance of hrr and olh (`level_noise`), from F(x) = sum_y f_y f_(y xor x).

The letters K, w, q and B are those of `tree_variance`: P = sum over nodes u, v of a level of K_u K_v F(u xor v). Where
every fan-out B is a power of two, a level's own differences q_u - q_p (u a child of p) use other Walsh-Hadamard
characters (b > 0) than what it inherits from the level above (b = 0), so P_l = (1 - w)^2 B P_(l-1) + Z. Z has the pairs
of the level's own differences, which are zero except below the parents that the range's ends cut. With i for the digit
of a child within its parent,

    Z = (1/B) sum over b = 1..B-1 of  d_b^2 E_b(0) + d'_b^2 E_b(0) - 2 d_b d'_b E_b(p xor p'),

d_b = sum_i (-1)^<b,i> q_i over the children i of the parent p that one end cuts, d' and p' for the other end, and
E_b(x) = sum_i (-1)^<b,i> F(x B + i). On ragged trees this does not hold; below the crown their oracles use expected
counts, and the variance has no pairs.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.hadamard import power_of_two_at_least, walsh_hadamard
from hearsay.mechanisms.ranges.hierarchical.tree import sum_children

# Pairs that change a level's variance by a smaller share than this are left out.
NEGLIGIBLE = 1e-3


def spread_over_pairs(shares: Floats, noise: float) -> Floats:
    """F(x) for every x, from estimated shares, each with the given noise variance, which is taken out."""
    size = power_of_two_at_least(shares.size)
    spectrum = np.zeros(size)
    spectrum[: shares.size] = shares
    spread = walsh_hadamard(walsh_hadamard(spectrum) ** 2 - noise * shares.size) / size
    limit = float(np.clip(spread[0], 0.0, 1.0))
    return np.clip(spread, -limit, limit)


@dataclass(frozen=True)
class XorPairs:
    """E_b(x) of one level as `digits[b - 1, x]`, for a fan-out that is a power of two."""

    fanout: int
    alone: float  # Z of a range that is one child: q = 1 there, 0 at its siblings
    digits: Floats

    @classmethod
    def of(cls, shares: Floats, noise: float, fanout: int, relevant: float = 0.0) -> "XorPairs | None":
        """From estimated shares of the level's nodes, each with the given noise variance, which is taken out.

        `relevant` is what `alone` must reach to be worth the work; None if it does not.
        """
        parents = -(-shares.size // fanout)
        within = (shares**2).sum() - (sum_children(shares, fanout, parents) ** 2).sum() / fanout
        alone = float(np.clip(within - noise * (shares.size - parents), 0.0, 1.0))
        if alone < relevant:
            return None
        size = max(power_of_two_at_least(shares.size), fanout)
        spectrum = np.zeros(size)
        spectrum[: shares.size] = shares
        spectrum = walsh_hadamard(spectrum)
        by_digit = np.ascontiguousarray(spectrum.reshape(-1, fanout).T[1:])
        np.square(by_digit, out=by_digit)
        by_digit -= noise * shares.size
        digits = walsh_hadamard(by_digit)
        digits *= fanout / size
        limit = np.maximum(digits[:, :1], 0.0)
        return cls(fanout, alone, np.clip(digits, -limit, limit, out=digits))

    @cached_property
    def _characters(self) -> tuple[Floats, Floats]:
        """(-1)^<b,i>, and its sum over the digits before i, both by b and i."""
        characters = walsh_hadamard(np.eye(self.fanout))
        return characters, np.cumsum(characters, axis=1) - characters

    def of_prefixes(self, node: NDArray[np.int64], part: Floats) -> Floats:
        """Z of ranges from the end of one prefix to that of another (rows 0 and 1 of both arguments).

        Each prefix ends inside `node` and holds `part` of it.
        """
        parent = node // self.fanout
        digit = node - parent * self.fanout
        characters, before = self._characters
        total, distance = np.zeros(node.shape[1]), parent[0] ^ parent[1]
        for digits, character, earlier in zip(self.digits, characters[1:], before[1:], strict=True):
            d = earlier[digit] + character[digit] * part
            total += (d[0] ** 2 + d[1] ** 2) * digits[0] - 2 * d[0] * d[1] * digits[distance]
        return total / self.fanout
