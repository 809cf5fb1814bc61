"""What a report consists of: the one description that devices, wire format, validation and channel all share.

A report is one of a few **variants** (one for a plain mechanism; one per level where devices sample a level). A variant
has **scalars**, each an unsigned integer below its bound, and at most one **vector** of digits below a common bound;
a vector of bits (bound 2) is kept packed, little-endian in each byte, padding bits zero.

In memory reports are columns of equal length, by name. Where there are several variants, the column `selector` says
which one a report is, and the others are `symbol` (the variant's scalars in mixed radix) and, if any variant has a
vector, `bits`, as wide as the widest variant needs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reports = dict[str, NDArray[Any]]
Symbols = NDArray[np.uint64]
_AT_ONCE = 1 << 15


def smallest_unsigned(bound: int) -> np.dtype[np.unsignedinteger]:
    """The narrowest unsigned type that holds every integer below `bound`."""
    return np.min_scalar_type(max(bound - 1, 0))


@dataclass(frozen=True)
class Scalar:
    """An unsigned integer below `bound`."""

    name: str
    bound: int


@dataclass(frozen=True)
class Vector:
    """`length` unsigned integers below `bound`; packed bits where the bound is 2."""

    name: str
    length: int
    bound: int = 2

    @property
    def width(self) -> int:
        """Columns of the in-memory matrix: packed bytes for bits, else one a digit."""
        return (self.length + 7) // 8 if self.bound == 2 else self.length


@dataclass(frozen=True)
class Variant:
    """The fields of one kind of report."""

    scalars: tuple[Scalar, ...] = ()
    vector: Vector | None = None

    @cached_property
    def alphabet(self) -> int:
        """How many different combinations the scalars have."""
        return prod(scalar.bound for scalar in self.scalars)

    def pack(self, reports: Reports) -> Symbols:
        """Scalars as one integer each, the first scalar most significant."""
        symbols: Symbols | None = None
        for scalar in self.scalars:
            column = reports[scalar.name].astype(np.uint64)
            symbols = column if symbols is None else symbols * np.uint64(scalar.bound) + column
        if symbols is None:
            raise ValueError("a variant without scalars has no symbols")
        return symbols

    def unpack(self, symbols: Symbols) -> Reports:
        """The inverse of `pack`."""
        columns: Reports = {}
        rest = symbols
        for scalar in reversed(self.scalars[1:]):
            if scalar.bound & (scalar.bound - 1) == 0:
                digit, rest = rest & np.uint64(scalar.bound - 1), rest >> np.uint64(scalar.bound.bit_length() - 1)
            else:
                rest, digit = np.divmod(rest, np.uint64(scalar.bound))
            columns[scalar.name] = digit.astype(smallest_unsigned(scalar.bound))
        if self.scalars:
            first = self.scalars[0]
            columns[first.name] = rest.astype(smallest_unsigned(first.bound))
        return columns


@dataclass(frozen=True)
class Layout:
    """All variants of a mechanism's reports."""

    variants: tuple[Variant, ...]
    selector: str | None = None
    same_length: bool = False  # every single report takes as many bytes as the longest: its length tells nothing

    @classmethod
    def of(cls, *scalars: Scalar, vector: Vector | None = None) -> "Layout":
        """The layout of a mechanism that has only one kind of report."""
        return cls((Variant(scalars, vector),))

    @classmethod
    def choice(cls, selector: str, parts: tuple["Layout", ...]) -> "Layout":
        """A report of exactly one of `parts` (each with one variant), named by the column `selector`."""
        variants = []
        for part in parts:
            (variant,) = part.variants
            vector = None if variant.vector is None else Vector("bits", variant.vector.length, variant.vector.bound)
            variants.append(Variant((Scalar("symbol", variant.alphabet),) if variant.scalars else (), vector))
        return cls(tuple(variants), selector)

    @property
    def single(self) -> Variant:
        """The only variant of a layout without a selector."""
        (variant,) = self.variants
        return variant

    @cached_property
    def has_vectors(self) -> bool:
        return any(variant.vector is not None for variant in self.variants)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each variant's symbols start when all variants without vectors share one integer; last: the end."""
        starts = [0]
        for variant in self.variants:
            starts.append(starts[-1] + variant.alphabet)
        return tuple(starts)

    @cached_property
    def outcomes(self) -> int:
        """How many different reports exist."""
        return sum(
            variant.alphabet * (variant.vector.bound**variant.vector.length if variant.vector else 1)
            for variant in self.variants
        )

    def enumerate(self) -> Reports:
        """Every possible report once, in a fixed order: the columns of the exact channel."""
        if self.outcomes > 1 << 20:
            raise ValueError(f"too many different reports to list: {self.outcomes}")
        parts = []
        for index, variant in enumerate(self.variants):
            strings = variant.vector.bound**variant.vector.length if variant.vector else 1
            count = variant.alphabet * strings
            order = np.arange(count, dtype=np.uint64)
            columns: Reports = variant.unpack(order // np.uint64(strings))
            if self.selector is not None:
                columns[self.selector] = np.full(count, index, dtype=smallest_unsigned(len(self.variants)))
            if variant.vector is not None:
                columns[variant.vector.name] = _digits(order % np.uint64(strings), variant.vector)
            parts.append(columns)
        return self.concatenate(parts)

    def concatenate(self, parts: list[Reports]) -> Reports:
        """Reports one after the other; columns that a part lacks are filled with zeros, narrow vectors widened."""
        names = {name: column for part in parts for name, column in part.items()}
        result: Reports = {}
        for name in names:
            columns = [part[name] for part in parts if name in part]
            width = max((column.shape[1] for column in columns if column.ndim == 2), default=None)
            kind = np.result_type(*columns)
            pieces = []
            for part in parts:
                count = len(next(iter(part.values())))
                shape = (count,) if width is None else (count, width)
                piece = np.zeros(shape, dtype=kind)
                if name in part:
                    column = part[name]
                    piece[(slice(None), slice(0, column.shape[1])) if column.ndim == 2 else slice(None)] = column
                pieces.append(piece)
            result[name] = np.concatenate(pieces)
        return result


def _digits(numbers: NDArray[np.uint64], vector: Vector) -> NDArray[Any]:
    powers = np.array([vector.bound**exponent for exponent in range(vector.length)], dtype=np.uint64)
    digits = numbers[:, None] // powers[None, :] % np.uint64(vector.bound)
    if vector.bound == 2:
        return np.packbits(digits.astype(np.uint8), axis=1, bitorder="little")
    return digits.astype(smallest_unsigned(vector.bound))


def length_of(reports: Reports) -> int:
    """How many reports there are."""
    return len(next(iter(reports.values())))


def by_parts(draw: Callable[[NDArray[Any]], Reports], cells: NDArray[Any]) -> Reports:
    """Reports of many cells, drawn some thousands at a time: temporary arrays then stay in the processor's cache."""
    parts = [draw(cells[start : start + _AT_ONCE]) for start in range(0, max(len(cells), 1), _AT_ONCE)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if len(parts) > 1 else parts[0]


def select(reports: Reports, chosen: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Reports:
    """The chosen reports."""
    return {name: column[chosen] for name, column in reports.items()}
