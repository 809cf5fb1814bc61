"""Real values from a CSV file: columns matched by header name in any order, checked against the survey's domain.

A bad cell stops the reading with its line and column. What stands in it is never shown: it is somebody's value.
"""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from hearsay.mechanisms.domains.domain import Domain, Indices
from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.producer.errors import ValuesError

BLOCK_ROWS = 100_000  # rows turned into cells at once: bounds the memory that the texts take
Row = list[str]


def read(path: str | Path, domain: Domain) -> Indices:
    """The cells of all rows, in order: shape (n,), or (n, axes) where the domain has several."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            try:
                places = _places(path, next(rows, []), domain)
                blocks = list(_blocks(path, rows, places, domain))
            except csv.Error:
                raise ValuesError(f"{path}: line {rows.line_num} is not valid CSV") from None
    except OSError as error:
        raise ValuesError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except UnicodeDecodeError:
        raise ValuesError(f"{path} must be UTF-8 text") from None
    if not blocks:
        raise ValuesError(f"{path} has a header but no values")
    return np.concatenate(blocks)


class Rows:
    """The people of a file, one after the other and then from the top again."""

    def __init__(self, cells: Indices) -> None:
        self._cells, self._next = cells, 0

    def take(self, count: int) -> Indices:
        """The cells of the next people."""
        chosen = (self._next + np.arange(count)) % len(self._cells)
        self._next = (self._next + count) % len(self._cells)
        return self._cells[chosen]


def _places(path: str | Path, header: Row, domain: Domain) -> list[int]:
    """Where the domain's axes stand in the header."""
    names = [name.strip() for name in header]
    places = []
    for axis in domain.axes:
        found = names.count(axis.name)
        if found != 1:
            needed = ", ".join(repr(other.name) for other in domain.axes)
            problem = "is missing" if found == 0 else "stands there twice"
            raise ValuesError(f"{path}: the header must name the columns {needed}; {axis.name!r} {problem}")
        places.append(names.index(axis.name))
    return places


def _blocks(path: str | Path, rows: Iterator[Row], places: Sequence[int], domain: Domain) -> Iterator[Indices]:
    """Cells of block after block. The line of a row is looked up only when it is bad: quoted cells may span lines."""
    numbered = ((rows.line_num, row) for row in rows)  # type: ignore[attr-defined]
    while block := list(islice(numbered, BLOCK_ROWS)):
        kept = [(line, row) for line, row in block if row]  # a blank line is no row
        if not kept:
            continue
        try:
            columns = {
                axis.name: [row[place] for _, row in kept] for axis, place in zip(domain.axes, places, strict=True)
            }
        except IndexError:
            line = next(line for line, row in kept if len(row) <= max(places))
            raise ValuesError(f"{path}: line {line} has fewer columns than the header") from None
        try:
            yield domain.encode(columns)
        except ValueOutsideDomain as error:
            position, name = getattr(error, "position", None), getattr(error, "axis", None)
            if position is None or name is None:
                raise
            column = places[[axis.name for axis in domain.axes].index(name)] + 1
            raise ValuesError(f"{path}: line {kept[position][0]}, column {column}: {error}") from None
