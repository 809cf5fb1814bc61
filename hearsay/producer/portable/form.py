"""A gateway's form, read: a value becomes a cell, the cell a symbol, the symbol the bytes of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack

from hearsay.producer.errors import FormError
from hearsay.producer.portable.cells import CellReader
from hearsay.producer.portable.draws import Draw, Part, ends, node
from hearsay.producer.portable.words import Words

VERSION = 1


@dataclass(frozen=True)
class Integer:
    """A symbol plus the number of all reports of the variants before, as a msgpack integer."""

    starts: tuple[int, ...]

    def encode(self, variant: int, symbol: int) -> bytes:
        return bytes(msgpack.packb(self.starts[variant] + symbol))


@dataclass(frozen=True)
class Bin:
    """A symbol as so many bytes in a msgpack bin, after the variant's number where there are several."""

    rows: tuple[tuple[int, str], ...]
    numbered: bool

    def encode(self, variant: int, symbol: int) -> bytes:
        length, order = self.rows[variant]
        row = symbol.to_bytes(length, "big" if order == "big" else "little")
        return bytes(msgpack.packb(bytes([variant]) + row if self.numbered else row))


def read_bytes(table: Mapping[str, Any]) -> Integer | Bin:
    """The form's `bytes`."""
    if table["as"] == "integer":
        return Integer(tuple(map(int, table["starts"])))
    if table["as"] != "bin":
        raise FormError(what="bytes.as", expected="integer or bin", got=repr(table["as"]))
    rows = tuple((int(row["length"]), str(row["order"])) for row in table["rows"])
    return Bin(rows, bool(table["numbered"]))


@dataclass(frozen=True)
class Form:
    """How reports of one survey are made.

    >>> form = Form.of({"version": 1, "axes": [{"name": "value", "labels": ["tea", "coffee"]}],
    ...                 "draw": {"node": "coin", "size": 2, "truth": "8524647624155330560"},
    ...                 "bytes": {"as": "integer", "starts": [0]}})
    >>> len(form.report("tea")), round(form.epsilon, 3)
    (1, 1.0)
    """

    cells: CellReader
    ends: tuple[int, ...]
    parts: tuple[Part, ...]
    encoding: Integer | Bin

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Form":
        """From `device` of the gateway's answer; FormError where this version cannot follow it."""
        if not isinstance(table, Mapping) or table.get("version") != VERSION:
            raise FormError(what="the form", expected=f"of version {VERSION}", ending="; update the device")
        try:
            top = table["draw"]
            chosen = top["node"] == "level"
            parts = tuple(map(Part.of, top["parts"])) if chosen else (Part(1, 0, 0, 1, node(top)),)
            form = cls(
                CellReader.of(table["axes"]), ends(top["ends"]) if chosen else (), parts, read_bytes(table["bytes"])
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormError(f"the form is damaged: {type(error).__name__}; ask the gateway again") from None
        if len(form.ends) != len(form.parts) - 1:
            raise FormError(what="a choice of level", must="have one part more than ends")
        return form

    @property
    def epsilon(self) -> float:
        """What one report spends at most, computed from the thresholds."""
        return max(part.draw.epsilon() for part in self.parts)

    def report(self, value: Any, words: Words | None = None) -> bytes:
        """A private report of a value in the survey's own units; `words` are secure unless a test names others."""
        return self.report_cell(self.cells.find(value), Words() if words is None else words)

    def report_cell(self, cell: int, words: Words) -> bytes:
        """The same of a value's cell."""
        variant = words.choose(self.ends) if len(self.parts) > 1 else 0
        part = self.parts[variant]
        return self.encoding.encode(variant, part.draw.draw(part.cell(cell), words))


def reports_body(reports: Sequence[bytes]) -> bytes:
    """The body of a request to the gateway: a msgpack array of bins."""
    return bytes(msgpack.packb(list(reports)))


__all__ = ["Draw", "Form", "reports_body"]
