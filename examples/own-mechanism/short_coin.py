"""Randomised response whose coin needs 32 random bits: for devices with little randomness. A family from outside.

Device    Tell the truth with probability t = k/2^32, else report a value drawn from all D.
Privacy   k is rounded down, so that p/q = 1 + t D/(1-t) <= e^eps; `spent_epsilon` is that of the coin really flipped.
Estimate  f = (count/n - q)/(p - q), unbiased; the variance is that of `grr`.
"""

from functools import cached_property

from hearsay.mechanisms.oracles.grr import GRR
from hearsay.mechanisms.tables import Form

MECHANISMS = {"short-coin": (Form(("categorical",), ":ShortCoin"),)}
STEP = 1 << 32  # of 2^64: one step of the coin


class ShortCoin(GRR):
    """All that differs from `grr` is the threshold."""

    ID = "short-coin"
    SUMMARY = "randomised response whose coin needs 32 random bits"
    EXAMPLES = ({"epsilon": 1.0, "domain": {"kind": "categorical", "size": 4}},)

    @cached_property
    def truth(self) -> int:
        """Threshold out of 2^64 of telling the truth: the one of `grr`, rounded down to 32 bits."""
        return super().truth // STEP * STEP
