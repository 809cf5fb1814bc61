"""What mechanisms share whose reports end in one sign, flipped with probability 1/(e + 1), e = exp(epsilon).

Whatever else a report shows is independent of the value, so it has probability p or 1 - p, ratio at most e.
"""

from dataclasses import dataclass
from functools import cached_property

from hearsay.mechanisms.base import CellMechanism, Mechanism
from hearsay.mechanisms.exact.thresholds import flip_threshold, log_ratio, probability
from hearsay.mechanisms.guarantees.promises import Guarantee, PureLDP


@dataclass(frozen=True)
class SignCoin(Mechanism):
    """The coin and what it promises, on any domain."""

    @cached_property
    def flip(self) -> int:
        """Threshold out of 2^64 of flipping the sign."""
        return flip_threshold(self.epsilon)

    @cached_property
    def correlation(self) -> float:
        """c = 2p - 1 of the coin really flipped."""
        return float(1 - 2 * probability(self.flip))

    @property
    def spent_epsilon(self) -> float:
        q = probability(self.flip)
        return log_ratio(1 - q, q)

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)


@dataclass(frozen=True)
class FlippedSign(CellMechanism, SignCoin):
    """The same on a finite list of cells."""
