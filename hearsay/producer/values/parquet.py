"""The rows of a Parquet file, where pyarrow or polars is installed."""

import io
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from hearsay.mechanisms.domains.domain import Domain
from hearsay.producer.errors import ValuesError
from hearsay.producer.values.bad_rows import BadRows, Cause
from hearsay.producer.values.block import Block
from hearsay.producer.values.header import missing_column, wanted_names
from hearsay.producer.values.source import Source

_READERS = ("pyarrow", "polars")
_PLAIN = "biuf"  # kinds of numpy's numbers
_Column = tuple[Any, list[int]]  # cells, and which rows are empty


def blocks(source: Source, domain: Domain, column: str | None, bad: BadRows) -> Iterator[Block]:
    """The domain's columns, all rows at once but those with an empty cell."""
    names = wanted_names(domain, column)
    reader = next((name for name in _READERS if find_spec(name)), None)
    if reader is None:
        raise ValuesError(f"{source.name} is a Parquet file; install pyarrow or polars to read it, or save it as CSV")
    content = io.BytesIO(source.stream.read())
    try:
        present, read = (_by_pyarrow if reader == "pyarrow" else _by_polars)(content)
        missing = [name for name in names if name not in present]
        by_name = {} if missing else {name: read(name) for name in names}
    except Exception as error:  # each library has a tree of its own; its text may show cells
        raise ValuesError(f"{source.name}: Parquet that {reader} cannot read ({type(error).__name__})") from None
    if missing:
        words = f"{source.name} {missing_column(present, missing[0], len(domain.columns) == 1)}"
        raise ValuesError(words, what="column", expected=missing[0])
    numbers = dict(zip(domain.columns, names, strict=True))
    columns = {name: _plain(by_name[theirs][0]) for name, theirs in numbers.items()}
    rows = len(next(iter(columns.values())))
    named = {name: f"column {theirs!r}" for name, theirs in numbers.items()}
    all_empty = set[int]()
    for name, theirs in numbers.items():
        empty = sorted(set(by_name[theirs][1]) - all_empty)
        if empty:
            cause = Cause(f", {named[name]}: is empty", f"with an empty cell in {named[name]}")
            bad.add(cause, [row + 1 for row in empty])
            all_empty |= set(empty)
    block = Block(columns, range(1, rows + 1), named)
    yield block.without(sorted(all_empty)) if all_empty else block


def _by_pyarrow(content: io.BytesIO) -> tuple[list[str], Callable[[str], _Column]]:
    """The names of all columns, and a way to read one."""
    types, parquet = import_module("pyarrow.types"), import_module("pyarrow.parquet")
    file = parquet.ParquetFile(content)

    def read(name: str) -> _Column:
        column = file.read(columns=[name]).column(name)
        empty = np.flatnonzero(column.is_null().to_numpy()).tolist() if column.null_count else []
        is_number = types.is_integer(column.type) or types.is_floating(column.type)
        return column.to_numpy() if is_number else column.to_pylist(), empty

    return file.schema_arrow.names, read


def _by_polars(content: io.BytesIO) -> tuple[list[str], Callable[[str], _Column]]:
    """The same by polars."""
    polars = import_module("polars")
    present = list(polars.read_parquet_schema(content))

    def read(name: str) -> _Column:
        content.seek(0)
        series = polars.read_parquet(content, columns=[name])[name]
        empty = series.is_null().arg_true().to_list() if series.null_count() else []
        return series.to_numpy() if series.dtype.is_numeric() else series.to_list(), empty

    return present, read


def _plain(cells: Any) -> Any:
    """Numbers as an array, other cells as a list."""
    return cells.tolist() if isinstance(cells, np.ndarray) and cells.dtype.kind not in _PLAIN else cells
