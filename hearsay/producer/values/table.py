"""The rows of a CSV file in blocks: by numpy where they are plain, else row by row."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from hearsay.errors import Fields
from hearsay.mechanisms.domains.domain import Domain
from hearsay.producer.errors import ValuesError
from hearsay.producer.values import plain
from hearsay.producer.values.bad_rows import BadRows, Cause
from hearsay.producer.values.block import Block
from hearsay.producer.values.header import column_numbers
from hearsay.producer.values.source import MARK, Source

CHUNK_BYTES = 1 << 18  # taken by numpy at once
BLOCK_ROWS = 100_000  # rows taken one by one before they become values: bounds the memory that the texts take


def blocks(source: Source, domain: Domain, column: str | None, bad: BadRows) -> Iterator[Block]:
    """The domain's columns, block after block; blank rows, and those with too few or too many cells, go to `bad`."""
    chunks = _chunks(source)
    first = next(chunks, b"")
    if not first.strip():
        columns = ", ".join(domain.columns if column is None else [column])
        raise ValuesError(
            f"{source.name} is empty; its first line must name the columns {columns}",
            what="first line",
            expected=f"name the columns {columns}",
        )
    header, lines, rest = _header(source.name, first)
    rows = _Rows(source.name, domain, column_numbers(source.name, header, domain, column), len(header), lines, bad)
    remaining = chain([rest] if rest else [], chunks)
    for chunk in remaining:
        block = rows.plain(chunk)
        if block is not None:
            yield block
        else:  # a quoted cell may go on in the next chunk
            yield from rows.one_by_one(chain([chunk], remaining) if b'"' in chunk else [chunk])


def _chunks(source: Source) -> Iterator[bytes]:
    """The file in pieces that end with a line; the mark before UTF-8 is left out."""
    pending, is_first = b"", True
    while octets := source.stream.read(CHUNK_BYTES):
        pending += octets
        if is_first and len(pending) >= len(MARK):
            pending, is_first = pending.removeprefix(MARK), False
        whole = pending.rfind(b"\n") + 1
        if whole:
            yield pending[:whole]
            pending = pending[whole:]
    if pending:
        yield pending


def _header(name: str, chunk: bytes) -> tuple[list[str], int, bytes]:
    """The first row, how many lines it takes, and what follows."""
    text = io.StringIO(_decoded(name, chunk, 0), newline="")
    rows = csv.reader(iter(text.readline, ""), strict=True)
    try:
        header = next(rows, [])
    except csv.Error:
        raise _not_csv(name, rows.line_num) from None
    return header, rows.line_num, text.read().encode()


def _decoded(name: str, chunk: bytes, lines: int) -> str:
    """Text; so many lines stand before it."""
    try:
        return chunk.decode()
    except UnicodeDecodeError:
        for number, line in enumerate(chunk.split(b"\n"), start=lines + 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                column = line[: error.start].count(b",") + 1
                raise ValuesError(
                    f"{name}: line {number}, column {column}: must be UTF-8 text; convert the file, mostly with: "
                    f"iconv -f {_encoding(chunk)} -t UTF-8 FILE.csv > NEW.csv",
                    what=f"column {column}",
                    expected="UTF-8 text",
                ) from None
        raise


def _encoding(chunk: bytes) -> str:
    """What a file that is not UTF-8 mostly is: a spreadsheet's export on Windows, or what it calls Unicode."""
    return "UTF-16" if chunk.startswith((b"\xff\xfe", b"\xfe\xff")) else "WINDOWS-1252"


def _not_csv(name: str, line: int) -> ValuesError:
    return ValuesError(
        f"{name}: line {line} is not valid CSV: a double quote in it, or in a line above, does not close"
    )


class _Rows:
    """The rows of a file after its header, and how many lines were read."""

    def __init__(self, name: str, domain: Domain, numbers: Sequence[int], cells: int, lines: int, bad: BadRows) -> None:
        self._name, self._domain, self._cells, self._lines, self._bad = name, domain, cells, lines, bad
        self._numbers = dict(zip(domain.columns, numbers, strict=True))
        self._wanted = [(number, domain.cells_in(column)) for column, number in self._numbers.items()]
        self._named = {name: f"column {number + 1}" for name, number in self._numbers.items()}
        self._blank = (
            0  # blank lines at the end of what was read; in a file of one column those that a row follows are bad
        )
        self._skipped = 0  # blank lines among the rows of a block

    def plain(self, chunk: bytes) -> Block | None:
        """A chunk by numpy; None where it is not plain."""
        ended = chunk if chunk.endswith(b"\n") else chunk + b"\n"
        if self._blank or not _is_text(chunk):
            return None
        columns = plain.columns(ended, self._cells, self._wanted)
        if columns is None:
            return None
        lines = range(self._lines + 1, self._lines + 1 + len(columns[0]))
        self._lines += len(lines)
        return Block(dict(zip(self._numbers, columns, strict=True)), lines, self._named)

    def one_by_one(self, chunks: Iterable[bytes]) -> Iterator[Block]:
        """The rows of chunks, in blocks. The line of a row is looked up only when it is bad."""
        rows = csv.reader(self._text(chunks), strict=True)
        before = self._lines
        while True:
            columns: dict[str, list[str]] = {name: [] for name in self._numbers}
            lines: list[int] = []
            self._skipped = 0
            try:
                for row in rows:
                    if not row:
                        self._blank += 1
                        continue
                    if not self._is_whole(row, before + rows.line_num):
                        continue
                    for name, number in self._numbers.items():
                        columns[name].append(row[number])
                    lines.append(before + rows.line_num)
                    if len(lines) == BLOCK_ROWS:
                        break
            except csv.Error:
                raise _not_csv(self._name, before + rows.line_num) from None
            if not lines:
                return
            yield Block(columns, lines, self._named, self._skipped)

    def _is_whole(self, row: Sequence[str], line: int) -> bool:
        """Whether a row has its cells; a bad one is noted, and so are blank lines before it."""
        if self._blank and self._cells == 1:
            first = line - self._blank - sum(cell.count("\n") for cell in row)
            blank = Cause(" is blank; every line holds a value", "blank, where every line holds a value")
            self._bad.add(blank, range(first, first + self._blank))
        elif self._blank:
            self._skipped += self._blank
        self._blank = 0
        if len(row) != self._cells:
            refusal = ValuesError(must=f"have {self._cells} cells like the header", got=len(row))
            many = len(row) > self._cells
            words = f"with {'more' if many else 'fewer'} cells than the header, which has {self._cells}"
            hint = "; a number has a decimal point, no decimal comma" if many else ""
            fields: Fields = {
                "what": "line",
                "expected": refusal.expected,
            }  # other lines may have other numbers of cells
            self._bad.add(Cause(f" {refusal}", words, hint, fields=fields), [line])
            return False
        return True

    def _text(self, chunks: Iterable[bytes]) -> Iterator[str]:
        """Lines, counted."""
        for chunk in chunks:
            for line in io.StringIO(_decoded(self._name, chunk, self._lines), newline=""):
                self._lines += 1
                yield line


def _is_text(chunk: bytes) -> bool:
    """Whether all of it is UTF-8."""
    if chunk.isascii():
        return True
    try:
        chunk.decode()
    except UnicodeDecodeError:
        return False
    return True
