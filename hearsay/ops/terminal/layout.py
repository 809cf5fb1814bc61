"""The layout of rows at the width of a terminal: as a table, or as blocks if a table is too wide.

Numbers and names are never broken over lines. To make a table fit, in this order:

1. columns without content (every cell is unknown) are left out, at any width;
2. a column with the same cell in every row is shown once, above the table;
3. headings are broken between words, in as few lines as there is room for;
4. columns of prose are broken between words, up to three lines per row;
5. rows become blocks: a heading that identifies the row, and `name value` pairs.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.cells import cell_len

GAP = "  "
_PROSE = 18  # letters: a longer text may be broken between words, and its column has at least this width
_TALLEST = 3  # lines of a row of a table
_MORE_NAMES = 3  # columns that are added to the heading of a block, if they are needed to identify the row
_EMPTY = ("-", "")
_NUMBER = re.compile(r"-?[\d,]+(\.\d+)?(e[+-]?\d+)?%?")


@dataclass(frozen=True)
class Layout:
    """Lines to print. `above` has the columns that are equal in every row; `bold` are the numbers of heading lines."""

    above: str
    lines: list[str]
    bold: frozenset[int]


@dataclass(frozen=True)
class _Column:
    """A heading and its cells. Properties of all cells are computed once, since every row uses them."""

    heading: str
    cells: tuple[str, ...]

    @cached_property
    def numeric(self) -> bool:
        return bool(self.cells) and all(cell in _EMPTY or is_number(cell) for cell in self.cells)

    @property
    def unknown(self) -> bool:
        """Whether every cell is unknown."""
        return bool(self.cells) and all(cell in _EMPTY for cell in self.cells)

    @property
    def constant(self) -> bool:
        return len(self.cells) > 1 and len(set(self.cells)) == 1

    @cached_property
    def widest(self) -> int:
        return max(map(cell_len, self.cells), default=0)

    @property
    def least(self) -> int:
        """The least width: of prose that of its longest word."""
        heading = max(map(cell_len, self.heading.split() or [""]))
        if self.numeric or self.widest <= _PROSE:
            return max(heading, self.widest)
        words = (cell_len(word) for cell in self.cells for word in cell.split())
        return max(heading, _PROSE, *words)


def is_number(text: str) -> bool:
    """Whether a cell is one number."""
    return _NUMBER.fullmatch(text) is not None


def layout(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Layout:
    """The rows at this width."""
    columns = [_Column(name, tuple(row[number] for row in rows)) for number, name in enumerate(headings)]
    columns = [column for column in columns if not column.unknown] or columns
    natural = [max(cell_len(column.heading), column.widest) for column in columns]
    if _total(natural) <= width:
        return _table("", columns, natural)
    fixed = [column for column in columns[1:] if column.constant]
    above = ", ".join(f"{column.heading}: {column.cells[0]}" for column in fixed)
    columns = [column for column in columns if column not in fixed]
    widths = _narrowed(columns, width)
    if widths is not None:
        return _table(above, columns, widths)
    return _blocks(above, columns, width)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _narrowed(columns: Sequence[_Column], width: int) -> list[int] | None:
    """Widths that fit: headings and prose broken between words; None where a row would become too tall."""
    widths = [max(max(map(cell_len, column.heading.split() or [""])), column.widest) for column in columns]
    while (excess := _total(widths) - width) > 0:
        room = {number: widths[number] - column.least for number, column in enumerate(columns)}
        widest = max(room, key=lambda number: (room[number] > 0, widths[number]))
        if room[widest] <= 0:
            return None
        widths[widest] -= min(excess, room[widest], max(1, excess // 2))
    for number, column in enumerate(columns):
        if any(len(_broken(cell, widths[number])) > _TALLEST for cell in column.cells):
            return None
    return _with_room_for_headings(columns, widths, width)


def _with_room_for_headings(columns: Sequence[_Column], widths: list[int], width: int) -> list[int]:
    """Give the room that is left to the headings with most lines, as long as it saves a line."""
    while True:
        room = width - _total(widths)
        wider = [
            (len(_broken(column.heading, widths[number])), number, more)
            for number, column in enumerate(columns)
            if (more := _saves_a_line(column.heading, widths[number], room)) is not None
        ]
        if not wider:
            return widths
        _, number, more = max(wider)
        widths[number] = more


def _saves_a_line(heading: str, width: int, room: int) -> int | None:
    """The least greater width, within the room, at which the heading has fewer lines."""
    lines = len(_broken(heading, width))
    return next((more for more in range(width, width + room + 1) if len(_broken(heading, more)) < lines), None)


def _table(above: str, columns: Sequence[_Column], widths: Sequence[int]) -> Layout:
    lines = _row([column.heading for column in columns], columns, widths)
    heading = len(lines)
    lines.append("─" * _total(widths))
    for number in range(len(columns[0].cells) if columns else 0):
        lines += _row([column.cells[number] for column in columns], columns, widths)
    return Layout(above, lines, frozenset(range(heading)))


def _row(cells: Sequence[str], columns: Sequence[_Column], widths: Sequence[int]) -> list[str]:
    """One row, as many lines as its tallest cell."""
    broken = [_broken(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for number in range(max(map(len, broken), default=0)):
        parts = []
        for cell, column, width in zip(broken, columns, widths, strict=True):
            text = cell[number] if number < len(cell) else ""
            space = " " * (width - cell_len(text))
            parts.append(space + text if column.numeric else text + space)
        lines.append(GAP.join(parts).rstrip())
    return lines


def _broken(text: str, width: int) -> list[str]:
    """A text in lines of at most this width, broken between words only."""
    return [part for line in text.split("\n") for part in (_wrap(line, width) or [""])]


def _wrap(text: str, width: int) -> list[str]:
    if cell_len(text) <= width:
        return [text]
    return textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False)


def _blocks(above: str, columns: Sequence[_Column], width: int) -> Layout:
    """For each row a heading of its first columns, then the other columns as pairs below each other."""
    named = _identifying(columns)
    short = [column for column in columns[named:] if column.numeric or column.widest <= _PROSE]
    long = [column for column in columns[named:] if column not in short]
    names = max((cell_len(column.heading) for column in short), default=0)
    pair = names + 1 + max((column.widest for column in short), default=0)
    across = max(1, (width - len(GAP)) // (pair + 2 * len(GAP)))
    lines: list[str] = []
    bold = set()
    for number in range(len(columns[0].cells)):
        heading = GAP.join(_name(column, number) for column in columns[:named] if column.cells[number] not in _EMPTY)
        for line in _broken(heading, width):
            bold.add(len(lines))
            lines.append(line)
        pairs = [_pair(column, number, names, pair) for column in short if column.cells[number] not in _EMPTY]
        for first in range(0, len(pairs), across):
            lines.append((GAP + (2 * GAP).join(pairs[first : first + across])).rstrip())
        for column in long:
            if column.cells[number] not in _EMPTY:
                text = f"{column.heading}: {column.cells[number]}"
                lines += [GAP + line for line in _broken(text, width - len(GAP))]
    return Layout(above, lines, frozenset(bold))


def _identifying(columns: Sequence[_Column]) -> int:
    """How many of the first columns are the heading of a block: short texts, and numbers if these identify the row."""
    named = 1
    while named < len(columns) - 1 and not columns[named].numeric and columns[named].widest <= _PROSE:
        named += 1
    rows = len(columns[0].cells)
    for more in range(named, min(named + _MORE_NAMES, len(columns) - 1) + 1):
        if len({tuple(column.cells[row] for column in columns[:more]) for row in range(rows)}) == rows:
            return more
    return named


def _name(column: _Column, number: int) -> str:
    """A cell in the heading of a block; a number with what it is a number of."""
    return f"{column.heading} {column.cells[number]}" if column.numeric else column.cells[number]


def _pair(column: _Column, number: int, names: int, width: int) -> str:
    name, cell = column.heading, column.cells[number]
    return name + " " * (names - cell_len(name)) + " " + cell + " " * max(0, width - names - 1 - cell_len(cell))
