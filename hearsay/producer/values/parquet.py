"""The rows of a Parquet file, where pyarrow or polars is installed."""

import io
from collections.abc import Iterator
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


def blocks(source: Source, domain: Domain, column: str | None) -> Iterator[Block]:
    """The domain's columns, all rows at once."""
    names = wanted_names(domain, column)
    reader = next((name for name in _READERS if find_spec(name)), None)
    if reader is None:
        raise ValuesError(f"{source.name} is a Parquet file; install pyarrow or polars to read it, or save it as CSV")
    content = io.BytesIO(source.stream.read())
    try:
        found = (_by_pyarrow if reader == "pyarrow" else _by_polars)(content, names)
    except MissingColumn as missing:
        told = missing_column(missing.found, missing.wanted, len(domain.columns) == 1)
        raise ValuesError(f"{source.name} {told}") from None
    except Exception as error:  # each library has a tree of its own; its text may show cells
        raise ValuesError(f"{source.name}: Parquet that {reader} cannot read ({type(error).__name__})") from None
    numbers = dict(zip(domain.columns, names, strict=True))
    columns = {name: _cells(source.name, found[theirs], theirs) for name, theirs in numbers.items()}
    rows = len(next(iter(columns.values())))
    yield Block(columns, rows, lambda row, name: f"row {row + 1}, column {numbers[name]!r}")


class MissingColumn(Exception):
    """A column that a Parquet file does not have."""

    def __init__(self, wanted: str, found: list[str]) -> None:
        super().__init__(wanted)
        self.wanted, self.found = wanted, found


def _check(wanted: tuple[str, ...], found: list[str]) -> None:
    for name in wanted:
        if name not in found:
            raise MissingColumn(name, found)


def _by_pyarrow(content: io.BytesIO, names: tuple[str, ...]) -> dict[str, tuple[Any, list[int]]]:
    """Of each column its cells, and the rows that are empty."""
    types, parquet = import_module("pyarrow.types"), import_module("pyarrow.parquet")
    file = parquet.ParquetFile(content)
    _check(names, file.schema_arrow.names)
    table = file.read(columns=list(names))
    found = {}
    for name in names:
        column = table.column(name)
        empty = np.flatnonzero(column.is_null().to_numpy()).tolist() if column.null_count else []
        is_number = types.is_integer(column.type) or types.is_floating(column.type)
        found[name] = (column.to_numpy() if is_number else column.to_pylist(), empty)
    return found


def _by_polars(content: io.BytesIO, names: tuple[str, ...]) -> dict[str, tuple[Any, list[int]]]:
    """The same by polars."""
    polars = import_module("polars")
    _check(names, list(polars.read_parquet_schema(content)))
    content.seek(0)
    frame = polars.read_parquet(content, columns=list(names))
    found = {}
    for name in names:
        series = frame[name]
        empty = series.is_null().arg_true().to_list() if series.null_count() else []
        found[name] = (series.to_numpy() if series.dtype.is_numeric() else series.to_list(), empty)
    return found


def _cells(file: str, column: tuple[Any, list[int]], name: str) -> Any:
    cells, empty = column
    if empty:
        raise ValuesError(f"{file}: row {empty[0] + 1}, column {name!r}: is empty; fill it in or take the row out")
    if isinstance(cells, np.ndarray):
        return cells if cells.dtype.kind in _PLAIN else cells.tolist()
    return cells
