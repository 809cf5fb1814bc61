"""Values from a file: columns matched by header name in any order, checked against the survey's domain.

Every row has as many cells as the header: a decimal comma, or a cell too many, would move values into other columns.
Every row counts, or the file is refused with the number of bad rows, why, and where the first ones are, unless bad rows
are to be left out. A bad cell's content is never shown: it is a private value. In a file of one column a blank line may
be a missing value, so it is a bad row unless nothing follows it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hearsay.mechanisms.domains.columns import Labels, Numbers
from hearsay.mechanisms.domains.domain import Domain, Values
from hearsay.mechanisms.domains.numbers import plain_numbers
from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.producer.errors import ValuesError
from hearsay.producer.values import parquet, table
from hearsay.producer.values.bad_rows import BadRows, Cause
from hearsay.producer.values.block import Block, joined_blocks
from hearsay.producer.values.source import Seen, Source, open_source

CLAMP_OPTION = "--clamp"
Watch = Callable[[int, int | None, int], None]  # bytes read, bytes in all where known, rows read


@dataclass(frozen=True)
class Loaded:
    """The values of a file, and what was met on the way."""

    values: Any
    rows: int
    clamped: int  # cells moved to the nearest end
    blank_lines: int
    left_out: int  # bad rows
    causes: str  # why they are bad


def read(path: str | Path, domain: Domain) -> Any:
    """The values of all rows, in order, as the domain takes them."""
    return load(path, domain).values


def load(
    path: str | Path,
    domain: Domain,
    *,
    column: str | None = None,
    clamp: bool = False,
    skip_bad: bool = False,
    watch: Watch = lambda done, size, rows: None,
    seen: Seen | None = None,
) -> Loaded:
    """The same, and what was met.

    `column` names the file's column, where the domain has one. `clamp` moves numbers outside to the nearest end,
    `skip_bad` leaves bad rows out. `seen` gets the content, unpacked and with one kind of line end.
    """
    if clamp and not _clamped_columns(domain):
        raise ValuesError(f"values of kind {domain.kind} cannot be clamped: they are not ordered numbers")
    with open_source(path, seen) as source:
        try:
            return _load(source, domain, column, clamp, skip_bad, watch, as_one=False)
        except _RowsDisagree as error:
            if source.size is None:  # not a file: it cannot be read again
                raise ValuesError(f"{source.name}: {error}; in a file, the lines would be named") from None
    with open_source(path) as source:
        return _load(source, domain, column, clamp, skip_bad, watch, as_one=True)


class _RowsDisagree(ValuesError):
    """Rows of different blocks do not go together."""


def _load(
    source: Source, domain: Domain, column: str | None, clamp: bool, skip_bad: bool, watch: Watch, as_one: bool
) -> Loaded:
    """As one block a file needs more memory, and rows that do not go together are known by their lines."""
    rows, clamped, parts = 0, 0, []
    bad = BadRows("row" if source.is_parquet else "line")
    blocks: Iterator[Block] = (parquet if source.is_parquet else table).blocks(source, domain, column, bad)
    blank_lines = 0
    for block in joined_blocks(blocks) if as_one else blocks:
        if clamp:
            clamped += _clamp(block, domain)
        values, block = _values(_without_empty_texts(block, domain, bad), domain, clamp, bad)
        parts.append(values)
        rows += block.rows
        blank_lines += block.blank_lines
        watch(source.position(), source.size, rows)
    if not rows + bad.count:
        raise ValuesError(f"{source.name} has a header but no values")
    try:
        joined = domain.join(parts) if rows else None
    except ValueOutsideDomain as error:
        raise _RowsDisagree(str(error)) from None
    if bad.count and not (skip_bad and rows):
        raise bad.refusal(source.name, rows + bad.count)
    return Loaded(joined, rows, clamped, blank_lines, bad.count, bad.causes())


def _without_empty_texts(block: Block, domain: Domain, bad: BadRows) -> Block:
    """Without the rows whose text is empty: nobody can tell such a cell from a missing answer."""
    if domain.EMPTY_ROWS:
        return block
    for column in domain.columns:
        if domain.cells_in(column) is None:
            empty = [row for row, text in enumerate(block.columns[column]) if text == ""]
            if empty:
                words = f"{block.named[column]}: a text must not be empty"
                bad.add(Cause(f", {words}", f"in {words}"), [block.lines[row] for row in empty])
                block = block.without(empty)
    return block


def _values(block: Block, domain: Domain, clamped: bool, bad: BadRows) -> tuple[Values, Block]:
    """The values of the rows that can be read, and these rows."""
    while True:
        try:
            return domain.read(block.columns), block
        except ValueOutsideDomain as error:
            if not error.positions or error.column is None:
                raise
            words = f"{block.named[error.column]}: {error}"
            hint, mostly = _hint(domain, error.column, clamped), _mostly(domain, error.column)
            cause = Cause(f", {words}", f"in {words}", hint, mostly, error.fields)
            bad.add(cause, [block.lines[row] for row in error.positions])
            block = block.without(error.positions)


def _hint(domain: Domain, column: str, clamped: bool) -> str:
    """What may help. Said whatever the cell holds: a message tells nothing of it, not even whether it is empty."""
    if isinstance(domain.cells_in(column), Labels):
        return "; a label counts only if capitals, spaces and the Unicode form of accents are the survey's"
    if column in _clamped_columns(domain) and not clamped:
        return f"; {CLAMP_OPTION} moves numbers outside to the nearest end"
    return ""


def _mostly(domain: Domain, column: str) -> str:
    """What may help where most rows are bad."""
    cells = domain.cells_in(column)
    if not isinstance(cells, Numbers):
        return ""
    if isinstance(cells.low, float):
        return "; numbers need a decimal point, no comma"
    return "; decimals need low, high and bins" if cells.ordered else "; labels need categories in the survey"


def _clamped_columns(domain: Domain) -> dict[str, Numbers]:
    """The columns of ordered numbers."""
    ordered = {}
    for name in domain.columns:
        cells = domain.cells_in(name)
        if isinstance(cells, Numbers) and cells.ordered:
            ordered[name] = cells
    return ordered


def _clamp(block: Block, domain: Domain) -> int:
    """Move finite numbers outside to the nearest end; returns how many."""
    moved = 0
    for name, cells in _clamped_columns(domain).items():
        given = block.columns[name]
        numbers = plain_numbers(given)
        outside = np.flatnonzero(np.isfinite(numbers) & ((numbers < cells.low) | (numbers > cells.high)))
        if len(outside):
            ends = np.clip(numbers[outside], cells.low, cells.high)
            if isinstance(given, np.ndarray):
                block.columns[name] = numbers
                numbers[outside] = ends
            else:
                for row, end in zip(outside.tolist(), ends.tolist(), strict=True):
                    given[row] = end
        moved += len(outside)
    return moved
