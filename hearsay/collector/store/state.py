"""A mechanism's state as one int64 vector, and the deltas that add to it.

The vector has the arrays of the state one after the other, in the order of `mechanism.arrays`. A delta is what a range
adds to the vector. It is dense, or sparse if few cells change; each number has as many bytes as it needs; and it is
compressed if that saves enough. A chunk of an accumulator is packed in the same way, as a delta to zeros.
"""

import zlib
from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple, Self

import msgpack
import numpy as np
from numpy.typing import NDArray

from hearsay.collector.errors import StateError
from hearsay.collector.limits import CHUNK_CELLS
from hearsay.mechanisms import State
from hearsay.mechanisms.roles import EstimatorSide, WorkerSide

WHOLE_CHUNKS, PACKED_CHUNKS = 1, 2  # layouts of accumulators
PLAIN_DELTA, PACKED_DELTA = 2, 3
PACK_BYTES = 256  # a smaller delta is not packed
PACK_SHARE = 0.9  # a packed form must be at most this share of the plain one
Vector = NDArray[np.int64]
_OVERFLOW = 1 << 62
_PARTS = b"parts "


class Delta(NamedTuple):
    """The value of a field of `deltas`: the delta of a committed range, or the keys of its parts.

    `body` is the delta itself, empty if it is stored in `parts`; `size` is its whole length in bytes.
    """

    body: bytes
    parts: tuple[str, ...]
    size: int

    @classmethod
    def parse(cls, blob: bytes) -> Self:
        if not blob.startswith(_PARTS):
            return cls(blob, (), len(blob))
        try:
            _, size, *names = blob.decode().split()
            return cls(b"", tuple(names), int(size))
        except ValueError:
            raise StateError(f"delta of {len(blob)} bytes is damaged") from None

    def blob(self) -> bytes:
        """The value that COMMIT stores; PURGE reads it too."""
        return _PARTS + " ".join((str(self.size), *self.parts)).encode() if self.parts else self.body


def cells_of(mechanism: WorkerSide | EstimatorSide) -> int:
    """The length of the mechanism's vector."""
    return sum(prod(shape) for shape in mechanism.arrays.values())


def flatten(mechanism: WorkerSide | EstimatorSide, state: State) -> Vector:
    """A state as one vector."""
    return np.concatenate([state[name].reshape(-1) for name in mechanism.arrays])


def unflatten(mechanism: WorkerSide | EstimatorSide, vector: Vector) -> State:
    """The state whose arrays are views of the vector."""
    state: State = {}
    start = 0
    for name, shape in mechanism.arrays.items():
        state[name] = vector[start : start + prod(shape)].reshape(shape)
        start += prod(shape)
    return state


def fresh(mechanism: WorkerSide | EstimatorSide) -> tuple[Vector, State]:
    """A vector of zeros, and the state whose arrays are views of it."""
    vector = np.zeros(cells_of(mechanism), dtype=np.int64)
    return vector, unflatten(mechanism, vector)


def encode_delta(vector: Vector, layout: int = PLAIN_DELTA) -> bytes:
    """The delta of a vector; empty if all cells are zero. `layout` is the newest layout that may be written.

    Few numbers of a delta are large, so they are encoded byte by byte: the first section has the lowest byte of every
    cell that changed, the next one the second byte of those that need more, and so on. A section is dense, or sparse
    with the steps from cell to cell in two bytes.
    """
    cells = np.flatnonzero(vector != 0)  # with the comparison it takes a third of the time
    remaining = vector[cells]
    sections = []
    while cells.size:
        low = remaining.astype(np.int8)  # the lowest byte as a signed number
        sections.append(_section(cells, low, vector.size))
        remaining = (remaining - low) >> 8
        more = remaining != 0
        cells, remaining = cells[more], remaining[more]
    if not sections:
        return b""
    plain: bytes = msgpack.packb([PLAIN_DELTA, vector.size, sections])
    if layout >= PACKED_DELTA and len(plain) >= PACK_BYTES:
        packed: bytes = msgpack.packb([PACKED_DELTA, vector.size, _deflate(msgpack.packb(sections))])
        if len(packed) <= PACK_SHARE * len(plain):
            return packed
    return plain


def _deflate(content: bytes) -> bytes:
    """Compress by Huffman coding only: the numbers are noise, in which searching for repetitions saves little."""
    compressor = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_HUFFMAN_ONLY)
    return compressor.compress(content) + compressor.flush()


