"""The public hash of a level: the xor of one table entry for each byte of a code's prefix.

The tables come from SHAKE-256 of seed, level and place, so that they are the same on every machine and for ever. Two
different prefixes share a bucket with probability 1/buckets, and any three are hashed independently (simple tabulation,
Carter and Wegman 1979). The hash hides nothing: privacy comes from what is done with the bucket.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.text.code import Octets

Buckets = NDArray[np.uint32]
_BYTES = 256


@dataclass(frozen=True)
class LevelHash:
    """The hash of a code's first `places` bytes into `buckets`, a power of two."""

    seed: int
    level: int
    places: int
    buckets: int

    @cached_property
    def tables(self) -> Buckets:
        """One row for each place, one entry for each byte."""
        rows = [
            np.frombuffer(
                hashlib.shake_256(f"hearsay text {self.seed} {self.level} {position}".encode()).digest(4 * _BYTES),
                dtype="<u4",
            )
            for position in range(self.places)
        ]
        return np.stack(rows).astype(np.uint32) & np.uint32(self.buckets - 1)

    def __call__(self, codes: Octets) -> Buckets:
        """The bucket of every code."""
        return self._mixed(codes, self.places)

    def extended(self, prefixes: Octets) -> Buckets:
        """The buckets of prefixes one byte shorter, with each of the 256 bytes put behind."""
        return self._mixed(prefixes, self.places - 1)[:, None] ^ self.tables[-1]

    def _mixed(self, codes: Octets, places: int) -> Buckets:
        bucket = np.zeros(len(codes), dtype=np.uint32)
        for position in range(places):
            bucket ^= self.tables[position][codes[:, position]]
        return bucket
