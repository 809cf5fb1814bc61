"""Values as programs have them in hand: one per device, columns by name, or a frame of pandas, polars or arrow."""

from collections.abc import Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any

from hearsay.mechanisms.domains.domain import Domain, Values
from hearsay.mechanisms.errors import ValueOutsideDomain


def values_of(domain: Domain, given: Any) -> Values:
    """The values in `given`, checked against the domain; bad ones are counted, and the first is named by its row."""
    if isinstance(given, str | bytes | PathLike):
        raise ValueOutsideDomain(
            what="values",
            expected="a list, columns or a frame",
            got="one text",
            ending=". To read a file: pandas.read_csv(FILE)['COLUMN']",
        )
    columns = _columns_of_frame(given, domain)
    if columns is not None:
        return _read(domain, columns)
    if isinstance(given, Mapping):
        return _read(domain, given)
    if len(domain.columns) == 1:
        (name,) = domain.columns
        if not _is_series(given):
            return _read(domain, {name: given})
        own = getattr(given, "name", None)  # of pandas and polars
        shown = own if isinstance(own, str) and own else name
        return _read(domain, {name: _listed(given, shown)}, {name: shown})
    joined: Values = domain.join([domain.one(value) for value in given])
    return joined


def _read(domain: Domain, columns: Mapping[str, Any], shown: Mapping[str, str] = MappingProxyType({})) -> Values:
    """`shown` has the names of columns that are called otherwise where they come from."""
    try:
        return domain.read(columns)
    except ValueOutsideDomain as error:
        if error.position is None or error.column is None:
            raise
        column = shown.get(error.column, error.column)
        where = f"row {error.position} of column {column!r}"
        if len(error.positions) > 1:
            where = f"{len(error.positions):,} rows of column {column!r}, the first is row {error.position}"
        raise ValueOutsideDomain(f"{where}: {error}", error.positions, column, **error.fields) from None


def _is_series(given: Any) -> bool:
    """Whether it is a column of a frame, whose empty cells are to be named."""
    return any(hasattr(given, method) for method in ("to_pylist", "to_list"))


def _columns_of_frame(given: Any, domain: Domain) -> dict[str, list[Any]] | None:
    """The domain's columns of a frame as lists; None where it is no frame."""
    needed = domain.columns
    if isinstance(given, Mapping):
        return None
    names = getattr(given, "column_names", None)  # arrow
    names = getattr(given, "columns", None) if names is None else names  # pandas, polars
    if names is None or not hasattr(given, "__getitem__"):
        return None
    present = [str(name) for name in names]
    for name in needed:
        if name not in present:
            advice = (
                "Give the column itself, frame['NAME'], or rename it." if len(needed) == 1 else "Rename the column."
            )
            raise ValueOutsideDomain(f"the frame has no column {name!r}; it has {', '.join(present[:8])}. {advice}")
        if present.count(name) > 1:
            raise ValueOutsideDomain(what="the frame", must=f"have one column {name!r}", got=present.count(name))
    columns = {name: _plain(given[name]) for name in needed}
    if domain.EMPTY_ROWS:
        _mark_empty_rows([columns[name] for name in needed[1:]])
    for name, values in columns.items():
        _refuse_empty(values, name)
    return columns


def _mark_empty_rows(columns: Sequence[list[Any]]) -> None:
    """Make the cells of a row "" where all of them are empty, as a CSV file has such a row."""
    rows: Sequence[int] = range(min(map(len, columns)))
    for column in columns:
        rows = [row for row in rows if _is_empty(column[row]) or column[row] == ""]
    for row in rows:
        for column in columns:
            column[row] = ""


def _listed(column: Any, name: str) -> list[Any]:
    """A column as a list of plain values without empty cells."""
    values = _plain(column)
    _refuse_empty(values, name)
    return values


def _plain(column: Any) -> list[Any]:
    """A column as a list of plain values."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            values: list[Any] = getattr(column, method)()
            return values
    return list(column)


def _refuse_empty(values: Sequence[Any], name: str) -> None:
    """Refuse empty cells with their number and the first row, from 0."""
    empty = [row for row, value in enumerate(values) if _is_empty(value)]
    if empty:
        message = f"row {empty[0]} of column {name!r} is empty; fill or drop it"
        if len(empty) > 1:
            message = (
                f"{len(empty):,} rows of column {name!r} are empty, the first is row {empty[0]}; fill or drop them"
            )
        raise ValueOutsideDomain(message, empty, name)


def _is_empty(value: Any) -> bool:
    # What pandas calls NA has no truth in comparisons; NaN is not itself.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)
