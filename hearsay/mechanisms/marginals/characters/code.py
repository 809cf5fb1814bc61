"""Attributes as bits: the code that all methods on characters share (Kulkarni corollary 1).

An attribute of r values takes ceil(log2 r) bits; a device's value is the bits of its attributes side by side. A
character is a mask of bits, its sign at a value (-1)^(bits that both have set). A marginal over the attributes S is a
table with an axis per attribute, in the order named; so are its K characters, and

    f = A theta,   A = the Kronecker product over S of A_i = L_i H_i / K_i,

H_i the Hadamard matrix of the attribute's bits. Where r is no power of two some codes mean nothing: nobody holds them.
L_i = [1 | 1/r] hands the noise that lands on them out evenly over the real values: no mass stays there, a table sums
to one, the estimate stays unbiased, and tables still agree with each other, since L_i keeps sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.hadamard import walsh_hadamard

Masks = NDArray[np.uint64]
Attributes = tuple[int, ...]  # places of attributes, in the order named
_KEPT = 1 << 14  # entries of a matrix that is worth keeping; larger ones are rare, and large
MAXIMUM_BITS = 64  # of all attributes together: a value is one machine word


@dataclass(frozen=True)
class Code:
    """The bits of every attribute; the first attribute has the lowest ones."""

    sizes: tuple[int, ...]

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """How many bits each attribute takes."""
        return tuple((size - 1).bit_length() for size in self.sizes)

    @property
    def width(self) -> int:
        """Bits of a whole value."""
        return sum(self.bits)

    @cached_property
    def shifts(self) -> tuple[int, ...]:
        """Where each attribute's bits start."""
        return tuple(sum(self.bits[:attribute]) for attribute in range(len(self.bits)))

    def shape(self, attributes: Attributes) -> tuple[int, ...]:
        """The real values along each axis of a marginal."""
        return tuple(self.sizes[attribute] for attribute in attributes)

    def cells(self, attributes: Attributes) -> int:
        """R: how many real cells a marginal has."""
        return prod(self.shape(attributes))

    def codes(self, attributes: Attributes) -> int:
        """K: how many codes, and characters, a marginal has."""
        return 1 << sum(self.bits[attribute] for attribute in attributes)

    def encode(self, values: NDArray[np.int64]) -> Masks:
        """Values of many devices, shape (n, attributes), as one word each."""
        if max(self.bits) == 1:  # many narrow columns: packing rows is ten times faster than shifting columns
            packed = np.zeros((len(values), 8), dtype=np.uint8)
            rows = np.packbits(values.astype(np.uint8), axis=1, bitorder="little")
            packed[:, : rows.shape[1]] = rows
            return packed.view("<u8").reshape(-1).astype(np.uint64, copy=False)
        words = np.zeros(len(values), dtype=np.uint64)
        for attribute, shift in enumerate(self.shifts):
            words |= values[:, attribute].astype(np.uint64) << np.uint64(shift)
        return words

    def characters(self, attributes: Attributes) -> Masks:
        """The masks of a marginal's K characters, row-major over its axes; the first one is empty."""
        masks = np.zeros(1, dtype=np.uint64)
        for attribute in attributes:
            own = np.arange(1 << self.bits[attribute], dtype=np.uint64) << np.uint64(self.shifts[attribute])
            masks = (masks[:, None] | own[None, :]).reshape(-1)
        return masks

    def to_cells(self, attributes: Attributes) -> Floats:
        """A: cells from characters, R x K."""
        shape = self.shape(attributes)
        small = self.cells(attributes) * self.codes(attributes) <= _KEPT
        return _several_attributes(shape) if small else _kronecker(shape)

    def to_characters(self, attributes: Attributes, cells: Floats) -> Floats:
        """theta of a table of real cells, of any shape; the K characters row-major."""
        padded = np.zeros(tuple(1 << self.bits[attribute] for attribute in attributes))
        padded[tuple(slice(size) for size in self.shape(attributes))] = cells.reshape(self.shape(attributes))
        return walsh_hadamard(padded.reshape(-1))


def _kronecker(sizes: tuple[int, ...]) -> Floats:
    """A of attributes of these sizes."""
    matrix: Floats = np.ones((1, 1))
    for size in sizes:
        matrix = np.kron(matrix, _one_attribute(size)).astype(np.float64, copy=False)
    return matrix


@lru_cache(maxsize=256)
def _several_attributes(sizes: tuple[int, ...]) -> Floats:
    """The same, kept, and so read only."""
    matrix = _kronecker(sizes)
    matrix.setflags(write=False)
    return matrix


def _one_attribute(size: int) -> Floats:
    """A_i of an attribute of `size` values."""
    bits = (size - 1).bit_length()
    table = walsh_hadamard(np.eye(1 << bits)) / (1 << bits)
    spread: Floats = table[:size] + table[size:].sum(axis=0) / size
    return spread


def local_xor(count: int) -> NDArray[np.intp]:
    """For each pair of a marginal's characters the place of their product, count x count."""
    numbers = np.arange(count)
    return numbers[:, None] ^ numbers[None, :]


def check_attributes(attributes: Sequence[int], order: int) -> Attributes:
    """A marginal's attributes as a tuple, at most `order` of them."""
    chosen = tuple(attributes)
    if not 1 <= len(chosen) <= order:
        raise ValueError(f"a marginal must have 1..{order} attributes, got {len(chosen)}")
    return chosen
