"""Symbols of a fixed alphabet, packed close to their entropy.

Alphabets near a power of two take ceil(log2) bits a symbol. For the others (3 symbols would take 2 bits instead of
1.58) a few symbols are first joined into one larger symbol, so that little more than 4% is lost.
"""

from math import log2

import numpy as np
from numpy.typing import NDArray

from mechanisms.layout import Symbols

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

    def unpack(self, packed: bytes, count: int) -> Symbols:
        """The inverse of `pack`; symbols outside the alphabet are possible in damaged input and left to the caller."""
        return self.unpack_rows(np.frombuffer(packed, dtype=np.uint8)[None, :], count)[0]

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
            for place in range(self.group - 1, -1, -1):
                joined = joined * np.uint64(self.alphabet) + digits[:, :, place]
        width = (self.bits + 7) // 8
        octets = np.ascontiguousarray(joined, dtype="<u8").view(np.uint8).reshape(rows, groups, 8)[:, :, :width]
        if self.bits % 8 == 0:
            return octets.reshape(rows, groups * width)
        bits = np.unpackbits(octets, axis=2, count=self.bits, bitorder="little")
        return np.packbits(bits.reshape(rows, groups * self.bits), axis=1, bitorder="little")

    def unpack_rows(self, packed: NDArray[np.uint8], count: int) -> Symbols:
        """The inverse of `pack_rows`, under the same proviso."""
        rows, groups = len(packed), -(-count // self.group)
        joined = self._fields(packed, groups)
        if self.group == 1:
            return joined
        digits = np.empty((rows, groups, self.group), dtype=np.uint64)
        outside = joined >= np.uint64(self.alphabet**self.group)
        for place in range(self.group):
            joined, digits[:, :, place] = np.divmod(joined, np.uint64(self.alphabet))
        digits[outside] = self.alphabet
        return digits.reshape(rows, groups * self.group)[:, :count]

    def _fields(self, packed: NDArray[np.uint8], groups: int) -> Symbols:
        """Fields of `bits` bits from an unaligned eight-byte load each."""
        rows, width = packed.shape
        if self.bits == 0:
            return np.zeros((rows, groups), dtype=np.uint64)
        octets = np.zeros(packed.size + 8, dtype=np.uint8)
        octets[: packed.size] = packed.reshape(-1)
        at_every_byte: NDArray[np.uint64] = np.ndarray(
            shape=(packed.size + 1,), dtype="<u8", buffer=octets.data, strides=(1,)
        )
        offsets = np.arange(groups, dtype=np.uint64) * np.uint64(self.bits)
        starts = np.arange(rows, dtype=np.intp) * width
        words = at_every_byte[starts[:, None] + (offsets >> np.uint64(3)).astype(np.intp)]
        return (words >> (offsets & np.uint64(7))) & np.uint64((1 << self.bits) - 1)
