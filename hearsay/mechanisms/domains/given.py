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
    columns = _columns_of_frame(given, domain.columns)
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


def _columns_of_frame(given: Any, needed: Sequence[str]) -> dict[str, list[Any]] | None:
    """The needed columns of a frame as lists; None where it is no frame."""
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
    return {name: _listed(given[name], name) for name in needed}


def _listed(column: Any, name: str) -> list[Any]:
    """A column as a list of plain values; empty cells are refused with their number and the first row, from 0."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            values: list[Any] = getattr(column, method)()
            break
    else:
        values = list(column)
    empty = [row for row, value in enumerate(values) if _is_empty(value)]
    if empty:
        message = f"row {empty[0]} of column {name!r} is empty; fill or drop it"
        if len(empty) > 1:
            message = (
                f"{len(empty):,} rows of column {name!r} are empty, the first is row {empty[0]}; fill or drop them"
            )
        raise ValueOutsideDomain(message, empty, name)
    return values


def _is_empty(value: Any) -> bool:
    # What pandas calls NA has no truth in comparisons; NaN is not itself.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)
