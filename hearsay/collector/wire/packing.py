"""Symbols of a fixed alphabet, packed close to their entropy.

Alphabets near a power of two take ceil(log2) bits a symbol. For the others (3 symbols would take 2 bits instead of
1.58) a few symbols are first joined into one larger symbol, so that little more than 4% is lost.
"""

from collections.abc import Sequence
from math import log2

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.layout import Symbols

_TOLERATED_WASTE = 1.04
_WIDEST = 57


class Packing:
    """How symbols below `alphabet` (at most 2^57) become bytes."""

    def __init__(self, alphabet: int) -> None:
        self.alphabet = alphabet
        self.group = self._choose_group()
        self.bits = (alphabet**self.group - 1).bit_length()
        self.exact = alphabet**self.group == 1 << self.bits  # then every bit pattern is a valid symbol

    def _choose_group(self) -> int:
        if self.alphabet <= 1:
            return 1
        entropy = log2(self.alphabet)
        best, least = 1, float("inf")
        group = 1
        while self.alphabet**group <= 1 << _WIDEST:
            waste = (self.alphabet**group - 1).bit_length() / (group * entropy)
            if waste <= _TOLERATED_WASTE:
                return group
            if waste < least:
                best, least = group, waste
            group += 1
        return best

    def size(self, count: int) -> int:
        """Bytes that `count` symbols take."""
        return (-(-count // self.group) * self.bits + 7) // 8

    def pack(self, symbols: Symbols) -> bytes:
        """Symbols as bytes, the first in the lowest bits."""
        return self.pack_rows(symbols[None, :]).tobytes()

    def unpack(self, packed: Sequence[bytes], counts: Sequence[int]) -> Symbols:
        """The inverse of `pack` for several packed runs of symbols at once, one after the other.

        Symbols outside the alphabet are possible in damaged input and left to the caller.
        """
        sizes, lengths = np.array([len(run) for run in packed]), np.array(counts)
        groups = -(-lengths // self.group)
        ends = np.cumsum(groups)
        # Of every run: the bit it starts at, less the bits that all groups before it would take side by side.
        shift = 8 * (np.cumsum(sizes) - sizes) - (ends - groups) * self.bits
        places = np.arange(ends[-1]) * self.bits + np.repeat(shift, groups)
        joined = self._fields(np.frombuffer(b"".join(packed), dtype=np.uint8), places)
        if self.group == 1:
            return joined
        symbols = self._digits(joined).reshape(-1)
        # The last group of a run may be longer than the run.
        within = np.arange(symbols.size) - np.repeat((ends - groups) * self.group, groups * self.group)
        return symbols[within < np.repeat(lengths, groups * self.group)]

    def pack_rows(self, table: Symbols) -> NDArray[np.uint8]:
        """Every row of symbols packed by itself into whole bytes."""
        rows, count = table.shape
        groups = -(-count // self.group)
        joined = table
        if self.group > 1:
            padded = np.zeros((rows, groups * self.group), dtype=np.uint64)
            padded[:, :count] = table
            digits = padded.reshape(rows, groups, self.group)
            joined = np.zeros((rows, groups), dtype=np.uint64)
            for position in range(self.group - 1, -1, -1):
                joined = joined * np.uint64(self.alphabet) + digits[:, :, position]
        width = (self.bits + 7) // 8
        octets = np.ascontiguousarray(joined, dtype="<u8").view(np.uint8).reshape(rows, groups, 8)[:, :, :width]
        if self.bits % 8 == 0:
            return octets.reshape(rows, groups * width)
        bits = np.unpackbits(octets, axis=2, count=self.bits, bitorder="little")
        return np.packbits(bits.reshape(rows, groups * self.bits), axis=1, bitorder="little")

    def unpack_rows(self, packed: NDArray[np.uint8], count: int) -> Symbols:
        """The inverse of `pack_rows`, under the same proviso."""
        rows, width = packed.shape
        groups = -(-count // self.group)
        places = 8 * width * np.arange(rows)[:, None] + self.bits * np.arange(groups)
        joined = self._fields(packed.reshape(-1), places)
        if self.group == 1:
            return joined
        return self._digits(joined).reshape(rows, groups * self.group)[:, :count]

    def _digits(self, joined: Symbols) -> Symbols:
        """The symbols of every group along a new last axis; those of a group that no symbols make are all outside."""
        digits = np.empty((*joined.shape, self.group), dtype=np.uint64)
        outside = joined >= np.uint64(self.alphabet**self.group)
        for position in range(self.group):
            joined, digits[..., position] = np.divmod(joined, np.uint64(self.alphabet))
        digits[outside] = self.alphabet
        return digits

    def _fields(self, octets: NDArray[np.uint8], places: NDArray[np.int64]) -> Symbols:
        """Fields of `bits` bits that start at these bits, from an unaligned eight-byte load each."""
        if self.bits == 0:
            return np.zeros(places.shape, dtype=np.uint64)
        padded = np.zeros(octets.size + 8, dtype=np.uint8)
        padded[: octets.size] = octets
        at_every_byte: NDArray[np.uint64] = np.ndarray(
            shape=(octets.size + 1,), dtype="<u8", buffer=padded.data, strides=(1,)
        )
        words = at_every_byte[places >> 3]
        return (words >> (places & 7).astype(np.uint64)) & np.uint64((1 << self.bits) - 1)
