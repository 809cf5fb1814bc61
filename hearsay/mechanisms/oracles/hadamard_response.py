"""Hadamard response: a random position at which the value's row of the Hadamard matrix is, more often than not, +1.

Device    K = 2^ceil(log2(D+1)). Value x has row x+1 (row 0 is constant and unused). Report a uniform position y with
          H(x+1, y) = +1 with probability p = e^eps/(e^eps + 1), else one with H(x+1, y) = -1.
Privacy   P(y | x) is 2p/K or 2(1-p)/K, and p/(1-p) <= e^eps.
Estimate  f = WHT(hist)[x+1]/(n c), c = 2p - 1, since a character's mean is c under its own value and 0 elsewhere.
Variance  (1 - c^2 f)/(n c^2).                     Acharya, Sun and Zhang 2019; C section 2 (with row x+1 in C (13))
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.intervals import scored_cells
from hearsay.mechanisms.exact.hadamard import parity, power_of_two_at_least, walsh_hadamard
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import keep_threshold, log_ratio, probability
from hearsay.mechanisms.layout import Reports, by_parts, smallest_unsigned
from hearsay.mechanisms.oracles.oracle import FrequencyOracle, Moments
from hearsay.mechanisms.oracles.output_histogram import OutputHistogram


def positions(values: int) -> int:
    """K: the columns of the least Hadamard matrix with a row for each of `values` values beside the constant one."""
    return power_of_two_at_least(values + 1)


def respond(rows: NDArray[np.uint64], size: int | NDArray[np.uint64], keep: int, random: Random) -> NDArray[np.uint64]:
    """For each row number (from 1) a position below `size`, of sign + with chance keep/2^64, else of sign -.

    A uniform position has the wrong sign half of the time; flipping the bit of the row number's lowest one gives it the
    right one, and pairs the positions off, so that all of the right sign stay equally likely.
    """
    most = int(np.max(size, initial=1))
    position = random.below(most, rows.size) & (np.asarray(size, dtype=np.uint64) - np.uint64(1))
    wanted = ~random.bernoulli(keep, rows.size)
    wrong = parity(position & rows) != wanted
    lowest = rows & (~rows + np.uint64(1))
    return np.where(wrong, position ^ lowest, position)


def chances(rows: NDArray[np.int64], size: int, keep: int) -> Floats:
    """P(position | row) for every row number given and every position."""
    p = probability(keep)
    minus = parity(rows[:, None] & np.arange(size)[None, :])
    return np.where(minus == 1, float(2 * (1 - p) / size), float(2 * p / size))


@dataclass(frozen=True)
class PositionCoin(OutputHistogram):
    """The coin of all mechanisms that respond by a position of a Hadamard matrix."""

    @cached_property
    def keep(self) -> int:
        """Threshold out of 2^64 of a position with sign +."""
        return keep_threshold(self.epsilon, 2)

    @cached_property
    def correlation(self) -> float:
        """c = 2p - 1 of the coin really flipped."""
        return float(2 * probability(self.keep) - 1)

    @property
    def spent_epsilon(self) -> float:
        p = probability(self.keep)
        return log_ratio(p, 1 - p)


@dataclass(frozen=True)
class HadamardResponse(PositionCoin, FrequencyOracle):
    """One position of the value's row."""

    ID = "hr"
    SAMPLES = True
    OUTPUT = "position"
    SUMMARY = "Hadamard response: one position of the value's row of a Hadamard matrix; log D bits, any domain size"
    EXAMPLES = (
        {"epsilon": 1.1, "domain": {"kind": "categorical", "size": 7}},
        {"epsilon": 0.6, "domain": {"kind": "ordinal", "size": 10}},
    )

    @cached_property
    def positions(self) -> int:
        """K."""
        return positions(self.domain.size)

    @property
    def outputs(self) -> int:
        return self.positions

    def perturb(self, values: Values, random: Random) -> Reports:
        def draw(cells: NDArray[np.int64]) -> Reports:
            position = respond(cells.astype(np.uint64) + np.uint64(1), self.positions, self.keep, random)
            return {"position": position.astype(smallest_unsigned(self.positions))}

        return by_parts(draw, self.domain.flatten(values))

    def estimate(self, state: State) -> CellEstimate:
        n = self.reports(state)
        spectrum = walsh_hadamard(state["hist"].astype(np.float64))
        f = spectrum[1 : self.domain.size + 1] / (max(n, 1) * self.correlation)
        return scored_cells(self.domain, n, f, (self.moments.spread(),), step=2 / self.correlation)

    def report_spans(self) -> dict[str, float]:
        return {"point": 2 / self.correlation}

    @cached_property
    def moments(self) -> Moments:
        """Exact for one cell. Two cells u, u' are correlated only under the value whose row is the product of theirs;
        sums of cells treat these pairs as spread evenly over the values, one in K - 3."""
        c, share = self.correlation, 1 / max(self.positions - 3, 1)
        return Moments(a=1 / c**2 - share / c, b=2 * share / c, c=share / c, d=-2 * share / c)

    def channel(self) -> NDArray[np.float64]:
        return chances(np.arange(1, self.domain.size + 1), self.positions, self.keep)
