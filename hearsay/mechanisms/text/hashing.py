"""The public hash of a level: the xor of one table entry for each byte of a code's prefix.

The tables are SHAKE-256 of seed, level and position, so they are the same on every machine and never change. Two
different prefixes share a bucket with probability 1/buckets, and any three are hashed independently (simple tabulation,
Carter and Wegman 1979). The hash is public, and privacy comes only from the randomisation of the bucket.
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
    """The hash of a code's first `prefix_bytes` bytes into `buckets`, a power of two."""

    seed: int
    level: int
    prefix_bytes: int
    buckets: int

    @cached_property
    def tables(self) -> Buckets:
        """One row for each position in the prefix, one entry for each value of its byte."""
        rows = [
            np.frombuffer(
                hashlib.shake_256(f"hearsay text {self.seed} {self.level} {position}".encode()).digest(4 * _BYTES),
                dtype="<u4",
            )
            for position in range(self.prefix_bytes)
        ]
        return np.stack(rows).astype(np.uint32) & np.uint32(self.buckets - 1)

    def __call__(self, codes: Octets) -> Buckets:
        """The bucket of every code."""
        return self._mixed(codes, self.prefix_bytes)

    def extended(self, prefixes: Octets) -> Buckets:
        """The buckets of all 256 extensions by one byte of prefixes of `prefix_bytes` - 1 bytes."""
        return self._mixed(prefixes, self.prefix_bytes - 1)[:, None] ^ self.tables[-1]

    def _mixed(self, codes: Octets, prefix_bytes: int) -> Buckets:
        bucket = np.zeros(len(codes), dtype=np.uint32)
        for position in range(prefix_bytes):
            bucket ^= self.tables[position][codes[:, position]]
        return bucket
