"""Real values from a CSV file: columns matched by header name in any order, checked against the survey's domain.

Every row has as many cells as the header: a decimal comma, or a cell too many, would move values into other columns.
A bad cell stops the reading with its line and column. Its content is never shown: it is a private value.
"""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hearsay.mechanisms.domains.domain import Domain, Values
from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.producer.errors import ValuesError

BLOCK_ROWS = 100_000  # rows turned into values at once: bounds the memory that the texts take
Row = list[str]


def read(path: str | Path, domain: Domain) -> Any:
    """The values of all rows, in order, as the domain takes them."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            try:
                header = next(rows, [])
                columns = _column_numbers(path, header, domain)
                blocks = list(_blocks(path, _complete(path, rows, len(header)), columns, domain))
            except csv.Error:
                raise ValuesError(f"{path}: line {rows.line_num} is not valid CSV") from None
    except OSError as error:
        raise ValuesError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except UnicodeDecodeError:
        raise ValuesError(_not_utf8(path)) from None
    if not blocks:
        raise ValuesError(f"{path} has a header but no values")
    try:
        return domain.join(blocks)
    except ValueOutsideDomain as error:  # between rows that are far apart
        raise ValuesError(f"{path}: {error}") from None


def _not_utf8(path: str | Path) -> str:
    """Where the first byte stands that is no UTF-8."""
    for number, line in enumerate(Path(path).read_bytes().split(b"\n"), start=1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            column = line[: error.start].count(b",") + 1
            return f"{path}: line {number}, column {column}: must be UTF-8 text"
    return f"{path} must be UTF-8 text"


class Rows:
    """The people of a file, one after the other and then from the top again."""

    def __init__(self, values: Values) -> None:
        self._values, self._next = values, 0

    def take(self, count: int) -> Any:
        """The values of the next people."""
        chosen = (self._next + np.arange(count)) % len(self._values)
        self._next = (self._next + count) % len(self._values)
        return self._values[chosen]


def _column_numbers(path: str | Path, header: Row, domain: Domain) -> list[int]:
    """The number of each of the domain's columns in the header."""
    names = [name.strip() for name in header]
    numbers = []
    for column in domain.columns:
        times = names.count(column)
        if times != 1:
            needed = ", ".join(map(repr, domain.columns))
            problem = "is missing" if times == 0 else "stands there twice"
            raise ValuesError(f"{path}: the header must name the columns {needed}; {column!r} {problem}")
        numbers.append(names.index(column))
    return numbers


def _complete(path: str | Path, rows: Iterator[Row], cells: int) -> Iterator[tuple[int, Row]]:
    """Rows with the number of their last line; blank lines are skipped, and quoted cells may span lines."""
    for row in rows:
        line: int = rows.line_num  # type: ignore[attr-defined]
        if len(row) == cells:
            yield line, row
        elif row:
            commas = "; a number has a decimal point, no decimal comma" if len(row) > cells else ""
            raise ValuesError(f"{path}: line {line} must have {cells} cells like the header, got {len(row)}{commas}")


def _blocks(path: str | Path, rows: Iterator[tuple[int, Row]], numbers: Sequence[int], domain: Domain) -> Iterator[Any]:
    """Values of block after block. The line of a row is looked up only when it is bad."""
    while block := list(islice(rows, BLOCK_ROWS)):
        columns = {
            name: [row[number] for _, row in block] for name, number in zip(domain.columns, numbers, strict=True)
        }
        try:
            yield domain.read(columns)
        except ValueOutsideDomain as error:
            if error.position is None or error.column is None:
                raise
            column = numbers[domain.columns.index(error.column)] + 1
            raise ValuesError(f"{path}: line {block[error.position][0]}, column {column}: {error}") from None
