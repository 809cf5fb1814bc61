"""The Walsh-Hadamard transform, and the characters it is made of.

Character alpha at value x is (-1)^(number of ones in alpha AND x). The transform here is unnormalised: applied twice
it multiplies by the length.
"""

import numpy as np
from numpy.typing import NDArray

_RADIX = 16


def _matrix(size: int) -> NDArray[np.float64]:
    rows = np.arange(size)
    return 1.0 - 2.0 * parity(rows[:, None] & rows[None, :]).astype(np.float64)


def parity(masked: NDArray[np.integer]) -> NDArray[np.uint8]:
    """1 where an odd number of bits is set."""
    return np.bitwise_count(masked) & np.uint8(1)


def walsh_hadamard(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unnormalised transform along the last axis, whose length must be a power of two.

    Sixteen-point steps as small matrix products: a quarter of the passes over memory of the textbook butterfly.
    """
    out = np.ascontiguousarray(vector, dtype=np.float64)
    shape, size = out.shape, out.shape[-1]
    if size & (size - 1):
        raise ValueError(f"length must be a power of two, got {size}")
    stride = 1
    while stride < size:
        radix = min(_RADIX, size // stride)
        blocks = out.reshape(-1, radix, stride)
        out = blocks.reshape(-1, radix) @ _matrix(radix) if stride == 1 else np.matmul(_matrix(radix), blocks)
        stride *= radix
    return out.reshape(shape)


def power_of_two_at_least(size: int) -> int:
    """The least power of two that is not below `size`."""
    return 1 << max(0, size - 1).bit_length()
