"""The Walsh-Hadamard transform, and the characters it is made of.

Character alpha at value x is (-1)^(number of ones in alpha AND x). The transform here is unnormalised: applied twice
it multiplies by the length.
"""

from math import gcd

import numpy as np
from numpy.typing import NDArray

_RADIX = 16
# Vectors that one matrix product transforms: so few that they fit into the cache, and that the linear algebra library
# uses one thread. More threads do not pay here: if other processes keep the cores busy, they cost ten times what the
# whole transform takes in one thread.
_VECTORS_PER_PRODUCT = 512


def _matrix(size: int) -> NDArray[np.float64]:
    rows = np.arange(size)
    return 1.0 - 2.0 * parity(rows[:, None] & rows[None, :]).astype(np.float64)


def parity(masked: NDArray[np.integer]) -> NDArray[np.uint8]:
    """1 where an odd number of bits is set."""
    return np.bitwise_count(masked) & np.uint8(1)


def walsh_hadamard(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unnormalised transform along the last axis, whose length must be a power of two.

    Each step is a sixteen-point transform as a small matrix product, so there are a quarter as many passes over memory
    as with the textbook butterfly.
    """
    out = np.ascontiguousarray(vector, dtype=np.float64)
    shape, size = out.shape, out.shape[-1]
    if size & (size - 1):
        raise ValueError(f"length must be a power of two, got {size}")
    stride = 1
    while stride < size:
        radix = min(_RADIX, size // stride)
        matrix, blocks = _matrix(radix), out.reshape(-1, radix, stride)
        if stride == 1:  # the vectors are rows here, columns below
            out = np.matmul(blocks.reshape(-1, gcd(out.size // radix, _VECTORS_PER_PRODUCT), radix), matrix)
        else:
            out = np.empty_like(blocks)
            width = min(_VECTORS_PER_PRODUCT, stride)
            np.matmul(matrix, _pieces(blocks, width), out=_pieces(out, width))
        stride *= radix
    return out.reshape(shape)


def _pieces(blocks: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """A view of the blocks in which each is split into matrices of `width` columns."""
    count, radix, stride = blocks.shape
    return blocks.reshape(count, radix, stride // width, width).transpose(0, 2, 1, 3)


def power_of_two_at_least(size: int) -> int:
    """The least power of two that is not below `size`."""
    return 1 << max(0, size - 1).bit_length()
