"""Many memoised lives at once: a public part each, and for every bucket the answer that is given about it for life."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.oracles.linear_hashing import LinearHashing


@dataclass(frozen=True)
class Lives:
    """Devices of `hrr` or `olh`; `answers[i, b]` is what device i says whenever it is in bucket b."""

    mechanism: LinearHashing
    vector: NDArray[np.uint32]
    answers: NDArray[np.uint8]

    @classmethod
    def draw(cls, mechanism: LinearHashing, devices: int, random: Random) -> "Lives":
        vector = random.narrow_below(mechanism.characters - 1, devices).astype(np.uint32)
        buckets = np.arange(mechanism.buckets, dtype=np.uint8)
        answers = [mechanism.randomise(np.full(devices, bucket), random) for bucket in buckets]
        return cls(mechanism, vector, np.stack(answers, axis=1))

    def buckets(self, cells: NDArray[np.int64]) -> NDArray[np.intp]:
        """The bucket of each device's cell."""
        return self.mechanism.hashed(self.vector + np.uint32(1), cells.astype(np.uint32)).astype(np.intp)

    def reports(self, cells: NDArray[np.int64]) -> Reports:
        """One window's reports."""
        return {"vector": self.vector, "bucket": self.answers[np.arange(len(cells)), self.buckets(cells)]}
