"""Hash functions that devices, workers and estimator share: the same on every machine and in every version.

The functions are polynomials of degree two modulo a prime, so they hash any three values independently (pairwise
independence is not enough: the variance of collisions contains triples). The coefficients are SHA-256 of a public seed,
so they never change. They are public, and privacy comes only from the randomisation after hashing. Because all devices
share the functions, collisions leave an error that more reports do not reduce; its size depends on `others_squared`.

Where the hashes of many values must be independent of each other, words are mixed instead (`split_mixed`).
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_PRIME = (1 << 31) - 1  # products of two residues fit into 64 bits


def coefficients(seed: int, number: int) -> NDArray[np.uint64]:
    """For each of `number` functions the three coefficients of its polynomial, the highest first: number x 3."""
    drawn = []
    for index in range(number):
        digest = hashlib.sha256(f"hearsay hash {seed} {index}".encode()).digest()
        drawn.append([int.from_bytes(digest[8 * part : 8 * part + 8]) % _PRIME for part in range(3)])
    return np.array(drawn, dtype=np.uint64)


def hashed(functions: NDArray[np.uint64], values: NDArray[np.uint64], buckets: int) -> NDArray[np.uint64]:
    """(a x^2 + b x + c mod prime) mod buckets; functions (..., 3) and values broadcast against each other."""
    prime = np.uint64(_PRIME)
    square, linear, constant = functions[..., 0], functions[..., 1], functions[..., 2]
    return (((square * values + linear) % prime) * values + constant) % prime % np.uint64(buckets)


def split_mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The words mixed as by SplitMix64 (Steele, Lea and Flood 2014), with wrapping 64-bit arithmetic."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def others_squared(f: Floats, noise: Floats) -> Floats:
    """For every cell the sum of the other cells' squared shares, from estimates f minus their variances `noise`."""
    total = float(np.clip((f**2).sum() - noise.sum(), 1 / f.size, 1.0))
    return np.maximum(total - np.clip(f, 0.0, 1.0) ** 2, 0.0)
