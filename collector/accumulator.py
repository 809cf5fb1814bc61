"""A mechanism's state as one int64 vector, and the deltas that add to it.

The vector is the state's arrays one after the other in the order of `mechanism.arrays`. A delta is the part of it that
a range adds: dense, or sparse where few cells change, with values in the narrowest signed type that holds them.
"""

from math import prod

import msgpack
import numpy as np
from numpy.typing import NDArray

from collector.errors import StateError
from collector.limits import CHUNK_CELLS
from mechanisms import Mechanism, State

LAYOUT_VERSION = 1
Vector = NDArray[np.int64]
_OVERFLOW = 1 << 62


def cells_of(mechanism: Mechanism) -> int:
    """How long the mechanism's vector is."""
    return sum(prod(shape) for shape in mechanism.arrays.values())


def flatten(mechanism: Mechanism, state: State) -> Vector:
    """A state as one vector."""
    return np.concatenate([state[name].reshape(-1) for name in mechanism.arrays])


def unflatten(mechanism: Mechanism, vector: Vector) -> State:
    """The state whose arrays are views of the vector."""
    state: State = {}
    start = 0
    for name, shape in mechanism.arrays.items():
        state[name] = vector[start : start + prod(shape)].reshape(shape)
        start += prod(shape)
    return state


def encode_delta(vector: Vector) -> bytes:
    """A delta in its smaller form; empty where nothing changes."""
    changed = np.flatnonzero(vector)
    if not changed.size:
        return b""
    largest = max(int(vector.max()), -1 - int(vector.min()))  # signed types reach one further below zero than above
    kind = np.min_scalar_type(-1 - largest)
    sparse_size = changed.size * (4 + kind.itemsize)
    if sparse_size < vector.size * kind.itemsize:
        index, values = changed.astype("<u4").tobytes(), vector[changed]
    else:
        index, values = None, vector
    packed: bytes = msgpack.packb(
        [LAYOUT_VERSION, vector.size, kind.itemsize, index, values.astype(f"<i{kind.itemsize}").tobytes()]
    )
    return packed


def apply_delta(vector: Vector, blob: bytes) -> set[int]:
    """Add a delta in place; answers which chunks it touched."""
    layout, size, width, index, values = msgpack.unpackb(blob)
    if layout > LAYOUT_VERSION:
        raise StateError(f"delta layout must be at most {LAYOUT_VERSION}, got {layout}")
    if size != vector.size:
        raise StateError(f"delta must have {vector.size} cells, got {size}")
    added = np.frombuffer(values, dtype=f"<i{width}").astype(np.int64)
    if index is None:
        vector += added
        check_overflow(vector)
        return set(range(-(-vector.size // CHUNK_CELLS)))
    cells = np.frombuffer(index, dtype="<u4").astype(np.intp)
    vector[cells] += added
    check_overflow(vector[cells])
    return set(np.unique(cells // CHUNK_CELLS).tolist())


def check_overflow(vector: Vector) -> None:
    """Refuse values so large that a further sum could wrap around."""
    if vector.size and (int(vector.max()) >= _OVERFLOW or int(vector.min()) <= -_OVERFLOW):
        raise StateError("accumulator would overflow 2^62")
