"""Hash functions that devices, workers and estimator share: the same on every machine and in every version.

Any three values are hashed independently, by polynomials of degree two modulo a prime (pairs would not do: the variance
of collisions has triples). The coefficients come from SHA-256 of a public seed, which fixes them for ever. They hide
nothing: privacy comes from what is done after hashing. Hashes that are the same for all devices leave an error that
more reports do not remove, whose size depends on `others_squared`.
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
    """(a x^2 + b x + c mod prime) mod buckets; functions (..., 3) and values by the usual rules of broadcasting."""
    prime = np.uint64(_PRIME)
    square, linear, constant = functions[..., 0], functions[..., 1], functions[..., 2]
    return (((square * values + linear) % prime) * values + constant) % prime % np.uint64(buckets)


def others_squared(f: Floats, noise: Floats) -> Floats:
    """For every cell the sum of the other cells' squared shares, from noisy estimates whose noise is taken off."""
    total = float(np.clip((f**2).sum() - noise.sum(), 1 / f.size, 1.0))
    return np.maximum(total - np.clip(f, 0.0, 1.0) ** 2, 0.0)
