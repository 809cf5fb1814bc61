"""The nodes of a form: how a cell becomes a symbol, and the largest epsilon that the node's thresholds allow.

Each node draws its words in the order in which `docs/how-to/devices.md` lists them, all of them whatever comes up, so
that any two programs make the same symbol of the same words. `epsilon` is computed from the thresholds themselves: a
device need not believe what a gateway says of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, log1p
from typing import Any, ClassVar, Protocol

from hearsay.producer.errors import FormError
from hearsay.producer.portable.words import WORD, Words


class Draw(Protocol):
    """One node."""

    def draw(self, cell: int, words: Words) -> int:
        """The symbol of a cell."""

    def epsilon(self) -> float:
        """How much likelier than under another cell a symbol is at most, as a logarithm."""


def threshold(text: Any) -> int:
    """A chance out of 2^64, from its decimal digits."""
    number = int(text) if isinstance(text, str) and text.isdecimal() else -1
    if not 0 <= number <= WORD:
        raise FormError(what="a threshold", expected="decimal digits of 0..2^64", got=repr(text))
    return number


def ends(texts: Any) -> tuple[int, ...]:
    """Rising thresholds."""
    numbers = tuple(map(threshold, texts))
    if list(numbers) != sorted(numbers):
        raise FormError(what="the ends of a choice", must="rise")
    return numbers


def _ratio(more: int, less: int) -> float:
    if more < less:
        return -_ratio(less, more)
    return 0.0 if more == less else log1p((more - less) / less) if less > 0 else inf


@dataclass(frozen=True)
class Coin:
    """The cell itself, or one of all cells: words for the cell drawn, and the coin."""

    size: int
    truth: int
    NODE: ClassVar[str] = "coin"

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Coin":
        return cls(int(table["size"]), threshold(table["truth"]))

    def draw(self, cell: int, words: Words) -> int:
        drawn = words.below(self.size)
        return cell if words.coin(self.truth) else drawn

    def epsilon(self) -> float:
        rest = WORD - self.truth
        return _ratio(self.truth * self.size + rest, rest)


@dataclass(frozen=True)
class Bits:
    """A bit for each cell, the first least significant: one word each."""

    size: int
    own: int
    other: int
    NODE: ClassVar[str] = "bits"

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Bits":
        return cls(int(table["size"]), threshold(table["own"]), threshold(table["other"]))

    def draw(self, cell: int, words: Words) -> int:
        thresholds = [self.other] * self.size
        thresholds[cell] = self.own
        return number(words.coins(thresholds))

    def epsilon(self) -> float:
        more, less = self.own * (WORD - self.other), self.other * (WORD - self.own)
        return max(_ratio(more, less), _ratio(less, more))


def number(bits: list[bool]) -> int:
    """Bits as an integer, the first least significant."""
    return int("".join("01"[bit] for bit in reversed(bits)), 2)


@dataclass(frozen=True)
class Hash:
    """A vector and a bucket: words for the vector, the coin, a named bucket, and another one."""

    bits: int
    rows: int
    low: int
    named: int
    keep: int
    NODE: ClassVar[str] = "hash"

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Hash":
        bits, rows, low, named = (int(table[key]) for key in ("bits", "rows", "low", "named"))
        return cls(bits, rows, low, named, threshold(table["keep"]))

    def draw(self, cell: int, words: Words) -> int:
        buckets = 1 << self.rows
        vector = words.below((1 << self.bits) - 1)
        kept = words.coin(self.keep)
        inside, outside = words.below(self.named), self.named + words.below(buckets - self.named)
        return vector * buckets + (self.bucket(vector + 1, cell) ^ (inside if kept else outside))

    def bucket(self, row: int, cell: int) -> int:
        """Bit i is the parity of the cell's bits that are set in x^i times the vector, in GF(2^bits)."""
        bucket = 0
        for bit in range(self.rows):
            bucket |= ((row & cell).bit_count() & 1) << bit
            row = (row << 1 & (1 << self.bits) - 1) ^ (self.low if row >> self.bits - 1 else 0)
        return bucket

    def epsilon(self) -> float:
        more, less = self.keep * ((1 << self.rows) - self.named), (WORD - self.keep) * self.named
        return max(_ratio(more, less), _ratio(less, more))


