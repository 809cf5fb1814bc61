"""The noise of one level of a tree: what a weighted sum of its nodes' estimates costs.

For weights W on the nodes of a level with n reports and true shares f, let N = sum W, m = sum W f and
P = sum over pairs W_u W_v F(u xor v), F(x) = sum_y f_y f_(y xor x). Then, before the term that all levels share,

    Var = scale [ a sum W^2 + b sum W^2 f + c N^2 + d N m - mean m^2 - pairs P ],     scale = 1/n.

a..d are the oracle's moments. Where hrr or olh divide each character by its own count, what a character's mean theta
explains is no noise: with pi the chance that a report shows a character, pi2 that it shows two given ones, and
W^ = WHT(W)/K, the second moment falls by (1/pi - pi2/pi^2) sum W^^2 theta^2, where sum W^^2 theta^2 = P/K, and
mean = pi2/pi^2; everything times 1 + 1/lambda.
"""

from typing import NamedTuple

import numpy as np

from hearsay.mechanisms.base import State
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.ranges import MANY
from hearsay.mechanisms.oracles.linear_hashing import LinearHashing
from hearsay.mechanisms.oracles.oracle import FrequencyOracle
from hearsay.mechanisms.ranges.hierarchical.tree import UNKNOWN

Number = Floats | float


class LevelNoise(NamedTuple):
    """The coefficients of the module's formula."""

    scale: float
    a: float
    b: float
    c: float
    d: float
    mean: float
    pairs: float

    @classmethod
    def of(cls, oracle: FrequencyOracle, reports: int, own_counts: bool = True) -> "LevelNoise":
        """For one level's oracle and its number of reports; `own_counts` as in `level_shares`."""
        moments, scale = oracle.moments, 1 / reports if reports else UNKNOWN
        if not own_counts or not isinstance(oracle, LinearHashing) or not oracle.has_own_counts(reports):
            return cls(scale, *moments, mean=1.0, pairs=0.0)
        K, once = oracle.characters, (oracle.buckets - 1) / (oracle.characters - 1)
        both = oracle.pair_share() / once**2
        explained = 1 / once - both
        return cls(
            scale=scale * (1 + 1 / oracle.expected_count(reports)),
            a=moments.a,
            b=moments.b,
            c=moments.c + (1 - both + explained) / K**2,
            d=moments.d - 2 * (1 - both) / K,
            mean=both,
            pairs=explained / K,
        )

    def variance(self, square: Number, square_f: Number, total_f: Number, total: Number, paired: Number) -> Number:
        """Of weights with sums W^2, W^2 f, W f, W and P; the fields may be arrays, one entry a level.

        (sum W f)^2 <= sum W^2 f <= sum W^2 and P <= sum W^2 hold for true shares. Estimated ones may break them, which
        would hide real noise, so they are brought to the nearest that true shares allow.
        """
        square = np.maximum(square, 0.0)  # rounding, where nothing depends on the level
        square_f = np.clip(square_f, 0.0, square)
        most = np.sqrt(square_f)
        total_f = np.clip(total_f, -most, most)
        moment = self.a * square + self.b * square_f - self.mean * total_f**2
        if np.any(total):
            moment += total * (self.c * total + self.d * total_f)
        if np.any(self.pairs):
            moment -= self.pairs * np.clip(paired, 0.0, square)
        result: Number = self.scale * moment
        return result

    @property
    def rise(self) -> float:
        """What the moment changes by with the shares of the nodes, at most, per unit of them and of W^2.

        Somebody more at a node adds b W^2 at most, somebody less takes away what W m and the pairs had explained.
        """
        return max(self.b, 2 * (self.mean + self.pairs) - self.b, 0.0)

    @property
    def slope(self) -> float:
        """The same for the variance."""
        return self.scale * self.rise

    def has_few_reports(self) -> bool:
        """Whether the level's reports are so few that its variance changes with what one of them says."""
        return self.scale < UNKNOWN and MANY * self.slope * self.rise > self.a

    def contrast_variance(self, nodes: int) -> float:
        """V_eff: variance per unit of sum W^2 for weights with sum 0 over evenly filled nodes.

        It holds what sampling a level adds, so it is the right weight for constrained inference; for oracles whose
        estimates sum to one it is trace(Cov)/(nodes - 1), which their marginal variance understates.
        """
        return self.scale * (self.a + self.b / nodes)

    def own_variance(self, shares: Floats) -> float:
        """The mean variance of a node's estimate, given the estimates, whose squares are those of the shares and noise.

        By the formula for single nodes, the sum of squared shares S enters the noise itself, so that both follow from
        sum of squared estimates = S + noise(S).
        """
        nodes = shares.size
        most, less = (self.a + self.c) * nodes + self.b + self.d, self.mean + self.pairs * nodes
        squared = (float(shares @ shares) - self.scale * most) / max(1 - self.scale * less, 0.5)
        return max(self.scale * (most - less * min(max(squared, 1 / nodes), 1.0)), 0.0) / nodes


def level_shares(oracle: FrequencyOracle, state: State, own_counts: bool) -> Floats:
    """Estimated shares of a level's nodes; without `own_counts` the hashing oracles use the expected count.

    What own counts save can be said exactly only where pairs of nodes line up with the characters (`xor_pairs`).
    """
    return oracle.shares(state, own_counts) if isinstance(oracle, LinearHashing) else oracle.shares(state)
