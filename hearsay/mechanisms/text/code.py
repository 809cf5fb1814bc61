"""Texts as codes of a fixed number of bytes. All texts that the domain does not allow share one code, *outside*.

A symbol takes w bits. The A symbols of the alphabet are numbered from 1, number 0 is the end of the text and pads the
code, and the number of all ones is *outside*. So w = ceil(log2(A + 2)). If the symbols are UTF-8 bytes, w = 8: no text
has the byte 255 or 0 (a text with a NUL is outside). The bits are cut into bytes and padded with zeros.

The search extends prefixes of codes byte by byte. `step` says which bytes may follow a prefix: it maps the state of the
prefix to the states of its 256 extensions, and to `IMPOSSIBLE` if no code of a text begins with the extension.
"""

import re
import sys
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Octets = NDArray[np.uint8]
States = NDArray[np.int64]
IMPOSSIBLE, ENDED = -1, -2
_UNKNOWN = (1 << 32) - 1  # the number of a character that is no symbol
_LONGEST_DECOMPOSITION = 4  # the most code points that NFC composes into one
_ROWS_AT_ONCE = 1 << 14  # texts that are encoded at once, which bounds the memory


@dataclass(frozen=True)
class Code(ABC):
    """The code of texts of at most `length` symbols. Longer texts are truncated with `cut`, otherwise outside."""

    length: int
    cut: bool

    @property
    @abstractmethod
    def bits(self) -> int:
        """w: bits of a symbol."""

    @property
    def size(self) -> int:
        """G: bytes of a code."""
        return -(-self.length * self.bits // 8)

    @cached_property
    def outside(self) -> Octets:
        """The code of all texts that the domain does not allow: the symbol of all ones, then padding."""
        ones = np.zeros(8 * self.size, dtype=np.uint8)
        ones[: self.bits] = 1
        return np.packbits(ones)

    def encode(self, texts: Sequence[str]) -> Octets:
        """One code for every text: len(texts) x G. The time for a text is bounded, however long the text is."""
        most = _LONGEST_DECOMPOSITION * (self.characters + 1)
        return self._encoded(
            [text if len(text) <= most and text.isascii() else _normalised(text[:most]) for text in texts]
        )

    @property
    @abstractmethod
    def characters(self) -> int:
        """The most code points that a text can have."""

    @abstractmethod
    def _encoded(self, texts: list[str]) -> Octets:
        """The codes of normalised texts."""

    def decode(self, code: Octets) -> str | None:
        """The text that has this code; None if no text has it."""
        text = self._decoded(code)
        if text is None or not np.array_equal(self.encode([text])[0], code):
            return None
        return text

    @abstractmethod
    def _decoded(self, code: Octets) -> str | None:
        """The text that the code's symbols spell, if they are symbols; its own code may be another one."""

    @abstractmethod
    def start(self) -> int:
        """The state of the empty prefix."""

    @abstractmethod
    def step(self, level: int, states: States) -> States:
        """The states of all extensions by byte number `level` (from 1): one row per prefix, one column per byte.

        `states` are the states of possible prefixes: `IMPOSSIBLE` is returned, but must not be passed.
        """


def _normalised(beginning: str) -> str:
    """NFC of the beginning of a text. It is long enough: the rest is beyond `Code.characters` in any form."""
    return beginning if beginning.isascii() else unicodedata.normalize("NFC", beginning)


def _utf8_table() -> NDArray[np.int8]:
    """The next state by state and byte.

    States: 0 between characters, 1..3 that many bytes are missing, 4..7 after E0, ED, F0 and F4, 8 the text has ended.
    """
    table = np.full((9, 256), IMPOSSIBLE, dtype=np.int8)
    table[0, 0x01:0x80] = 0
    table[0, 0xC2:0xE0] = 1
    table[0, 0xE0:0xF0], table[0, 0xE0], table[0, 0xED] = 2, 4, 5
    table[0, 0xF0:0xF5], table[0, 0xF0], table[0, 0xF4] = 3, 6, 7
    for state, next_state in ((1, 0), (2, 1), (3, 2)):
        table[state, 0x80:0xC0] = next_state
    table[4, 0xA0:0xC0], table[5, 0x80:0xA0] = 1, 1
    table[6, 0x90:0xC0], table[7, 0x80:0x90] = 2, 2
    table[0, 0] = table[_UTF8_ENDED, 0] = _UTF8_ENDED
    return table


_UTF8_ENDED = 8
_UTF8 = _utf8_table()


@dataclass(frozen=True)
class Utf8(Code):
    """The symbols are the bytes of UTF-8."""

    @property
    def bits(self) -> int:
        return 8

    @property
    def characters(self) -> int:
        return self.length

    def _encoded(self, texts: list[str]) -> Octets:
        outside = self.outside.tobytes()
        rows = [self._octets(text) for text in texts]
        joined = b"".join(outside if row is None else row.ljust(self.length, b"\0") for row in rows)
        return np.frombuffer(joined, dtype=np.uint8).reshape(len(texts), self.length)

    def _octets(self, text: str) -> bytes | None:
        octets = text.encode("utf-8", "surrogatepass")
        if len(octets) > self.length:
            if not self.cut:
                return None
            end = self.length
            while octets[end] & 0xC0 == 0x80:
                end -= 1
            octets = octets[:end]
        if b"\0" in octets:
            return None
        try:
            octets.decode()
        except UnicodeDecodeError:  # half of a surrogate pair
            return None
        return octets

    def _decoded(self, code: Octets) -> str | None:
        try:
            return code.tobytes().rstrip(b"\0").decode()
        except UnicodeDecodeError:
            return None

    def start(self) -> int:
        return 0

    def step(self, level: int, states: States) -> States:
        return _UTF8[states].astype(np.int64)


@dataclass(frozen=True)
class Symbols(Code):
    """The symbols are those of a declared alphabet, of one or several characters. The longest match is taken."""

    alphabet: tuple[str, ...]

    @cached_property
    def bits(self) -> int:
        return (len(self.alphabet) + 1).bit_length()

    @cached_property
    def characters(self) -> int:
        return self.length * max(map(len, self.alphabet))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.alphabet, start=1)}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, sorted(self.alphabet, key=len, reverse=True))), re.DOTALL)

    def _encoded(self, texts: list[str]) -> Octets:
        parts = [self._packed(texts[start : start + _ROWS_AT_ONCE]) for start in range(0, len(texts), _ROWS_AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros((0, self.size), dtype=np.uint8)

    def _packed(self, texts: list[str]) -> Octets:
        numbers, outside = self._by_character(texts) if self._of_code_point is not None else self._by_match(texts)
        shifts = np.arange(self.bits - 1, -1, -1, dtype=np.uint32)
        bits = (numbers[:, :, None] >> shifts & np.uint32(1)).astype(np.uint8).reshape(len(texts), -1)
        packed = np.packbits(bits, axis=1)
        packed[outside] = self.outside
        return packed

    @cached_property
    def _of_code_point(self) -> NDArray[np.uint32] | None:
        """The symbol number of every code point (`_UNKNOWN` if it is no symbol); None if a symbol has several."""
        if max(map(len, self.alphabet)) > 1:
            return None
        numbers = np.full(sys.maxunicode + 1, _UNKNOWN, dtype=np.uint32)
        numbers[0] = 0
        numbers[[ord(symbol) for symbol in self.alphabet]] = np.arange(1, len(self.alphabet) + 1)
        return numbers

    def _by_character(self, texts: list[str]) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
        """The numbers of the texts' symbols, and which texts are outside; all texts at once."""
        assert self._of_code_point is not None
        rows = np.array(texts, dtype=f"U{self.length + 1}").view(np.uint32).reshape(len(texts), self.length + 1)
        numbers = self._of_code_point[rows]
        outside = np.zeros(len(texts), dtype=bool)
        if "\0" in "".join(texts):  # numpy cannot distinguish it from the end of a text
            outside |= np.array(["\0" in text[: self.length] for text in texts])
        if not self.cut:
            outside |= numbers[:, self.length] != 0
        numbers = numbers[:, : self.length]
        outside |= (numbers == _UNKNOWN).any(axis=1)
        return numbers, outside

    def _by_match(self, texts: list[str]) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
        """What `_by_character` returns, text by text: for symbols of several characters."""
        rows = [self._spelled(text) for text in texts]
        lengths = np.array([-1 if row is None else len(row) for row in rows])
        numbers = np.zeros((len(rows), self.length), dtype=np.uint32)
        numbers[np.arange(self.length) < lengths[:, None]] = [number for row in rows for number in row or ()]
        return numbers, lengths < 0

    def _spelled(self, text: str) -> list[int] | None:
        """The numbers of a text's symbols; None if the text is outside."""
        numbers: list[int] = []
        end = 0
        while end < len(text):
            if len(numbers) == self.length:
                return numbers if self.cut else None
            match = self._pattern.match(text, end)
            if match is None:
                return None
            numbers.append(self._numbers[match.group()])
            end = match.end()
        return numbers

    def _decoded(self, code: Octets) -> str | None:
        bits = np.unpackbits(code)[: self.length * self.bits].reshape(self.length, self.bits).astype(np.int64)
        numbers = (bits @ (1 << np.arange(self.bits - 1, -1, -1))).tolist()
        spelled = numbers[: numbers.index(0)] if 0 in numbers else numbers
        return (
            None
            if any(number > len(self.alphabet) for number in spelled)
            else "".join(self.alphabet[number - 1] for number in spelled)
        )

    def start(self) -> int:
        return 0

    def step(self, level: int, states: States) -> States:
        """A state is the number that the first bits of an incomplete symbol form, or `ENDED` if only zeros may follow.

        The new byte completes some symbols, each of which must be 0 (the end) or a number of the alphabet. Its last
        bits begin another symbol. It can become a number of the alphabet if it is one when padded with zeros, since
        that is the least number that it can become.
        """
        w, most = self.bits, len(self.alphabet)
        symbol_number, bits = divmod(8 * (level - 1), w)
        ended = np.broadcast_to((states == ENDED)[:, None], (states.size, 256)).copy()
        value = np.maximum(states, 0)[:, None] << 8 | np.arange(256)
        possible = np.broadcast_to((states != IMPOSSIBLE)[:, None], value.shape).copy()
        bits += 8
        while bits >= w:
            bits -= w
            symbol, value = value >> bits, value & (1 << bits) - 1
            ended |= symbol_number >= self.length
            possible &= np.where(ended, symbol == 0, symbol <= most)
            ended |= symbol == 0
            symbol_number += 1
        ended |= symbol_number >= self.length
        possible &= np.where(ended, value == 0, value << w - bits <= most)
        return np.where(possible, np.where(ended, ENDED, value), IMPOSSIBLE)