@dataclass(frozen=True)
class Haar:
    """A character and a sign: words for the character, and the coin that flips."""

    nodes: int
    flip: int
    NODE: ClassVar[str] = "haar"

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Haar":
        return cls(int(table["nodes"]), threshold(table["flip"]))

    def draw(self, cell: int, words: Words) -> int:
        character = words.below(self.nodes)
        flipped = words.coin(self.flip)
        minus = cell & 1 ^ (cell >> 1 & character).bit_count() & 1 ^ int(flipped)
        return character << 1 | minus

    def epsilon(self) -> float:
        return max(_ratio(WORD - self.flip, self.flip), _ratio(self.flip, WORD - self.flip))


@dataclass(frozen=True)
class Table:
    """One of the outputs of the cell's row: one word."""

    outputs: tuple[tuple[int, ...], ...]
    ends: tuple[tuple[int, ...], ...]
    NODE: ClassVar[str] = "table"

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Table":
        outputs = tuple(tuple(map(int, row)) for row in table["outputs"])
        rows = tuple(map(ends, table["ends"]))
        if [len(row) - 1 for row in outputs] != list(map(len, rows)):
            raise FormError(what="a row of a table", must="have one output more than ends")
        return cls(outputs, rows)

    def draw(self, cell: int, words: Words) -> int:
        return self.outputs[cell][words.choose(self.ends[cell])]

    def epsilon(self) -> float:
        chances: dict[int, list[int]] = {}
        for cell, (outputs, row) in enumerate(zip(self.outputs, self.ends, strict=True)):
            for output, begin, end in zip(outputs, (0, *row), (*row, WORD), strict=True):
                chances.setdefault(output, [0] * len(self.outputs))[cell] += end - begin
        return max(_ratio(max(column), min(column)) for column in chances.values())


@dataclass(frozen=True)
class Signs:
    """Signs along every axis, + from the cell's on, each flipped by a coin: one word each, axis after axis."""

    axes: tuple[tuple[int, int, int], ...]  # cells, signs, threshold of a flip
    NODE: ClassVar[str] = "signs"

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Signs":
        return cls(tuple((int(a["size"]), int(a["length"]), threshold(a["flip"])) for a in table["axes"]))

    def draw(self, cell: int, words: Words) -> int:
        signs: list[bool] = []
        for size, length, _ in reversed(self.axes):
            cell, along = divmod(cell, size)
            signs = [position >= along for position in range(length)] + signs
        flips = words.coins([flip for _, length, flip in self.axes for _ in range(length)])
        return number([sign != flip for sign, flip in zip(signs, flips, strict=True)])

    def epsilon(self) -> float:
        """Between the two cells that are furthest apart; a step along an axis costs one of its signs only."""
        return sum(min(length, size - 1) * abs(_ratio(WORD - flip, flip)) for size, length, flip in self.axes)


@dataclass(frozen=True)
class Part:
    """One level: the cell there is (cell // span + shift) % units // width, without % where units is 0."""

    span: int
    shift: int
    units: int
    width: int
    draw: Draw

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Part":
        span, shift, units, width = (int(table[key]) for key in ("span", "shift", "units", "width"))
        return cls(span, shift, units, width, node(table["draw"]))

    def cell(self, cell: int) -> int:
        shifted = cell // self.span + self.shift
        return (shifted % self.units if self.units else shifted) // self.width


NODES: dict[str, Any] = {each.NODE: each for each in (Coin, Bits, Hash, Haar, Table, Signs)}


def node(table: Mapping[str, Any]) -> Draw:
    """A node from the form's table."""
    kind = NODES.get(str(table["node"]))
    if kind is None:
        raise FormError(f"the form has a node that this version does not know: {table['node']!r}; update the device")
    made: Draw = kind.of(table)
    return made
