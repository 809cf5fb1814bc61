"""The rows of a Parquet file, where pyarrow or polars is installed."""

import io
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from hearsay.mechanisms.domains.domain import Domain
from hearsay.producer.errors import ValuesError
from hearsay.producer.values.block import Block
from hearsay.producer.values.header import missing_column, wanted_names
from hearsay.producer.values.source import Source

_READERS = ("pyarrow", "polars")
_PLAIN = "biuf"  # kinds of numpy's numbers
_Column = tuple[Any, list[int]]  # cells, and which rows are empty


def blocks(source: Source, domain: Domain, column: str | None) -> Iterator[Block]:
    """The domain's columns, all rows at once."""
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
    columns = {name: _cells(source.name, by_name[theirs], theirs) for name, theirs in numbers.items()}
    rows = len(next(iter(columns.values())))
    yield Block(columns, rows, lambda row, name: f"row {row + 1}, column {numbers[name]!r}")


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


def _cells(file: str, column: _Column, name: str) -> Any:
    cells, empty = column
    if empty:
        raise ValuesError(f"{file}: row {empty[0] + 1}, column {name!r}: is empty; fill it in or take the row out")
    if isinstance(cells, np.ndarray):
        return cells if cells.dtype.kind in _PLAIN else cells.tolist()
    return cells
