"""Texts: every text is a value. All texts that the survey's alphabet or length does not allow are one value, *outside*.

A device with such a text sends a report like any other: silence, or an error, would reveal that its text is unusual.
"""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from hearsay.mechanisms.domains.domain import Indices, Unlisted, as_list, check_columns, only
from hearsay.mechanisms.errors import QueryError, SpecificationError, ValueOutsideDomain
from hearsay.mechanisms.text.code import Code, Octets, Symbols, Utf8
from hearsay.mechanisms.text.words import simulated_words

LONGEST = 256
MOST_SYMBOLS = 65_534  # numbers of 16 bits without those of the end and of *outside*
_BYTES = "bytes"
_OVERLONG = ("outside", "cut")


@dataclass(frozen=True)
class Text(Unlisted):
    """Texts of at most `length` symbols; without `alphabet` the symbols are the bytes of UTF-8."""

    length: int
    alphabet: tuple[str, ...] | None = None
    overlong: str = "outside"
    KIND: ClassVar[str] = "text"
    SIZE_KEY: ClassVar[str] = "length"
    KEYS: ClassVar[str] = '`length`; and, if wanted, `alphabet` ("bytes"), `overlong` ("outside")'
    VALUE: ClassVar[str] = "a text; one that is too long or has other symbols counts as outside"
    UNLISTED: ClassVar[str] = "nobody listed the texts; ask top 10"

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        only(table, {"kind", "length", "alphabet", "overlong"})
        length, overlong = table.get("length"), table.get("overlong", _OVERLONG[0])
        if type(length) is not int or not 1 <= length <= LONGEST:
            raise SpecificationError(what="domain.length", expected=f"an integer in 1..{LONGEST}", got=repr(length))
        if overlong not in _OVERLONG:
            raise SpecificationError(
                what="domain.overlong", expected=f"one of {', '.join(_OVERLONG)}", got=repr(overlong)
            )
        return cls(length, _alphabet(table.get("alphabet", _BYTES)), overlong)

    def table(self) -> dict[str, Any]:
        return {"kind": self.KIND, "length": self.length, "alphabet": self._written, "overlong": self.overlong}

    @property
    def _written(self) -> str | list[str]:
        """The alphabet as a survey writes it."""
        if self.alphabet is None:
            return _BYTES
        joined = "".join(self.alphabet)
        return joined if len(joined) == len(self.alphabet) and joined != _BYTES else list(self.alphabet)

    @cached_property
    def code(self) -> Code:
        cut = self.overlong == "cut"
        return Utf8(self.length, cut) if self.alphabet is None else Symbols(self.length, cut, self.alphabet)

    def read(self, columns: Mapping[str, Any]) -> Octets:
        check_columns(columns, self.columns)
        texts = list(columns["value"])
        if set(map(type, texts)) - {str}:
            others = [position for position, text in enumerate(texts) if not isinstance(text, str)]
            if others:
                got = type(texts[others[0]]).__name__
                raise ValueOutsideDomain(what="value", expected="a text", got=got, positions=others, column="value")
        return self.code.encode(texts)

    def check(self, values: Any) -> Octets:
        """Codes, one row for each device, as `read` makes them."""
        codes = np.asarray(values)
        if codes.dtype != np.uint8 or codes.shape != (len(codes), self.code.size):
            raise ValueOutsideDomain(what="values", expected="codes of texts, as domain.read gives them")
        return codes

    def people(self, draw: Callable[[int], Indices]) -> Octets:
        words = self.code.encode(self.some_words())
        return words[draw(len(words))]

    def some_words(self) -> list[str]:
        """Different texts of the domain: all of them, or a thousand if there are more."""
        return simulated_words(self.length, self.alphabet)

    def locate(self, text: str) -> Octets:
        """The code of a text that a query names."""
        code: Octets = self.code.encode([text])[0]
        if np.array_equal(code, self.code.outside):
            raise QueryError("the text is too long or has symbols that this survey counts as outside; ask: outside")
        return code


def _alphabet(written: Any) -> tuple[str, ...] | None:
    if written == _BYTES:
        return None
    listed: Sequence[Any] = written if isinstance(written, str) else as_list(written, "domain.alphabet")
    if not all(isinstance(symbol, str) and symbol for symbol in listed):
        raise SpecificationError(what="domain.alphabet", expected="a text, or a list of texts that are not empty")
    symbols = tuple(unicodedata.normalize("NFC", symbol) for symbol in listed)
    if not 1 <= len(symbols) <= MOST_SYMBOLS:
        raise SpecificationError(what="domain.alphabet", must=f"have 1..{MOST_SYMBOLS} symbols", got=len(symbols))
    if len(set(symbols)) < len(symbols):
        raise SpecificationError(what="domain.alphabet", must="have different symbols", got="one twice")
    if any(unicodedata.category(letter) == "Cs" or letter == "\0" for symbol in symbols for letter in symbol):
        raise SpecificationError(what="domain.alphabet", must="have no NUL and no lone surrogate")
    return symbols
