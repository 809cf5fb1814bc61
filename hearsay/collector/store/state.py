"""A mechanism's state as one int64 vector, and the deltas that add to it.

The vector is the state's arrays one after the other in the order of `mechanism.arrays`. A delta is the part of it that
a range adds: dense, or sparse where few cells change, each cell with as many bytes as its number needs, and packed
where that pays. A chunk of an accumulator is packed in the same way, as what it adds to zeros.
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
PACK_BYTES = 256  # below it packing saves less than it costs
PACK_SHARE = 0.9  # and above this share of the plain form
Vector = NDArray[np.int64]
_OVERFLOW = 1 << 62
_PARTS = b"parts "


class Delta(NamedTuple):
    """What a field of `deltas` holds: a committed range's addition, or the names of the keys that hold it in parts.

    `body` is the delta itself, empty where it stands in `parts`; `size` is the length of the whole in bytes.
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
        """As COMMIT stores it; the purge of a window reads it too."""
        return _PARTS + " ".join((str(self.size), *self.parts)).encode() if self.parts else self.body


def cells_of(mechanism: WorkerSide | EstimatorSide) -> int:
    """How long the mechanism's vector is."""
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
    """A delta; empty where nothing changes. `layout`: the newest that may be written.

    Few numbers of a delta are large, so they travel byte by byte: a section with the lowest byte of every cell that
    changed, one with the next byte of those that need more, and so on. A section is dense, or sparse with the steps
    from cell to cell in two bytes.
    """
    cells = np.flatnonzero(vector != 0)  # comparing first takes a third of the time
    left = vector[cells]
    sections = []
    while cells.size:
        low = left.astype(np.int8)  # the lowest byte as a signed number
        sections.append(_section(cells, low, vector.size))
        left = (left - low) >> 8
        more = left != 0
        cells, left = cells[more], left[more]
    if not sections:
        return b""
    plain: bytes = msgpack.packb([PLAIN_DELTA, vector.size, sections])
    if layout >= PACKED_DELTA and len(plain) >= PACK_BYTES:
        packed: bytes = msgpack.packb([PACKED_DELTA, vector.size, _deflate(msgpack.packb(sections))])
        if len(packed) <= PACK_SHARE * len(plain):
            return packed
    return plain


def _deflate(content: bytes) -> bytes:
    """Huffman's code only: the numbers are noise, in which looking for repetitions takes longer and finds little."""
    compressor = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_HUFFMAN_ONLY)
    return compressor.compress(content) + compressor.flush()


def _inflate(content: bytes, size: int) -> Any:
    """The sections of a delta of so many cells; never more than eight bytes of each, with their steps."""
    decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
    sections = decompressor.decompress(content, 32 * size + 1_024)
    if not decompressor.eof:
        raise ValueError("packed numbers must end where their cells do")
    return msgpack.unpackb(sections)


def encode_chunk(cells: Vector, layout: int = WHOLE_CHUNKS) -> bytes:
    """A chunk of an accumulator. `layout`: the newest that may be written."""
    whole = cells.astype("<i8").tobytes()
    if layout < PACKED_CHUNKS:
        return whole
    packed = encode_delta(cells, PACKED_DELTA)
    return packed if len(packed) <= PACK_SHARE * len(whole) else whole


def add_chunk(cells: Vector, blob: bytes) -> None:
    """Add a chunk to these cells; its length tells whether it is packed."""
    if len(blob) == cells.nbytes:
        cells += np.frombuffer(blob, dtype="<i8")
    elif blob:
        apply_delta(cells, blob)


def _section(cells: NDArray[np.intp], values: NDArray[np.int8], size: int) -> tuple[bytes | None, bytes]:
    """Steps and values of a sparse section; None and all values of a dense one."""
    if 3 * cells.size >= size:
        dense = np.zeros(size, dtype=np.int8)
        dense[cells] = values
        return None, dense.tobytes()
    steps = np.diff(cells, prepend=-1) - 1
    repeats = (steps >> 16) + 1
    if repeats.max() > 1:  # a long way is taken in steps of 2^16 that add nothing
        ends = np.cumsum(repeats) - 1
        taken, added = np.full(ends[-1] + 1, 0xFFFF), np.zeros(ends[-1] + 1, dtype=np.int8)
        taken[ends], added[ends] = steps & 0xFFFF, values
        steps, values = taken, added
    return steps.astype("<u2").tobytes(), values.tobytes()


def apply_delta(vector: Vector, blob: bytes) -> set[int]:
    """Add a delta in place; answers which chunks it touched. After a StateError the vector must not be used."""
    try:
        return _apply(vector, blob)
    except (
        ValueError,
        TypeError,
        IndexError,
        zlib.error,
    ) as error:  # what msgpack, numpy and zlib say of damaged bytes
        raise StateError(f"delta of {len(blob)} bytes is damaged ({type(error).__name__})") from None


def _apply(vector: Vector, blob: bytes) -> set[int]:
    layout, size, sections = msgpack.unpackb(blob)
    if not isinstance(layout, int):
        raise TypeError("layout must be an integer")
    if layout not in (PLAIN_DELTA, PACKED_DELTA):
        raise StateError(f"delta layout must be {PLAIN_DELTA} or {PACKED_DELTA}, got {layout}")
    if size != vector.size:
        raise StateError(f"delta must have {vector.size} cells, got {size}")
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
    """Cells, None for all of them, and what each section adds to them."""
    for place, (steps, values) in enumerate(sections):
        added = np.frombuffer(values, dtype=np.int8).astype(np.int64) << 8 * place
        if steps is None:
            yield None, added
            continue
        cells = np.cumsum(np.frombuffer(steps, dtype="<u2").astype(np.int64) + 1) - 1
        on_the_way = added == 0  # or a byte that is zero, of a number whose other bytes are not
        yield (cells[~on_the_way], added[~on_the_way]) if on_the_way.any() else (cells, added)


def check_overflow(vector: Vector) -> None:
    """Refuse values so large that a further sum could wrap around."""
    if vector.size and (int(vector.max()) >= _OVERFLOW or int(vector.min()) <= -_OVERFLOW):
        raise StateError("accumulator would overflow 2^62")