def _inflate(content: bytes, size: int) -> Any:
    """The sections of a delta of `size` cells; the output is limited to eight bytes per cell, and their steps."""
    decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
    sections = decompressor.decompress(content, 32 * size + 1_024)
    if not decompressor.eof:
        raise ValueError("packed numbers must end where their cells do")
    return msgpack.unpackb(sections)


def encode_chunk(cells: Vector, layout: int = WHOLE_CHUNKS) -> bytes:
    """A chunk of an accumulator. `layout` is the newest layout that may be written."""
    whole = cells.astype("<i8").tobytes()
    if layout < PACKED_CHUNKS:
        return whole
    packed = encode_delta(cells, PACKED_DELTA)
    return packed if len(packed) <= PACK_SHARE * len(whole) else whole


def add_chunk(cells: Vector, blob: bytes) -> None:
    """Add a chunk to these cells. It is packed unless it has the length of the cells."""
    if len(blob) == cells.nbytes:
        cells += np.frombuffer(blob, dtype="<i8")
    elif blob:
        apply_delta(cells, blob)


def _section(cells: NDArray[np.intp], values: NDArray[np.int8], size: int) -> tuple[bytes | None, bytes]:
    """The steps and values of a sparse section, or None and all values of a dense one."""
    if 3 * cells.size >= size:
        dense = np.zeros(size, dtype=np.int8)
        dense[cells] = values
        return None, dense.tobytes()
    steps = np.diff(cells, prepend=-1) - 1
    repeats = (steps >> 16) + 1
    if repeats.max() > 1:  # a long step is split into steps of 2^16 that add zero
        ends = np.cumsum(repeats) - 1
        short_steps, added = np.full(ends[-1] + 1, 0xFFFF), np.zeros(ends[-1] + 1, dtype=np.int8)
        short_steps[ends], added[ends] = steps & 0xFFFF, values
        steps, values = short_steps, added
    return steps.astype("<u2").tobytes(), values.tobytes()


def apply_delta(vector: Vector, blob: bytes) -> set[int]:
    """Add a delta in place; returns which chunks it changed. After a StateError the vector must not be used."""
    try:
        return _apply(vector, blob)
    except (ValueError, TypeError, IndexError, zlib.error) as error:  # of msgpack, numpy and zlib, for damaged bytes
        raise StateError(f"delta of {len(blob)} bytes is damaged ({type(error).__name__})") from None


def _apply(vector: Vector, blob: bytes) -> set[int]:
    layout, size, sections = msgpack.unpackb(blob)
    if not isinstance(layout, int):
        raise TypeError("layout must be an integer")
    if layout not in (PLAIN_DELTA, PACKED_DELTA):
        raise StateError(what="delta layout", expected=f"{PLAIN_DELTA} or {PACKED_DELTA}", got=layout)
    if size != vector.size:
        raise StateError(what="delta", must=f"have {vector.size} cells", got=size)
    if layout == PACKED_DELTA:
        sections = _inflate(sections, size)
    touched: set[int] = set()
    for cells, added in _sections(sections):
        if added.size != (vector if cells is None else cells).size:  # numpy would add a single number to all cells
            raise ValueError("as many numbers as cells")
        if cells is None:
            vector += added
            check_overflow(vector)
            touched.update(range(-(-vector.size // CHUNK_CELLS)))
        else:
            total = vector[cells] + added
            check_overflow(total)
            vector[cells] = total
            touched.update(np.flatnonzero(np.bincount(cells // CHUNK_CELLS)).tolist())
    return touched


def _sections(sections: list[tuple[bytes | None, bytes]]) -> Iterator[tuple[NDArray[np.int64] | None, Vector]]:
    """For each section its cells (None: all cells), and the numbers to add to them."""
    for byte, (steps, values) in enumerate(sections):
        added = np.frombuffer(values, dtype=np.int8).astype(np.int64) << 8 * byte
        if steps is None:
            yield None, added
            continue
        cells = np.cumsum(np.frombuffer(steps, dtype="<u2").astype(np.int64) + 1) - 1
        is_zero = added == 0  # of a split step, or a zero byte of a number
        yield (cells[~is_zero], added[~is_zero]) if is_zero.any() else (cells, added)


def check_overflow(vector: Vector) -> None:
    """Refuse values so large that a further addition could overflow."""
    if vector.size and (int(vector.max()) >= _OVERFLOW or int(vector.min()) <= -_OVERFLOW):
        raise StateError("accumulator would overflow 2^62")
