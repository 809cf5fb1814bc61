"""Expectation maximisation for a table seen through a channel: maximum likelihood, step by step, from even shares.

A step is f <- f * Q'(y / Q f): each reported value shared out among the cells that explain it (Kulkarni algorithm 3,
whose prior should be 2^-k and whose two steps are named the wrong way round). It stops when no cell moves by more than
the tolerance. Where the observed table is within that of even, the first step already does not move: the answer is the
prior and says nothing about the devices (Kulkarni table 4.2 counts these failures).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats

TOLERANCE = 1e-5
MAXIMUM_STEPS = 200_000


@dataclass(frozen=True, eq=False)
class Decoded:
    """Decoded tables, a row each, and after how many steps each stopped."""

    shares: Floats
    steps: NDArray[np.int64]

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Tables that stopped at the prior."""
        return self.steps <= 1

    def name(self, row: int) -> str:
        """As answers are labelled."""
        return "em, stopped at its prior" if self.failed[row] else "em"

    def words(self, row: int) -> str:
        """What happened, for people."""
        if self.failed[row]:
            return "expectation maximisation stopped at its prior: the answer is even shares and says nothing"
        return f"expectation maximisation, {int(self.steps[row])} steps: biased, without a standard error"


def decode(observed: Floats, channel: Floats, tolerance: float = TOLERANCE) -> Decoded:
    """Decode tables (rows of `observed`) seen through one channel, P(reported | true) with columns the true cells."""
    rows, cells = observed.shape
    shares, steps = np.full((rows, cells), 1 / cells), np.zeros(rows, dtype=np.int64)
    moving = np.arange(rows)
    counts = np.clip(observed, 0.0, None)
    for step in range(1, MAXIMUM_STEPS + 1):
        now = shares[moving]
        better = now * ((counts[moving] / (now @ channel.T)) @ channel)
        shares[moving], steps[moving] = better, step
        moving = moving[np.abs(better - now).max(axis=1) >= tolerance]
        if not moving.size:
            break
    return Decoded(shares, steps)
